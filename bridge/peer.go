package bridge

import (
	"bytes"
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

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// ErrClosed is the error of calls after the connection has ended. The returned error
// wraps it together with the reason.
var ErrClosed = errors.New("bridge: connection closed")

var byteOrderMark = []byte("\xef\xbb\xbf")

// maxLine bounds one message. A base64 screenshot or a whole file in a tool's input takes megabytes; a
// longer line is a fault of the peer.
const maxLine = 64 << 20

// maxStray bounds the lines from another host that are not messages, such as the output of a login shell.
const maxStray = 1000

// closeWait bounds the wait for a goroutine that is blocked in a read or write of a closed pipe. Go
// unblocks it for every pollable file; only a file in blocking mode (see [Stdio]) can keep it blocked, and
// then the process is about to end.
const closeWait = 150 * time.Millisecond

// peer is one end of a connection, the same for both: JSON-RPC 2.0, one object per line. It calls with string
// ids, and serves each request on a goroutine of its own with a context of its own.
//
// It counts and skips lines that are not messages, and queues writes under a deadline. The reading goroutine
// passes events to onEvent, and so before any message that was read later.
type peer struct {
	peerOptions
	rwc    io.ReadWriteCloser
	lines  *jsonl.LineReader
	out    *writer
	log    *slog.Logger
	stray  atomic.Int64 // lines that were not messages
	strict atomic.Bool  // on another host: endless lines and repeated requests are refused
	fresh  window       // ids of the peer's requests, if strict

	reading  context.Context // ends when nothing more will be read; readErr says why
	endRead  context.CancelFunc
	readErr  error
	readDone chan struct{}
	failed   chan struct{} // closed by fail; cause says why
	cause    error
	failOnce sync.Once
	closed   chan struct{}   // closed when rwc is
	ctx      context.Context // of the requests being served
	cancel   context.CancelFunc

	mu       sync.Mutex
	seq      uint64
	waiting  map[string]chan answer        // our calls, by their ids
	inFlight map[string]context.CancelFunc // requests being served, by their ids as they were written
	closing  bool
	serving  sync.WaitGroup
}

type peerOptions struct {
	methods      map[string]handlerFunc
	onEvent      func(params []byte) // nil: there are none in this direction
	halfOpen     bool                // leaves the connection open for writing when reading has ended
	writeTimeout time.Duration
	// valid returns an error if an answer comes too late; may be nil.
	valid func() error
}

// handlerFunc serves a request.
type handlerFunc func(ctx context.Context, params json.RawMessage) (any, error)

// answer is what the other end says to a call.
type answer struct {
	result json.RawMessage
	err    *RPCError
}

// newPeer makes one end of a connection over rwc. Nothing is read or written before start. The owner
// waits for the connection's end, then calls close.
func newPeer(rwc io.ReadWriteCloser, log *slog.Logger, o peerOptions) *peer {
	if o.writeTimeout <= 0 {
		o.writeTimeout = DefaultWriteTimeout
	}
	p := &peer{peerOptions: o, rwc: rwc, log: log, readDone: make(chan struct{}), failed: make(chan struct{}),
		closed: make(chan struct{}), waiting: map[string]chan answer{}, inFlight: map[string]context.CancelFunc{}}
	p.lines = jsonl.NewLineReader(&lineGuard{r: rwc, strict: &p.strict}, maxLine)
	p.reading, p.endRead = context.WithCancel(context.Background())
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.out = newWriter(rwc, o.writeTimeout, maxBacklog, p.fail)
	return p
}

// start starts reading and writing. close waits for both to end.
func (p *peer) start() {
	go p.read()
	go p.out.run()
	go func() {
		<-p.failed
		p.cancel()
		_ = p.rwc.Close() // it may take as long as ending a process
		close(p.closed)
	}()
}

// fail ends the connection. It never blocks, and only its first call has an effect.
func (p *peer) fail(cause error) {
	p.failOnce.Do(func() {
		p.cause = cause
		close(p.failed)
		p.out.close()
	})
}

// close ends the connection for the given reason, which cancels the requests being served, and waits for
// the pipe's goroutines. To wait for the requests' goroutines, use serving.Wait.
func (p *peer) close(cause error) {
	p.refuseNew()
	p.fail(cause)
	<-p.closed
	late := time.NewTimer(closeWait)
	defer late.Stop()
	for _, done := range []chan struct{}{p.readDone, p.out.done} {
		select {
		case <-done:
		case <-late.C:
			p.log.Warn("the pipe's goroutine is stuck in a blocking file and left behind")
			return
		}
	}
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

// read sorts lines until the pipe ends.
func (p *peer) read() {
	defer close(p.readDone)
	for {
		line, err := p.lines.NextOrLast()
		if err != nil {
			p.readErr = err
			if !p.halfOpen {
				p.fail(err)
			}
			p.endRead()
			return
		}
		if line.Oversize {
			p.skip(line.Data, fmt.Sprintf("longer than %d bytes", maxLine))
			continue
		}
		if message := bytes.TrimSpace(bytes.TrimPrefix(line.Data, byteOrderMark)); len(message) > 0 {
			p.receive(bytes.Clone(message)) // it is used longer than the reader's buffer
		}
	}
}

// receive handles a message. It must never wait, except for the room for an event.
func (p *peer) receive(line []byte) {
	if params, ok := eventParams(line); ok && p.onEvent != nil {
		p.onEvent(params)
		return
	}
	env, err := readEnvelope(line)
	noID := jsonl.IsNull(env.ID)
	method, _ := jsonl.String(env.Method)
	switch {
	case err != nil && env.Method != nil && !noID:
		p.refuse(env.ID, line, err.Error())
	case err != nil:
		p.skip(line, err.Error())
	case env.answer() && env.Method == nil:
		p.answered(env, line)
	case method == MethodEvent && noID && p.onEvent != nil:
		p.onEvent(env.Params)
	case method == MethodCancel && noID:
		p.cancelRequest(env.Params)
	case method != "" && noID:
		p.log.Debug("ignored an unknown notification", "method", method)
	case !validID(env.ID) || method == "" || env.answer():
		p.refuse(env.ID, line, "method must be a string, id a string or a natural number")
	default:
		p.admit(env.ID, method, env.Params)
	}
}

// skip counts a line that is not a message. It logs the first ten, and later ones at growing intervals: a
// program that prints to this pipe often prints repeatedly.
func (p *peer) skip(line []byte, why string) {
	n := p.stray.Add(1)
	if n > maxStray && p.strict.Load() {
		p.fail(violation("it sent %d lines that are not messages, the last one: %.100q", n, line))
	}
	if n <= 10 || n&(n-1) == 0 {
		p.log.Warn("skipped a stray line", "count", n, "why", why, "line", string(line[:min(len(line), 200)]))
	}
}

// refuse skips a line that was meant as a request, and answers with an error: its sender would otherwise
// wait forever.
func (p *peer) refuse(id, line []byte, why string) {
	p.skip(line, why)
	if json.Valid(id) && !jsonl.IsNull(id) {
		p.reply(id, nil, rpcErrorf(codeInvalidRequest, "invalid request: "+why))
	}
}

// answered passes an answer to the call that waits for it, if any does.
func (p *peer) answered(env envelope, line []byte) {
	id, err := jsonl.String(env.ID)
	if err != nil {
		p.skip(line, "an answer without a string id belongs to no request")
		return
	}
	a := answer{result: env.Result}
	if !jsonl.IsNull(env.Error) {
		if a.err, err = fromWire(env.Error); err != nil {
			p.skip(line, err.Error())
			a.err = rpcErrorf(codeInternalError, "the answer is not a JSON-RPC response")
		}
	}
	p.mu.Lock()
	waiter := p.waiting[id]
	delete(p.waiting, id)
	p.mu.Unlock()
	if waiter == nil {
		p.log.Debug("an answer came too late", "id", id)
		return
	}
	waiter <- a // capacity 1, and it is the only one
}

// call sends a request to the other end. If ctx ends first, it sends a cancellation, and its error wraps
// ctx.Err(); a refusal is an *RPCError; at the end of the connection the error wraps ErrClosed.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	err := p.ask(ctx, method, params, result)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (p *peer) ask(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	waiter := make(chan answer, 1)
	p.mu.Lock()
	p.seq++
	id := "c" + strconv.FormatUint(p.seq, 10)
	p.waiting[id] = waiter
	p.mu.Unlock()
	if err := p.send(requestLine{id, "2.0", method, params}); err != nil {
		p.giveUp(id)
		return err
	}
	var a answer
	select {
	case a = <-waiter:
	case <-ctx.Done():
		p.giveUp(id)
		return context.Cause(ctx)
	case <-p.reading.Done(): // no answer can come, even if a half-open connection still exists
		select {
		case a = <-waiter: // it was the last that came
		default:
			p.giveUp(id)
			return p.closedError()
		}
	}
	if a.err != nil {
		return a.err
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	if p.valid != nil {
		return p.valid()
	}
	return nil
}

// giveUp tells the other end that nobody waits for the answer. If that cannot be sent, nobody needs it.
func (p *peer) giveUp(id string) {
	p.mu.Lock()
	delete(p.waiting, id)
	p.mu.Unlock()
	_ = p.send(requestLine{"", "2.0", MethodCancel, CancelParams{ID: id}})
}

// send queues a message. It never waits for the other end.
func (p *peer) send(message any) error {
	line, err := jsonl.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	if !p.out.push(append(line, '\n')) {
		return p.closedError()
	}
	return nil
}

// closedError returns ErrClosed with the reason, if that is known.
func (p *peer) closedError() error {
	cause := p.failure()
	if cause == nil || errors.Is(cause, ErrClosed) {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, cause)
}

// failure returns why the connection ended; nil while it has not.
func (p *peer) failure() error {
	select {
	case <-p.failed:
		return p.cause
	default:
		return nil
	}
}

// admit has a request served on a goroutine of its own, or refuses it.
func (p *peer) admit(id json.RawMessage, method string, params json.RawMessage) {
	serve, known := p.methods[method]
	ctx, cancel := context.WithCancel(p.ctx)
	err := rpcErrorf(codeMethodNotFound, fmt.Sprintf("unknown method %.100q", method))
	if known {
		err = p.register(id, cancel)
	}
	if err != nil {
		cancel()
		p.reply(id, nil, err)
		return
	}
	go func() {
		defer p.serving.Done()
		defer cancel()
		result, err := p.run(ctx, method, serve, params)
		p.mu.Lock()
		delete(p.inFlight, string(id)) // before the answer: from then on the id may be used again
		p.mu.Unlock()
		p.reply(id, result, err)
	}()
}

func (p *peer) register(id json.RawMessage, cancel context.CancelFunc) *RPCError {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, _ := jsonl.String(id)
	switch {
	case p.closing:
		return rpcErrorf(CodeShuttingDown, "the connection is closing")
	case p.strict.Load() && !p.fresh.take(text):
		err := violation("the request %.40s came again", text)
		p.fail(err)
		return rpcErrorf(codeInvalidRequest, err.Error())
	case p.inFlight[string(id)] != nil:
		return rpcErrorf(codeInvalidRequest, fmt.Sprintf("a request with id %s is being served", id))
	}
	p.inFlight[string(id)] = cancel
	p.serving.Add(1)
	return nil
}

func (p *peer) run(ctx context.Context, method string, serve handlerFunc, params json.RawMessage) (result any,
	err error) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("a request's handler panicked", "method", method, "panic", fmt.Sprint(v), "stack",
				string(debug.Stack()))
			err = &RPCError{Code: codeInternalError, Category: CatInternal,
				Message: fmt.Sprintf("internal error in %s: %v", method, v)}
		}
	}()
	return serve(ctx, params)
}

func (p *peer) reply(id json.RawMessage, result any, err error) {
	r := responseLine{JSONRPC: "2.0", ID: id}
	if err == nil {
		r.Result, err = jsonl.Marshal(result)
	}
	if err != nil {
		r.Result, r.Error = nil, toWire(err)
	}
	if err := p.send(r); err != nil {
		p.log.Debug("an answer could not be sent", "id", string(id), "err", err)
	}
}

// cancelRequest ends the context of a request that is being served.
func (p *peer) cancelRequest(params json.RawMessage) {
	var named struct {
		ID json.RawMessage `json:"id"` // numeric ids can be cancelled, too
	}
	if json.Unmarshal(params, &named) != nil || jsonl.IsNull(named.ID) {
		p.log.Warn("ignored a cancel that names no request")
		return
	}
	p.mu.Lock()
	cancel := p.inFlight[string(named.ID)]
	p.mu.Unlock()
	if cancel != nil { // otherwise it was answered already
		cancel()
	}
}

// lineGuard fails a reader whose lines have no end, if strict is set: otherwise the line reader would wait
// forever.
type lineGuard struct {
	r      io.Reader
	strict *atomic.Bool
	length int // of the current line
}

func (g *lineGuard) Read(b []byte) (int, error) {
	n, err := g.r.Read(b)
	if end := bytes.LastIndexByte(b[:n], '\n'); end >= 0 {
		g.length = n - end - 1
	} else {
		g.length += n
	}
	if err == nil && g.length > maxLine && g.strict.Load() {
		err = violation("it sent a line of more than %d bytes", maxLine)
	}
	return n, err
}
