package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// peer is one end of a connection, the same for both: it calls with string ids, and serves each request on
// a goroutine of its own with a context of its own.
type peer struct {
	s       *stream
	log     *slog.Logger
	methods map[string]handlerFunc
	seq     atomic.Uint64
	fresh   window // ids of the peer's requests, if strict
	// valid returns an error if an answer comes too late; may be nil.
	valid func() error

	mu       sync.Mutex
	calls    map[string]*pending           // that wait for an answer, by id
	inFlight map[string]context.CancelFunc // requests being served, by [idKey]
	closing  bool
	serving  sync.WaitGroup
}

// pending is a call without an answer so far.
type pending struct {
	done   chan struct{}
	answer envelope // read after done
}

type peerOptions struct {
	methods      map[string]handlerFunc
	onEvent      func(params []byte)
	halfOpen     bool
	writeTimeout time.Duration
}

// handlerFunc serves a request.
type handlerFunc func(ctx context.Context, params json.RawMessage) (any, error)

// newPeer makes one end of a connection over rwc. Nothing is read or written before s.start. The owner
// waits for the connection's end, then calls close.
func newPeer(rwc io.ReadWriteCloser, log *slog.Logger, o peerOptions) *peer {
	if o.writeTimeout <= 0 {
		o.writeTimeout = DefaultWriteTimeout
	}
	p := &peer{log: log, methods: o.methods, calls: map[string]*pending{}, inFlight: map[string]context.CancelFunc{}}
	p.s = newStream(rwc, log, o, p)
	return p
}

// close ends the connection for the given reason, which cancels the requests being served, and waits for
// the pipe's goroutines. To wait for the requests' goroutines, use serving.Wait.
func (p *peer) close(cause error) {
	p.refuseNew()
	p.s.fail(cause)
	p.s.wait()
}

// refuseNew refuses all further requests. It must be called before waiting for serving.
func (p *peer) refuseNew() {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
}

// within waits for wait to return, for at most d, and reports whether it did.
func within(d time.Duration, wait func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait()
	}()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}

// call sends a request to the other end. If ctx ends first, it sends a cancellation, and its error wraps
// ctx.Err(); a refusal is an *RPCError; at the end of the connection the error wraps ErrClosed.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	id := "c" + strconv.FormatUint(p.seq.Add(1), 10)
	c := &pending{done: make(chan struct{})}
	p.mu.Lock()
	p.calls[id] = c
	p.mu.Unlock()
	defer p.take(id)
	if err := p.s.send(outgoing{ID: strconv.AppendQuote(nil, id), Method: method, Params: params}); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-p.s.reading.Done(): // no answer can come, even if a half-open connection still exists
	case <-p.s.open.Done():
	}
	var err error
	select {
	case <-c.done:
		err = p.result(c.answer, result)
	default:
		if err = context.Cause(ctx); err == nil {
			err = p.closedError()
		}
		_ = p.s.send(outgoing{Method: MethodCancel, Params: CancelParams{ID: id}}) // it fails if the connection has ended
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// take returns the call with an id, and forgets it.
func (p *peer) take(id string) *pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[id]
	delete(p.calls, id)
	return c
}

// answered takes an answer. One that comes after its caller has given up belongs to no call.
func (p *peer) answered(id string, answer envelope) {
	if c := p.take(id); c != nil {
		c.answer = answer
		close(c.done)
	}
}

// result decodes an answer.
func (p *peer) result(answer envelope, result any) error {
	if !jsonl.IsNull(answer.Error) {
		return fromWire(answer.Error)
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	if p.valid != nil {
		return p.valid()
	}
	return nil
}

// closedError returns ErrClosed with the reason, if that is known.
func (p *peer) closedError() error {
	cause := p.s.cause()
	if cause == nil || errors.Is(cause, ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, cause)
}

// notified carries out a notification.
func (p *peer) notified(method string, params json.RawMessage) {
	var named struct {
		ID json.RawMessage `json:"id"` // numeric ids can be cancelled, too
	}
	switch {
	case method != MethodCancel:
		p.log.Debug("ignored an unknown notification", "method", method)
	case json.Unmarshal(params, &named) != nil || jsonl.IsNull(named.ID):
		p.log.Warn("ignored a cancel that names no request")
	default:
		p.mu.Lock()
		cancel := p.inFlight[idKey(named.ID)]
		p.mu.Unlock()
		if cancel != nil { // otherwise it was answered already
			cancel()
		}
	}
}

// idKey returns a key for an id, however it is written.
func idKey(id json.RawMessage) string {
	if text, err := jsonl.String(id); err == nil {
		return `"` + text
	}
	return string(id)
}

// handle serves a request. It runs on the connection's only reading goroutine and so must never wait.
func (p *peer) handle(method string, req envelope) {
	ctx, cancel := context.WithCancel(p.s.open)
	if err := p.admit(method, req.ID, cancel); err != nil {
		cancel()
		p.reply(method, req.ID, nil, err)
		return
	}
	go func() {
		defer p.serving.Done()
		defer cancel()
		result, err := p.run(ctx, method, req.Params)
		p.mu.Lock()
		delete(p.inFlight, idKey(req.ID)) // before the answer: from then on the id may be used again
		p.mu.Unlock()
		p.reply(method, req.ID, result, err)
	}()
}

// admit registers a request to be served.
func (p *peer) admit(method string, id json.RawMessage, cancel context.CancelFunc) error {
	if _, ok := p.methods[method]; !ok {
		return rpcErrorf(jsonrpc2.CodeMethodNotFound, fmt.Sprintf("unknown method %.100q", method))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return rpcErrorf(CodeShuttingDown, "the connection is closing")
	}
	text, _ := jsonl.String(id)
	if p.s.strict.Load() && !p.fresh.take(text) {
		err := violation("the request %.40s came again", text)
		p.s.fail(err)
		return rpcErrorf(jsonrpc2.CodeInvalidRequest, err.Error())
	}
	if _, ok := p.inFlight[idKey(id)]; ok {
		return rpcErrorf(jsonrpc2.CodeInvalidRequest, fmt.Sprintf("a request with id %s is being served", id))
	}
	p.inFlight[idKey(id)] = cancel
	p.serving.Add(1)
	return nil
}

func (p *peer) run(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("a request's handler panicked", "method", method, "panic", fmt.Sprint(v), "stack",
				string(debug.Stack()))
			err = &RPCError{Code: jsonrpc2.CodeInternalError, Category: CatInternal,
				Message: fmt.Sprintf("internal error in %s: %v", method, v)}
		}
	}()
	return p.methods[method](ctx, params)
}

func (p *peer) reply(method string, id json.RawMessage, result any, err error) {
	if err == nil {
		err = p.s.send(outgoing{ID: id, Result: result})
	}
	if err != nil && p.s.cause() == nil {
		err = p.s.send(outgoing{ID: id, Error: toWire(err)})
	}
	if err != nil {
		p.log.Debug("an answer could not be sent", "method", method, "err", err)
	}
}
