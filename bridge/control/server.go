package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

const (
	// newcomers bounds the connections that are younger than brief; more wait to be accepted. Those that stay longer,
	// such as of clients that follow the run, are bounded by stayers: so a short command always gets through.
	newcomers = 32
	stayers   = 256
	brief     = 200 * time.Millisecond
	// refusals bounds how many refused peers are logged: a peer that keeps trying adds nothing new.
	refusals = 50
	// refusedTimeout is how long a refused peer has to send its request.
	refusedTimeout = time.Second
)

// Service is the arbiter behind a server. Its methods are called by several goroutines.
type Service interface {
	// Status says where the run stands. It must not block.
	Status() any
	// Command submits a command and waits until it is durable or refused.
	Command(ctx context.Context, line json.RawMessage) (CommandResult, error)
	// Attach opens an agent's session for the named caller, and reports its progress. It gives up if ctx
	// ends first.
	Attach(ctx context.Context, who string, p AttachParams, progress func(string)) (Attachment, error)
	// Halt stops every agent.
	Halt(ctx context.Context, p HaltParams) HaltResult
	// State returns the whole state, encoded, with its version.
	State() (StateResult, error)
	// Put submits a command. An event reports what happens to it.
	Put(ctx context.Context, p PutParams) error
	// Stop ends the run in order; it does not wait for the end.
	Stop(ctx context.Context, p StopParams) error
	// InputEnded reports that no human will answer from now on.
	InputEnded(ctx context.Context) error
	// Subscribe calls send with Events, StateChange and at last RunEnded, until ctx ends, send fails or the
	// run has ended. A client that reads nothing blocks only its own send.
	Subscribe(ctx context.Context, p SubscribeParams, send func(any) error)
	// Refused is called for a peer that may not send requests; it must not block.
	Refused(p Peer, method string)
}

// Attachment is an agent's session in a terminal.
type Attachment interface {
	Result() AttachResult
	// Take waits for output. It returns io.EOF at its end.
	Take(ctx context.Context, p []byte) (int, error)
	Write(ctx context.Context, p []byte) error
	Resize(ctx context.Context, s Size) error
	// Detach gives the session back and waits until that is done. It may be called repeatedly, and after
	// the end.
	Detach(ctx context.Context) Ended
}

// Server serves a control socket.
type Server struct {
	service  Service
	log      *slog.Logger
	identify func(*net.UnixConn) Peer
	listener *net.UnixListener
	slots    chan struct{} // of newcomers
	stays    chan struct{} // of stayers
	quit     context.Context
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu      sync.Mutex
	refused int
}

// Serve serves on a listener, which the server owns from now on.
func Serve(l *net.UnixListener, house Service, log *slog.Logger) *Server {
	return serve(l, house, log, Identify)
}

func serve(l *net.UnixListener, house Service, log *slog.Logger, identify func(*net.UnixConn) Peer) *Server {
	s := &Server{service: house, log: log, identify: identify, listener: l, slots: make(chan struct{}, newcomers),
		stays: make(chan struct{}, stayers)}
	s.quit, s.stop = context.WithCancel(context.Background())
	s.work.Go(s.accept)
	return s
}

// Shutdown accepts no more connections, waits until the clients have disconnected or ctx ends, and closes the
// server. So a client that connected just before is still answered.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.listener.Close()
	left := make(chan struct{})
	go func() { // ends with the connections, which Close ends
		s.work.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
	}
	if closed := s.Close(); !errors.Is(closed, net.ErrClosed) {
		err = errors.Join(err, closed)
	}
	<-left
	return err
}

// Close ends all connections, gives back what is attached, and waits for all goroutines.
func (s *Server) Close() error {
	s.stop()
	err := s.listener.Close()
	s.work.Wait()
	return err
}

func (s *Server) accept() {
	Accept(s.listener, s.slots, s.quit, func(conn *net.UnixConn) {
		s.work.Go(func() {
			defer conn.Close()
			defer s.settle(conn)()
			s.receive(conn)
		})
	}, s.log)
}

// Accept accepts connections, each when a value fits into slots, until the listener is closed or quit ends. serve must
// not block, and its work takes the value out of slots at the end.
func Accept(
	l *net.UnixListener, slots chan struct{}, quit context.Context, serve func(*net.UnixConn), log *slog.Logger,
) {
	for {
		select {
		case slots <- struct{}{}:
		case <-quit.Done():
			return
		}
		conn, err := l.AcceptUnix()
		if err == nil {
			serve(conn)
			continue
		}
		<-slots
		if errors.Is(err, net.ErrClosed) {
			return
		}
		select {
		case <-quit.Done():
			return
		case <-time.After(100 * time.Millisecond): // perhaps no descriptors are left; some may be closed soon
			log.Warn("accept on "+l.Addr().String(), "error", err)
		}
	}
}

// settle makes a connection that stays give its place to another newcomer, or ends it if too many stay. The function
// that it returns frees the connection's place.
func (s *Server) settle(conn *net.UnixConn) (free func()) {
	var mu sync.Mutex
	place := s.slots
	timer := time.AfterFunc(brief, func() {
		mu.Lock()
		defer mu.Unlock()
		if place == nil {
			return // the connection has ended
		}
		select {
		case s.stays <- struct{}{}:
			<-s.slots
			place = s.stays
		default:
			s.log.Warn("control: a connection is ended, because too many stay open", "limit", stayers)
			_ = conn.Close() // its reader ends
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		<-place
		place = nil
	}
}

// receive identifies a peer, and serves or refuses it.
func (s *Server) receive(conn *net.UnixConn) {
	p := s.identify(conn)
	if p.Problem != "" {
		s.refuse(conn, p)
		return
	}
	c := &client{s: s, peer: p, requests: make(chan struct{}, 16), ready: make(chan struct{})}
	c.ctx, c.end = context.WithCancel(s.quit)
	c.stream = newStream(conn, maxRequest)
	c.conn = dial(c.stream, c)
	close(c.ready)
	select {
	case <-c.conn.DisconnectNotify():
	case <-s.quit.Done():
	}
	c.end()
	c.leave()
	c.finish()         // the handler that attached a session gives it back
	_ = c.conn.Close() // it may be closed already
}

// refuse sends the one answer that such a peer gets.
func (s *Server) refuse(conn *net.UnixConn, p Peer) {
	var req jsonrpc2.Request
	method := ""
	_ = conn.SetDeadline(time.Now().Add(refusedTimeout)) // an open socket takes one
	in := newStream(conn, maxRequest)
	err := in.ReadObject(&req)
	if errors.Is(err, io.EOF) {
		s.log.Debug("control: client disconnected without a request", "pid", p.PID, "program", p.Name)
		return // the peer has only checked that the server exists
	}
	if err == nil {
		method = req.Method
		answer := jsonrpc2.Response{ID: req.ID,
			Error: &jsonrpc2.Error{Code: CodeRefused, Message: "refused: " + p.Problem +
				"; agents may not use this socket"}}
		_ = in.WriteObject(&answer) // the peer may have gone
	}
	s.mu.Lock()
	s.refused++
	n := s.refused
	s.mu.Unlock()
	if n <= refusals {
		s.log.Warn("control: refused", "pid", p.PID, "program", p.Name, "agent", p.Agent, "why", p.Problem, "method",
			method)
	}
	s.service.Refused(p, method)
}

// client is one connection of a peer that may send requests.
type client struct {
	s        *Server
	peer     Peer
	conn     *jsonrpc2.Conn
	stream   *stream         // of conn
	ready    chan struct{}   // closed when conn is set: NewConn reads before it returns
	ctx      context.Context // of all work for the client
	end      context.CancelFunc
	requests chan struct{} // those served at a time
	work     sync.WaitGroup
	put      chan struct{} // closed after the last command; only the goroutine that reads uses it

	mu         sync.Mutex
	over       bool // no more work may be started
	busy       bool // an attachment is open, or being opened
	attached   Attachment
	subscribed bool
}

// Handle implements jsonrpc2.Handler, on the goroutine that reads: typed input is handled in its order, and
// a client that types faster than the input is read is slowed down.
func (c *client) Handle(_ context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	<-c.ready
	do := methods[req.Method]
	switch {
	case do == nil:
		c.answer(req, nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound,
			Message: fmt.Sprintf("unknown method %.100q", req.Method)})
		return
	case req.Method == MethodWrite || req.Method == MethodResize: // on this goroutine, so that they keep their order
		result, err := do(c, req)
		c.answer(req, result, err)
		return
	case req.Notif:
		return
	}
	select {
	case c.requests <- struct{}{}:
	default:
		c.answer(req, nil, &jsonrpc2.Error{Code: CodeBusy, Message: "too many requests at once"})
		return
	}
	before, done := c.put, make(chan struct{})
	if req.Method == MethodPut {
		c.put = done
	}
	started := c.start(func() {
		defer func() { <-c.requests }()
		defer close(done)
		if req.Method == MethodPut && before != nil {
			<-before // commands keep their order, but a halt does not wait behind one that has no answer yet
		}
		result, err := do(c, req)
		if a, ok := result.(*attached); ok && err == nil {
			c.answer(req, a.AttachResult, nil)
			c.copyOutput(a.Attachment) // its output must follow the answer
			return
		}
		if p, ok := result.(SubscribeParams); ok && err == nil {
			c.answer(req, Head{V: Version}, nil)
			c.s.service.Subscribe(c.ctx, p, c.notify)
			return
		}
		c.answer(req, result, err)
	})
	if !started {
		<-c.requests
	}
}

// start starts work for the client. It returns false if the connection is over, because no one would wait for the
// result.
func (c *client) start(work func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.work.Go(work)
	return true
}

// finish waits for all work. No more is started.
func (c *client) finish() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.work.Wait()
}

// attached is the result of attach, together with the attachment.
type attached struct {
	AttachResult
	Attachment
}

// method carries out a request of a client.
type method func(*client, *jsonrpc2.Request) (any, error)

// methods are what a client may request.
var methods = map[string]method{
	MethodStatus: func(c *client, _ *jsonrpc2.Request) (any, error) {
		return StatusResult[any]{Head{V: Version}, c.s.service.Status()}, nil
	},
	MethodCommand: with(func(c *client, p CommandParams) (any, error) {
		r, err := c.s.service.Command(c.ctx, p.Command)
		r.V = Version
		return r, err
	}),
	MethodAttach: with(func(c *client, p AttachParams) (any, error) { return c.attach(p) }),
	MethodWrite: with(func(c *client, d Data) (any, error) {
		a, err := c.opened()
		if err == nil {
			err = a.Write(c.ctx, d.Data)
		}
		return done(err)
	}),
	MethodResize: with(func(c *client, s Size) (any, error) {
		a, err := c.opened()
		if err == nil {
			err = s.check()
		}
		if err == nil {
			err = a.Resize(c.ctx, s)
		}
		return done(err)
	}),
	MethodDetach: func(c *client, _ *jsonrpc2.Request) (any, error) {
		c.leave()
		return done(nil)
	},
	MethodState: func(c *client, _ *jsonrpc2.Request) (any, error) {
		r, err := c.s.service.State()
		r.V = Version
		return r, err
	},
	MethodSubscribe: with(func(c *client, p SubscribeParams) (any, error) { return p, c.subscribe() }),
	MethodPut:       with(func(c *client, p PutParams) (any, error) { return done(c.s.service.Put(c.ctx, p)) }),
	MethodStop:      with(func(c *client, p StopParams) (any, error) { return done(c.s.service.Stop(c.ctx, p)) }),
	MethodNoInput: func(c *client, _ *jsonrpc2.Request) (any, error) {
		return done(c.s.service.InputEnded(c.ctx))
	},
	MethodHalt: func(c *client, req *jsonrpc2.Request) (any, error) {
		var p HaltParams
		if req.Params != nil {
			if err := params(req, &p); err != nil {
				return nil, err
			}
		}
		r := c.s.service.Halt(c.s.quit, p) // a halt that has begun is not cancelled with its caller
		r.V = Version
		return r, nil
	},
}

// with returns a method that reads its params.
func with[P any](do func(*client, P) (any, error)) method {
	return func(c *client, req *jsonrpc2.Request) (any, error) {
		var p P
		if err := params(req, &p); err != nil {
			return nil, err
		}
		return do(c, p)
	}
}

// done is the result of a method that has none.
func done(err error) (any, error) { return Head{V: Version}, err }

func params(req *jsonrpc2.Request, to any) error {
	if req.Params == nil {
		return badParams("it has no params")
	}
	if err := json.Unmarshal(*req.Params, to); err != nil {
		return badParams(err.Error())
	}
	return nil
}

func (c *client) answer(req *jsonrpc2.Request, result any, err error) {
	if req.Notif {
		return
	}
	r := &jsonrpc2.Response{ID: req.ID}
	if err == nil {
		err = r.SetResult(result)
	}
	if err != nil {
		var wire *jsonrpc2.Error
		var unopen *OpenError
		switch {
		case errors.As(err, &wire):
		case errors.As(err, &unopen):
			wire = &jsonrpc2.Error{Code: CodeUnopen, Message: unopen.Error()}
		default:
			wire = &jsonrpc2.Error{Code: CodeFailed, Message: err.Error()}
		}
		r.Error = wire
	}
	if err := c.conn.SendResponse(c.ctx, r); err != nil {
		c.s.log.Debug("control", "answer", req.Method, "error", err)
	}
}
