package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// ErrSilent means that no answer came in time.
var ErrSilent = errors.New("arbiter does not answer")

// Refusal is an error that the arbiter returned.
type Refusal struct {
	Code    int64
	Message string
}

func (r *Refusal) Error() string { return r.Message }

// Client connects to a running arbiter. Its methods are safe for concurrent use.
type Client struct {
	conn     *jsonrpc2.Conn
	ready    chan struct{} // closed when conn is set: NewConn reads before it returns
	feed     *Feed
	progress func(string)
	onEvent  atomic.Pointer[func(part any)] // of the subscription

	ended Ended         // written before over is closed
	over  chan struct{} // closed when the attachment or the connection has ended
	once  sync.Once
}

// Dial connects to the socket at path, or to the one that path links to, and requests the status: a stopped
// arbiter accepts connections, too. progress is called with the progress of an attachment; it may be nil.
func Dial[S any](ctx context.Context, path string, progress func(string)) (c *Client, status S, err error) {
	if target, err := os.Readlink(path); err == nil {
		path = target // a link is used if the path in the run's own directory would be too long
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, status, fmt.Errorf("%w: %w", ErrSilent, err)
	}
	c = &Client{feed: NewFeed(0), progress: progress, over: make(chan struct{}), ready: make(chan struct{})}
	in := newStream(conn, maxAnswer)
	in.events = c.receiveEvents
	c.conn = dial(in, c)
	close(c.ready)
	go c.watch() // until the connection ends; Close waits for that
	if status, err = StatusOf[S](ctx, c); err != nil {
		c.Close()
		return nil, status, err
	}
	return c, status, nil
}

// StatusOf requests the state of the run.
func StatusOf[S any](ctx context.Context, c *Client) (S, error) {
	var r StatusResult[S]
	err := c.call(ctx, MethodStatus, struct{}{}, &r)
	if err == nil && r.V != Version {
		err = fmt.Errorf("that arbiter uses version %d of the protocol, this one version %d", r.V, Version)
	}
	return r.Status, err
}

func (c *Client) watch() {
	<-c.conn.DisconnectNotify()
	c.end(Ended{Reason: "arbiter has closed the connection", Lost: true})
}

func (c *Client) end(e Ended) {
	c.once.Do(func() {
		c.ended = e
		c.feed.End(io.EOF)
		close(c.over)
	})
}

// Close ends the connection; the arbiter gives back what is attached.
func (c *Client) Close() {
	_ = c.conn.Close() // it may be closed already
	<-c.over
}

// Handle implements jsonrpc2.Handler.
func (c *Client) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	<-c.ready
	if !req.Notif || req.Params == nil {
		return
	}
	switch req.Method {
	case NotifyPTY:
		var d Data
		if json.Unmarshal(*req.Params, &d) == nil {
			c.put(d.Data)
		}
	case NotifyProgress:
		var p Progress
		if json.Unmarshal(*req.Params, &p) == nil && c.progress != nil {
			c.progress(p.Text)
		}
	case NotifyState:
		notified[StateChange](c, req)
	case NotifyRunEnded:
		notified[RunEnded](c, req)
	case NotifyEnded:
		var e Ended
		_ = json.Unmarshal(*req.Params, &e) // without a reason it has ended all the same
		c.end(e)
	}
}

// receiveEvents passes on a notification of events.
func (c *Client) receiveEvents(line []byte) error {
	var n notification[Events]
	if err := json.Unmarshal(line, &n); err != nil {
		return fmt.Errorf("a notification of events: %w", err)
	}
	if onEvent := c.onEvent.Load(); onEvent != nil {
		(*onEvent)(n.Params)
	}
	return nil
}

// notified passes on a part of the subscription. If a part cannot be read, it ends the connection, because
// without it the client would show a state that never existed.
func notified[T any](c *Client, req *jsonrpc2.Request) {
	onEvent := c.onEvent.Load()
	if onEvent == nil {
		return
	}
	var part T
	if err := json.Unmarshal(*req.Params, &part); err != nil {
		_ = c.conn.Close() // watch reports it
		return
	}
	(*onEvent)(part)
}

// put keeps output until the client takes it. If the client is slow, the socket is not read meanwhile, so
// that the arbiter notices.
func (c *Client) put(p []byte) {
	for !c.feed.HasCapacity(len(p)) {
		select {
		case <-c.over:
			return
		case <-c.conn.DisconnectNotify():
			return
		case <-c.feed.Taken():
		}
	}
	c.feed.Put(p)
}

func (c *Client) call(ctx context.Context, method string, p, result any) error {
	err := c.conn.Call(ctx, method, p, result)
	var wire *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wire):
		return &Refusal{Code: wire.Code, Message: wire.Message}
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w in time", ErrSilent)
	case errors.Is(err, jsonrpc2.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it has ended the connection", ErrSilent)
	}
	return err
}

// Command submits a command, a line as on the stdin of `arbiter --json`.
func (c *Client) Command(ctx context.Context, line json.RawMessage) (r CommandResult, err error) {
	return r, c.call(ctx, MethodCommand, CommandParams{Command: line}, &r)
}

// State asks for the whole state.
func (c *Client) State(ctx context.Context) (r StateResult, err error) {
	return r, c.call(ctx, MethodState, struct{}{}, &r)
}

// Put submits a command of a frontend. It returns when the run has accepted it; an event reports what
// happens to it.
func (c *Client) Put(ctx context.Context, p PutParams) error {
	return c.call(ctx, MethodPut, p, nil)
}

// Stop asks the run to end in order.
func (c *Client) Stop(ctx context.Context, p StopParams) error {
	return c.call(ctx, MethodStop, p, nil)
}

// InputEnded reports that no human will answer from now on.
func (c *Client) InputEnded(ctx context.Context) error {
	return c.call(ctx, MethodNoInput, struct{}{}, nil)
}

// Subscribe requests what happens, at most once per client. onEvent is called with Events, StateChange and at
// last RunEnded, in order, on the goroutine that reads the connection: while it works, nothing else is
// read. [Client.Done] reports that no more comes.
func (c *Client) Subscribe(ctx context.Context, p SubscribeParams, onEvent func(part any)) error {
	c.onEvent.Store(&onEvent)
	return c.call(ctx, MethodSubscribe, p, nil)
}

// Parts is [Client.Subscribe] for a reader on another goroutine: each part waits in the channel until it is taken,
// or ctx ends. So all parts that came were taken when [Client.Done] is closed.
func (c *Client) Parts(ctx context.Context, p SubscribeParams) (<-chan any, error) {
	parts := make(chan any)
	return parts, c.Subscribe(ctx, p, func(part any) {
		select {
		case parts <- part:
		case <-ctx.Done():
		case <-c.Done():
		}
	})
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.conn.DisconnectNotify() }

// Halt stops every agent.
func (c *Client) Halt(ctx context.Context, p HaltParams) (r HaltResult, err error) {
	return r, c.call(ctx, MethodHalt, p, &r)
}

// Attach asks for an agent's session, and returns when it is open.
func (c *Client) Attach(ctx context.Context, p AttachParams) (r AttachResult, err error) {
	return r, c.call(ctx, MethodAttach, p, &r)
}

// Read returns the output of the session's terminal. Write and Resize do not wait for an answer.
func (c *Client) Read(p []byte) (int, error) { return c.feed.Take(context.Background(), p) }

// Write sends what was typed.
func (c *Client) Write(p []byte) (int, error) {
	if err := c.conn.Notify(context.Background(), MethodWrite, Data{Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Resize sends the terminal's size.
func (c *Client) Resize(cols, rows int) {
	// Read reports a connection that has ended
	_ = c.conn.Notify(context.Background(), MethodResize, Size{Cols: cols, Rows: rows})
}

// EndView makes Read return io.EOF.
func (c *Client) EndView() { c.feed.End(io.EOF) }

// Detach gives the session back. It waits, for a limited time, and returns how the attachment ended.
func (c *Client) Detach(within time.Duration) (Ended, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	c.EndView()
	_ = c.call(ctx, MethodDetach, struct{}{}, nil) // the attachment, or the connection, may have ended already
	return c.Ended(ctx)
}

// Ended waits for the end of the attachment, and returns how it ended.
func (c *Client) Ended(ctx context.Context) (Ended, bool) {
	select {
	case <-c.over:
		return c.ended, true
	case <-ctx.Done():
		return Ended{}, false
	}
}
