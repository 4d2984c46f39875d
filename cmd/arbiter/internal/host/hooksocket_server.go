package host

// This part of the package answers the hooks of sessions that a person opened in a terminal: `arbiter hook`
// (package hookclient) asks over a Unix socket. The arbiter that plays the run ([ServeHookSocket]) reads the
// session's context, decides with package hooks, and reports the outcome to its run. It reports each level
// once. A process that an agent started must present its agent's token ([Tokens]).
//
// A [HookSocketServer] owns the goroutine that accepts connections and one for each event; Close waits for them.

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
	"github.com/arbiter-cli/arbiter/hooks"
)

const (
	// HookSocketName is the name of the socket in a run's directory, or of a link to it.
	HookSocketName = "hook.sock"
	// maxRequest bounds what `arbiter hook` sends: names and paths.
	maxRequest = 64 << 10
	// ioTimeout is how long a client may take to send its request, and again to read the answer.
	ioTimeout = time.Second
	// slots bounds the events answered concurrently; further connections wait to be accepted.
	slots = 16
)

// HookSocketService has the functions with which the server reaches the run. They may be called concurrently.
type HookSocketService struct {
	// Agent returns the agent of a session, with its policy.
	Agent func(session string) (HookSocketAgent, bool)
	// Token reports whether secret is the token of the session's agent. A process that an agent started must
	// present it.
	Token func(session, secret string) bool
	// Report is called with the outcome of an event, after it was answered.
	Report func(bridge.AgentRef, HookSocketOutcome)
	// Tokens reads the context size of a session from its transcript (0: none yet), and Written reports whether a
	// transcript has a tool call. If they are nil, the CLI's transcripts are read.
	Tokens  func(transcript string) (int, error)
	Written func(transcript, toolUse string) bool
}

// HookSocketOutcome is the result of an event: a new reading, effects, or both.
type HookSocketOutcome struct {
	Reading hooks.Reading
	Changed bool // the reading differs from the last one
	Effects []hooks.Effect
}

// HookSocketAgent is what an answer depends on, besides the event.
type HookSocketAgent struct {
	bridge.AgentRef
	Session string
	Policy  hooks.Policy
	Window  int    // effective, in tokens; 0: unknown
	Spent   string // the level that was already reported to it in another way
}

// HookSocketServer answers the hooks of sessions that people opened in a terminal. It owns the goroutine that accepts
// connections and one for each event; Close waits for them.
type HookSocketServer struct {
	service  HookSocketService
	log      *slog.Logger
	identify func(*net.UnixConn) control.Peer
	listener *Listener
	quit     chan struct{}
	slots    chan struct{}
	work     sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]spent
}

// spent is what was reported to a session. A new incarnation starts with its own.
type spent struct {
	generation int
	hooks.Spent
	reading hooks.Reading // the last known reading
}

// ServeHookSocket listens in a run's directory. No other process may use the directory at the same time, so an existing
// socket belongs to a dead arbiter.
func ServeHookSocket(dir string, house HookSocketService, log *slog.Logger) (*HookSocketServer, error) {
	return serve(dir, house, control.Identify, log)
}

func serve(
	dir string,
	house HookSocketService,
	identify func(*net.UnixConn) control.Peer,
	log *slog.Logger,
) (*HookSocketServer, error) {
	if house.Tokens == nil {
		house.Tokens, house.Written = tokensOf, written
	}
	listener, err := Listen(dir, HookSocketName)
	if err != nil {
		return nil, fmt.Errorf("socket for hooks: %w", err)
	}
	s := &HookSocketServer{
		service: house, log: log, identify: identify, listener: listener, quit: make(chan struct{}),
		slots: make(chan struct{}, slots), sessions: map[string]spent{},
	}
	s.work.Go(s.accept)
	return s, nil
}

// Close refuses further events, waits for the current ones (each takes two seconds at most) and removes the socket.
func (s *HookSocketServer) Close() error {
	close(s.quit)
	err := s.listener.Close()
	s.work.Wait()
	return err
}

// Path returns the absolute path of the socket.
func (s *HookSocketServer) Path() string {
	if path, err := filepath.Abs(s.listener.Path); err == nil {
		return path
	}
	return s.listener.Path
}

func (s *HookSocketServer) accept() {
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
		case <-time.After(ioTimeout / 10): // perhaps out of descriptors: try again later
			s.log.Warn("hooks", "error", err)
		}
	}
}

// serve answers one event. Errors are only logged: the client has continued without an answer.
func (s *HookSocketServer) serve(conn *net.UnixConn) {
	defer conn.Close()
	in, secret, err := receive(conn)
	if err != nil {
		s.log.Debug("hooks", "error", err)
		return
	}
	if problem := s.mayAsk(conn, in, secret); problem != "" {
		s.log.Warn("hooks: refused", "session", in.SessionID, "event", in.Event, "why", problem)
		_ = writeAnswer(conn, hooks.Answer{})
		return
	}
	agent, ok := s.service.Agent(in.SessionID)
	if !ok { // a session that is not of this run
		_ = writeAnswer(conn, hooks.Answer{})
		return
	}
	d := s.decide(agent, in, s.read(in, agent))
	if err := writeAnswer(conn, d.answer); err != nil {
		s.log.Debug("hooks", "event", in.Event, "session", in.SessionID, "error", err)
		s.giveBack(agent, d)
		return
	}
	conn.Close() // the session continues; Report may take longer
	if d.Changed || len(d.Effects) > 0 {
		s.service.Report(agent.AgentRef, d.HookSocketOutcome)
	}
}

func receive(conn *net.UnixConn) (in hooks.Input, secret string, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(ioTimeout)); err != nil {
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

func writeAnswer(conn *net.UnixConn, a hooks.Answer) error {
	if err := conn.SetWriteDeadline(time.Now().Add(ioTimeout)); err != nil {
		return err
	}
	_, err := conn.Write(a.JSON())
	return err
}

// decision is the outcome of an event, and the answer to it.
type decision struct {
	HookSocketOutcome
	answer        hooks.Answer
	before, after spent
}

// decide answers one event at a time: the tool calls of one message end concurrently.
func (s *HookSocketServer) decide(agent HookSocketAgent, in hooks.Input, r hooks.Reading) (d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.before = s.present(agent)
	d.after = d.before
	d.answer, d.after.Spent, d.Effects = hooks.Decide(agent.Policy, in, r, d.before.Spent)
	if slices.ContainsFunc(d.Effects, func(e hooks.Effect) bool { _, ok := e.(hooks.Compacted); return ok }) {
		d.after.reading = hooks.Reading{}
	}
	if d.Changed = r.Tokens > 0 && r != d.before.reading; d.Changed {
		d.after.reading = r
	}
	d.Reading = d.after.reading
	s.sessions[agent.Session] = d.after
	return d
}

// present returns what was reported to a session so far. The caller holds the lock.
func (s *HookSocketServer) present(agent HookSocketAgent) spent {
	reported, ok := s.sessions[agent.Session]
	if !ok || reported.generation != agent.Generation {
		return spent{generation: agent.Generation, Spent: hooks.SpentLevel(agent.Spent)}
	}
	return reported
}

// giveBack undoes what decide marked as reported, if the answer could not be delivered. Another event may have been
// answered in the meantime; it did not report the same.
func (s *HookSocketServer) giveBack(agent HookSocketAgent, d decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reported := s.sessions[agent.Session]
	if reported.generation != d.after.generation {
		return
	}
	if reported.Level == d.after.Level && reported.Pct == d.after.Pct {
		reported.Level, reported.Pct = d.before.Level, d.before.Pct
	}
	reported.Owed = reported.Owed || d.before.Owed && !d.after.Owed
	s.sessions[agent.Session] = reported
}
