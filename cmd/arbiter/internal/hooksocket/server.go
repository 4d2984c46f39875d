package hooksocket

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/socket"
	"github.com/arbiter-cli/arbiter/hooks"
)

const (
	// Name is the socket in a run's directory, or a link to it.
	Name = "hook.sock"
	// maxRequest bounds what `arbiter hook` sends: names and paths.
	maxRequest = 64 << 10
	// patience is how long a client gets to speak, and again to listen.
	patience = time.Second
	// slots bounds the events answered at once; more wait to be accepted.
	slots = 16
)

// Service is whom the server speaks for. Its functions may be called by several
// goroutines.
type Service struct {
	// Agent finds the agent whose session it is, with its policy.
	Agent func(session string) (Agent, bool)
	// Token reports whether it is the token of the agent whose session it is. A process that
	// an agent started has to show it.
	Token func(session, secret string) bool
	// Report is called with the outcome of an event, after it was answered.
	Report func(bridge.AgentRef, Outcome)
	// Tokens reads the context of a session from its transcript, 0: nothing there yet;
	// Written reports whether a transcript holds a tool call yet. Nil: the CLI's are read.
	Tokens  func(transcript string) (int, error)
	Written func(transcript, toolUse string) bool
}

// Outcome is the result of an event: a new reading, effects, or both.
type Outcome struct {
	Reading hooks.Reading
	News    bool // the reading is another than the last
	Effects []hooks.Effect
}

// Agent is what an answer depends on beside the event.
type Agent struct {
	bridge.AgentRef
	Session string
	Policy  hooks.Policy
	Window  int    // effective, in tokens; 0: not known
	Spent   string // the level that it was told by others
}

// Server answers the hooks of sessions that persons opened in a terminal. It owns
// the goroutine that accepts and one for each event, and Close waits for them.
type Server struct {
	service  Service
	log      *slog.Logger
	identify func(*net.UnixConn) control.Peer
	listener *socket.Listener
	quit     chan struct{}
	slots    chan struct{}
	work     sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]spent
}

// spent is what a session was told. A new incarnation brings its own.
type spent struct {
	generation int
	hooks.Spent
	reading hooks.Reading // the last that was known
}

// Serve listens in a run's directory, which nobody else may use meanwhile: a
// socket that lies there is a dead arbiter's.
func Serve(dir string, house Service, log *slog.Logger) (*Server, error) {
	return serve(dir, house, control.Identify, log)
}

func serve(dir string, house Service, identify func(*net.UnixConn) control.Peer, log *slog.Logger) (*Server, error) {
	if house.Tokens == nil {
		house.Tokens, house.Written = tokensOf, written
	}
	listener, err := socket.Listen(dir, Name)
	if err != nil {
		return nil, fmt.Errorf("socket for hooks: %w", err)
	}
	s := &Server{
		service: house, log: log, identify: identify, listener: listener, quit: make(chan struct{}),
		slots: make(chan struct{}, slots), sessions: map[string]spent{},
	}
	s.work.Go(s.accept)
	return s, nil
}

// Close refuses further events, waits for those at hand – each takes two seconds at
// most – and removes the socket.
func (s *Server) Close() error {
	close(s.quit)
	err := s.listener.Close()
	s.work.Wait()
	return err
}

// Path is where it listens, absolute.
func (s *Server) Path() string {
	if path, err := filepath.Abs(s.listener.Path); err == nil {
		return path
	}
	return s.listener.Path
}

func (s *Server) accept() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.quit:
			return
		}
		conn, err := s.listener.AcceptUnix()
		if err == nil {
			s.work.Go(func() {
				defer func() { <-s.slots }()
				s.serve(conn)
			})
			continue
		}
		<-s.slots
		select {
		case <-s.quit:
			return
		case <-time.After(patience / 10): // out of descriptors, perhaps: they come back
			s.log.Warn("hooks", "error", err)
		}
	}
}

// serve answers one event. What goes wrong concerns a client that has gone on
// without us.
func (s *Server) serve(conn *net.UnixConn) {
	defer conn.Close()
	in, secret, err := receive(conn)
	if err != nil {
		s.log.Debug("hooks", "error", err)
		return
	}
	if trouble := s.mayAsk(conn, in, secret); trouble != "" {
		s.log.Warn("hooks: refused", "session", in.SessionID, "event", in.Event, "why", trouble)
		_ = say(conn, hooks.Answer{})
		return
	}
	agent, ok := s.service.Agent(in.SessionID)
	if !ok { // somebody else's session
		_ = say(conn, hooks.Answer{})
		return
	}
	d := s.decide(agent, in, s.read(in, agent))
	if err := say(conn, d.answer); err != nil {
		s.log.Debug("hooks", "event", in.Event, "session", in.SessionID, "error", err)
		s.giveBack(agent, d)
		return
	}
	conn.Close() // the session continues; the loop may take its time
	if d.News || len(d.Effects) > 0 {
		s.service.Report(agent.AgentRef, d.Outcome)
	}
}

func receive(conn *net.UnixConn) (in hooks.Input, secret string, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return in, "", err
	}
	raw, err := io.ReadAll(io.LimitReader(conn, maxRequest+1))
	if err != nil {
		return in, "", fmt.Errorf("read request: %w", err)
	}
	if len(raw) > maxRequest {
		return in, "", fmt.Errorf("the request is larger than %d bytes", maxRequest)
	}
	in, err = hooks.Parse(raw)
	return in, tokenOf(raw), err
}

func say(conn *net.UnixConn, a hooks.Answer) error {
	if err := conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := conn.Write(a.JSON())
	return err
}

// decision is the result of an event, and what is said to it.
type decision struct {
	Outcome
	answer        hooks.Answer
	before, after spent
}

// decide answers an event, one at a time: the calls of one message end side by side.
func (s *Server) decide(agent Agent, in hooks.Input, r hooks.Reading) (d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.before = s.present(agent)
	d.after = d.before
	d.answer, d.after.Spent, d.Effects = hooks.Decide(agent.Policy, in, r, d.before.Spent)
	if slices.ContainsFunc(d.Effects, func(e hooks.Effect) bool { _, ok := e.(hooks.Compacted); return ok }) {
		d.after.reading = hooks.Reading{}
	}
	if d.News = r.Tokens > 0 && r != d.before.reading; d.News {
		d.after.reading = r
	}
	d.Reading = d.after.reading
	s.sessions[agent.Session] = d.after
	return d
}

// present is what a session was told so far. Call with the lock held.
func (s *Server) present(agent Agent) spent {
	told, ok := s.sessions[agent.Session]
	if !ok || told.generation != agent.Generation {
		return spent{generation: agent.Generation, Spent: hooks.SpentLevel(agent.Spent)}
	}
	return told
}

// giveBack takes back what an answer spent that could not be given. Another event
// may have been answered meanwhile: it did not tell the same.
func (s *Server) giveBack(agent Agent, d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.sessions[agent.Session]
	if told.generation != d.after.generation {
		return
	}
	if told.Level == d.after.Level && told.Pct == d.after.Pct {
		told.Level, told.Pct = d.before.Level, d.before.Pct
	}
	told.Owed = told.Owed || d.before.Owed && !d.after.Owed
	s.sessions[agent.Session] = told
}
