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
)

// peer is one end of a connection, the same for both: it calls with string ids, and serves each request on
// a goroutine of its own with a context of its own.
type peer struct {
	s       *stream
	conn    *jsonrpc2.Conn
	log     *slog.Logger
	methods map[string]handlerFunc
	seq     atomic.Uint64
	fresh   window // ids of the peer's requests, if strict
	// valid returns an error if an answer comes too late; may be nil.
	valid func() error

	mu       sync.Mutex
	inFlight map[jsonrpc2.ID]context.CancelFunc // requests being served
	closing  bool
	serving  sync.WaitGroup
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
	p := &peer{log: log, methods: o.methods, inFlight: map[jsonrpc2.ID]context.CancelFunc{}}
	p.s = newStream(rwc, log, o)
	// Close ends the connection; a caller's context never does.
	p.conn = jsonrpc2.NewConn(context.Background(), p.s, p, jsonrpc2.SetLogger(connLogger{log}))
	return p
}

// connLogger receives the log of jsonrpc2, which is mostly about answers that came too late.
type connLogger struct{ log *slog.Logger }

func (l connLogger) Printf(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }

// close ends the connection for the given reason, which cancels the requests being served, and waits for
// the pipe's goroutines. To wait for the requests' goroutines, use serving.Wait.
func (p *peer) close(cause error) {
	p.refuseNew()
	p.s.fail(cause)
	p.conn.Close()
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
	id := jsonrpc2.ID{Str: "c" + strconv.FormatUint(p.seq.Add(1), 10), IsString: true}
	pending, err := p.conn.DispatchCall(ctx, method, params, jsonrpc2.PickID(id))
	if err != nil {
		return p.callError(method, err)
	}
	// When nothing more can be read, no answer can come, even if a half-open connection still exists.
	waitCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.s.reading, func() { cancel(ErrClosed) })()
	var raw json.RawMessage
	if err := pending.Wait(waitCtx, &raw); err != nil {
		if waitCtx.Err() != nil && errors.Is(err, waitCtx.Err()) {
			p.abandon(id)
			err = context.Cause(waitCtx)
		}
		return p.callError(method, err)
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("%s: decode the answer: %w", method, err)
	}
	if p.valid != nil {
		if err := p.valid(); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	return nil
}

func (p *peer) callError(method string, err error) error {
	var wire *jsonrpc2.Error
	switch {
	case errors.As(err, &wire):
		err = fromWire(wire)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, jsonrpc2.ErrClosed), p.cause() != nil, p.s.reading.Err() != nil:
		err = p.closedError()
	}
	return fmt.Errorf("%s: %w", method, err)
}

// closedError returns ErrClosed with the reason, if that is known.
func (p *peer) closedError() error {
	cause := p.cause()
	if cause == nil || errors.Is(cause, ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, cause)
}

// cause returns why the connection ended; nil while it has not.
func (p *peer) cause() error {
	select {
	case <-p.s.failed:
		return p.s.cause
	default:
		return nil
	}
}

// abandon tells the other end that the caller no longer waits for the answer, and frees the call's entry in
// jsonrpc2. v0.2.3 can only do that by an answer (an abandoned call stays in its map until the connection
// ends), so we answer it ourselves. If the real answer still comes, it matches no call and is dropped.
func (p *peer) abandon(id jsonrpc2.ID) {
	if err := p.conn.Notify(context.Background(), MethodCancel, CancelParams{ID: id.Str}); err != nil {
		return // closed: jsonrpc2 has forgotten all calls
	}
	select {
	case p.s.inject <- madeUpAnswer(strconv.AppendQuote(nil, id.Str), CodeCancelled, "given up"):
	case <-p.conn.DisconnectNotify():
	}
}

// Handle implements jsonrpc2.Handler. It runs on the connection's only reading goroutine and so must never
// wait: cancel is handled here, requests on other goroutines.
func (p *peer) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if params := p.s.params; params != nil {
		req.Params = &params
	}
	if req.Notif {
		if req.Method != MethodCancel {
			p.log.Debug("ignored an unknown notification", "method", req.Method)
			return
		}
		p.cancelRequest(req.Params)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := p.admit(req, cancel); err != nil {
		cancel()
		p.reply(ctx, conn, req, nil, err)
		return
	}
	go func() {
		defer p.serving.Done()
		p.serve(ctx, conn, req)
		cancel()
	}()
}

// admit registers a request to be served.
func (p *peer) admit(req *jsonrpc2.Request, cancel context.CancelFunc) error {
	if _, ok := p.methods[req.Method]; !ok {
		return rpcErrorf(jsonrpc2.CodeMethodNotFound, fmt.Sprintf("unknown method %.100q", req.Method))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return rpcErrorf(CodeShuttingDown, "the connection is closing")
	}
	if p.s.strict.Load() && !p.fresh.take(req.ID.Str) {
		err := violation("the request %.40s came again", req.ID.Str)
		p.s.fail(err)
		return rpcErrorf(jsonrpc2.CodeInvalidRequest, err.Error())
	}
	if _, ok := p.inFlight[req.ID]; ok {
		return rpcErrorf(jsonrpc2.CodeInvalidRequest, fmt.Sprintf("a request with id %v is being served", req.ID))
	}
	p.inFlight[req.ID] = cancel
	p.serving.Add(1)
	return nil
}

func (p *peer) serve(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	result, err := p.run(ctx, req)
	p.mu.Lock()
	delete(p.inFlight, req.ID) // before the answer: from then on the id may be used again
	p.mu.Unlock()
	p.reply(ctx, conn, req, result, err)
}

func (p *peer) run(ctx context.Context, req *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("a request's handler panicked", "method", req.Method, "panic", fmt.Sprint(v), "stack",
				string(debug.Stack()))
			err = &RPCError{Code: jsonrpc2.CodeInternalError, Category: CatInternal,
				Message: fmt.Sprintf("internal error in %s: %v", req.Method, v)}
		}
	}()
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	return p.methods[req.Method](ctx, params)
}

func (p *peer) reply(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request, result any, err error) {
	answer := &jsonrpc2.Response{ID: req.ID}
	if err == nil {
		err = answer.SetResult(result)
	}
	if err != nil {
		answer.Error = toWire(err)
	}
	if err := conn.SendResponse(ctx, answer); err != nil {
		p.log.Debug("an answer could not be sent", "method", req.Method, "err", err)
	}
}

func (p *peer) cancelRequest(params *json.RawMessage) {
	var named struct {
		ID *jsonrpc2.ID `json:"id"` // numeric ids can be cancelled, too
	}
	if params == nil || json.Unmarshal(*params, &named) != nil || named.ID == nil {
		p.log.Warn("ignored a cancel that names no request")
		return
	}
	p.mu.Lock()
	cancel := p.inFlight[*named.ID]
	p.mu.Unlock()
	if cancel != nil { // otherwise it was answered already
		cancel()
	}
}
