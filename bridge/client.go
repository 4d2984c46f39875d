package bridge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Handler is what a [Client] serves to the bridge.
type Handler interface {
	// Event is called for each event, in order, from one goroutine. While it runs, no other event is
	// handled and no answer that followed an event is returned, so it should pass the event on and return.
	// It may call the client's methods.
	Event(Event)
	// ToolCall runs one of our tools. The model reads an error as the tool's failure. ToolCall may call the
	// client's methods, and must return when ctx ends: its answer is not used after that.
	ToolCall(ctx context.Context, p ToolCallParams) (ToolCallResult, error)
	// Permission decides; an error is a deny. It must return when ctx ends.
	Permission(ctx context.Context, p PermissionParams) (PermissionResult, error)
	// Judge decides by rules alone what happens to a tool call; an error is a deny. It must answer at once,
	// and return when ctx ends.
	Judge(ctx context.Context, p JudgeParams) (JudgeResult, error)
}

// Client drives a bridge. Its methods are safe for concurrent use. They return an *RPCError (errors.As) if
// the bridge refused, an error that wraps ErrClosed if the connection has ended, and one that wraps
// ctx.Err() if the caller's context ended; in the last case it is unknown whether the request was carried
// out.
//
// A nil Client is one whose connection has ended.
//
// A method returns an answer only after the events that the bridge sent before it were handled.
type Client struct {
	p       *peer
	q       *eventQueue
	rwc     io.ReadWriteCloser
	release func() bool // releases what else can end the connection; may be nil
	done    chan struct{}
	err     error // set before done is closed
	contact *contact
	placed  placed
	watched sync.WaitGroup // the goroutines that watch for its end
}

// NewClient starts a conversation with the bridge at the other end of rwc, which the client owns from now
// on. log may be nil.
func NewClient(rwc io.ReadWriteCloser, h Handler, log *slog.Logger) *Client {
	c := newClient(rwc, h, log)
	c.start()
	return c
}

func newClient(rwc io.ReadWriteCloser, h Handler, log *slog.Logger) *Client {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Client{rwc: rwc, done: make(chan struct{}), contact: &contact{now: BootTime, begun: make(chan struct{})}}
	c.q = newEventQueue(h.Event, log)
	c.q.fail = func(err error) { c.p.s.fail(err) }
	c.q.check = c.placed.event
	c.q.stray = func(params []byte, err error) { c.p.s.skip(params, err.Error()) }
	c.p = newPeer(rwc, log, peerOptions{onEvent: c.q.push, methods: map[string]handlerFunc{
		MethodTick: method(c.contact.tick),
		MethodToolCall: placedAgent(c, func(ctx context.Context, p ToolCallParams) (ToolCallResult, error) {
			r, err := h.ToolCall(ctx, p)
			if err != nil {
				return ToolCallResult{Text: err.Error(), IsError: true}, nil
			}
			return r, nil
		}),
		MethodPermission: placedAgent(c, func(ctx context.Context, p PermissionParams) (PermissionResult, error) {
			r, err := h.Permission(ctx, p)
			if err != nil {
				return PermissionResult{Behavior: Deny, Message: err.Error()}, nil
			}
			return r, nil
		}),
		MethodJudge: placedAgent(c, func(ctx context.Context, p JudgeParams) (r JudgeResult, err error) {
			// The call may come in an answer that has filled the context.
			if err = c.q.wait(ctx); err == nil {
				r, err = h.Judge(ctx, p)
			}
			if err != nil {
				return JudgeResult{Behavior: Deny, Message: err.Error()}, nil
			}
			return r, nil
		}),
	}})
	return c
}

func (c *Client) start() {
	c.p.s.start()
	go c.q.run()
	c.watched.Go(func() { c.contact.watch(c.p.conn.DisconnectNotify(), c.p.s.fail) })
	go c.own()
}

// own waits for the connection's end and then for all goroutines that belong to it.
func (c *Client) own() {
	<-c.p.conn.DisconnectNotify()
	c.contact.giveUp()
	c.q.unbound()
	c.p.close(ErrClosed)
	c.p.serving.Wait()
	c.q.end()
	<-c.q.done
	c.watched.Wait()
	if c.release != nil {
		c.release()
	}
	c.err = c.why()
	close(c.done)
}

// why returns the reason of the end: nil after Close.
func (c *Client) why() error {
	err := c.p.cause()
	if err == ErrClosed {
		return nil
	}
	if exited, ok := c.rwc.(interface{ exitError(error) error }); ok {
		return exited.exitError(err)
	}
	if err == io.EOF {
		return fmt.Errorf("the bridge ended the connection: %w", err)
	}
	return err
}

// Done is closed when the connection has ended, all events that came before have been handled and no
// goroutine of the client runs any more.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns, once Done is closed, why the connection ended; nil after Close.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Close ends the connection, and thereby the bridge and its agents. Unhandled events are dropped. It
// returns when no goroutine of the client runs any more, except when a Handler method calls it: then it
// only begins the end.
func (c *Client) Close() error {
	c.q.drop()
	c.p.refuseNew()
	c.p.s.fail(ErrClosed)
	if calledFrom("(*eventQueue).guarded") || calledFrom("(*peer).run") {
		return nil
	}
	<-c.done
	return nil
}

// call is peer.call that also waits until the events sent before the answer were handled.
func call[R any](ctx context.Context, c *Client, method string, params any) (R, error) {
	var result R
	if c == nil {
		return result, fmt.Errorf("%s: %w", method, ErrClosed)
	}
	err := c.p.call(ctx, method, params, &result)
	if waitErr := c.q.wait(ctx); err == nil && waitErr != nil {
		err = fmt.Errorf("%s: %w", method, waitErr)
	}
	return result, err
}

// Initialize opens the conversation; it must be the first request. ProtocolVersion may be 0.
func (c *Client) Initialize(ctx context.Context, p InitializeParams) (InitializeResult, error) {
	if p.ProtocolVersion == 0 {
		p.ProtocolVersion = ProtocolVersion
	}
	if p.Remote != nil {
		c.placed.demand()
		c.p.s.strict.Store(true)
	}
	r, err := call[InitializeResult](ctx, c, MethodInitialize, p)
	switch {
	case err != nil:
		return r, err
	case r.ProtocolVersion != ProtocolVersion:
		return r, &RPCError{Code: CodeVersion,
			Message: fmt.Sprintf("the bridge uses protocol version %d, this client version %d", r.ProtocolVersion,
				ProtocolVersion)}
	case p.Remote == nil:
		return r, nil
	}
	if err := r.honest(p); err != nil {
		c.p.s.fail(err)
		return InitializeResult{}, err
	}
	c.placed.setWorkPlace(p.Run, r.Remote.Dir)
	c.contact.begin(time.Duration(p.Remote.LeaseMS) * time.Millisecond)
	return r, nil
}

// Spawn starts an agent and returns when it is ready for a message. After an error that is not an
// *RPCError, the agent may be running: Kill it.
func (c *Client) Spawn(ctx context.Context, p SpawnParams) (SpawnResult, error) {
	if c != nil {
		c.placed.add(p.AgentRef)
	}
	return call[SpawnResult](ctx, c, MethodSpawn, p)
}

// Message returns when the message is written to the agent; the `delivered` event reports when the agent
// accepted it.
func (c *Client) Message(ctx context.Context, p MessageParams) error {
	_, err := call[Empty](ctx, c, MethodMessage, p)
	return err
}

// Interrupt stops the running turn.
func (c *Client) Interrupt(ctx context.Context, ref AgentRef) (InterruptResult, error) {
	return call[InterruptResult](ctx, c, MethodInterrupt, InterruptParams{ref})
}

// Kill ends an agent. Its `done` event has been handled when Kill returns.
func (c *Client) Kill(ctx context.Context, p KillParams) error {
	_, err := call[Empty](ctx, c, MethodKill, p)
	return err
}

// Context asks how full the agent's context is.
func (c *Client) Context(ctx context.Context, ref AgentRef) (ContextResult, error) {
	return call[ContextResult](ctx, c, MethodContext, ContextParams{ref})
}

// Ask puts a side question, outside the session's history.
func (c *Client) Ask(ctx context.Context, p AskParams) (AskResult, error) {
	return call[AskResult](ctx, c, MethodAsk, p)
}

// Configure changes a running agent.
func (c *Client) Configure(ctx context.Context, p ConfigureParams) error {
	_, err := call[Empty](ctx, c, MethodConfigure, p)
	return err
}

// Probe looks for an agent's signs of life. It takes up to ProbeTimeout if the agent does not answer.
func (c *Client) Probe(ctx context.Context, ref AgentRef) (ProbeResult, error) {
	return call[ProbeResult](ctx, c, MethodProbe, ProbeParams{ref})
}

// Check runs a command that is to prove something. If ctx ends first, the command is ended with all its
// processes.
func (c *Client) Check(ctx context.Context, p CheckParams) (CheckResult, error) {
	return call[CheckResult](ctx, c, MethodCheck, p)
}

// Inspect looks at a session's work from outside; the session may have ended.
func (c *Client) Inspect(ctx context.Context, p InspectParams) (InspectResult, error) {
	return call[InspectResult](ctx, c, MethodInspect, p)
}

// Query sends one prompt to a model, with a process of its own. If ctx ends first, that process is ended
// with all that it started.
func (c *Client) Query(ctx context.Context, p QueryParams) (QueryResult, error) {
	return call[QueryResult](ctx, c, MethodQuery, p)
}

// Shutdown ends all agents; the connection stays until Close.
func (c *Client) Shutdown(ctx context.Context, p ShutdownParams) (ShutdownResult, error) {
	r, err := call[ShutdownResult](ctx, c, MethodShutdown, p)
	if err == nil && len(r.Unstopped) == 0 {
		c.contact.allStopped()
	}
	return r, err
}
