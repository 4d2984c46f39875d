package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/hooks"
)

const (
	// hookSocketName is the socket in a run's directory, or a link to it.
	hookSocketName = "hook.sock"
	// maxHookRequest bounds what `arbiter hook` sends: names and paths.
	maxHookRequest = 64 << 10
	// hookPatience is how long a client gets to speak, and again to listen.
	hookPatience = time.Second
	// hookSlots bounds the events answered at once; more wait to be accepted.
	hookSlots = 16
)

// hookHouse is whom the server speaks for. Its functions may be called by several
// goroutines.
type hookHouse struct {
	// Agent finds the agent whose session it is, with its policy.
	Agent func(session string) (hookAgent, bool)
	// Tokens reads the context of a session from its transcript; 0: nothing there yet.
	Tokens func(transcript string) (int, error)
	// Written says whether a transcript holds a tool call yet.
	Written func(transcript, toolUse string) bool
	// Token says whether it is the token of the agent whose session it is. A process that
	// an agent started has to show it.
	Token func(session, secret string) bool
	// Report is told what came of an event, after it was answered: a new reading,
	// effects, or both.
	Report func(bridge.AgentRef, hookDecision)
}

// hookAgent is what an answer depends on beside the event.
type hookAgent struct {
	bridge.AgentRef
	Session string
	Policy  hooks.Policy
	Window  int    // effective, in tokens; 0: not known
	Spent   string // the level that it was told by others
}

// hookServer answers the hooks of sessions that persons opened in a terminal. It owns
// the goroutine that accepts and one for each event, and Close waits for them.
type hookServer struct {
	house    hookHouse
	log      *slog.Logger
	identify func(*net.UnixConn) control.Peer
	place    *hookPlace
	listener *net.UnixListener
	quit     chan struct{}
	slots    chan struct{}
	work     sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]hookSpent
}

// hookSpent is what a session was told. A new incarnation brings its own.
type hookSpent struct {
	generation int
	hooks.Spent
	reading hooks.Reading // the last that was known
}

// serveHooks listens in a run's directory, which nobody else may use meanwhile: a
// socket that lies there is a dead arbiter's.
func serveHooks(dir string, house hookHouse, log *slog.Logger) (*hookServer, error) {
	return serveHooksOf(dir, house, control.Identify, log)
}

func serveHooksOf(dir string, house hookHouse, identify func(*net.UnixConn) control.Peer, log *slog.Logger) (*hookServer, error) {
	place, err := findHookPlace(dir)
	if err != nil {
		return nil, fmt.Errorf("socket for hooks: %w", err)
	}
	listener, err := place.listen()
	if err != nil {
		place.remove()
		return nil, fmt.Errorf("socket for hooks: %w", err)
	}
	s := &hookServer{
		house: house, log: log, identify: identify, place: place, listener: listener, quit: make(chan struct{}),
		slots: make(chan struct{}, hookSlots), sessions: map[string]hookSpent{},
	}
	s.work.Go(s.accept)
	return s, nil
}

// Close refuses further events, waits for those at hand – each takes two seconds at
// most – and removes the socket.
func (s *hookServer) Close() error {
	close(s.quit)
	err := s.listener.Close()
	s.work.Wait()
	return errors.Join(err, s.place.remove())
}

func (s *hookServer) accept() {
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
		case <-time.After(hookPatience / 10): // out of descriptors, perhaps: they come back
			s.log.Warn("hooks", "error", err)
		}
	}
}

// serve answers one event. What goes wrong concerns a client that has gone on
// without us.
func (s *hookServer) serve(conn *net.UnixConn) {
	defer conn.Close()
	in, secret, err := hearHook(conn)
	if err != nil {
		s.log.Debug("hooks", "error", err)
		return
	}
	if trouble := s.mayAsk(conn, in, secret); trouble != "" {
		s.log.Warn("hooks: refused", "session", in.SessionID, "event", in.Event, "why", trouble)
		_ = sayHook(conn, hooks.Answer{})
		return
	}
	agent, ok := s.house.Agent(in.SessionID)
	if !ok { // somebody else's session
		_ = sayHook(conn, hooks.Answer{})
		return
	}
	d := s.decide(agent, in, s.read(in, agent))
	if err := sayHook(conn, d.answer); err != nil {
		s.log.Debug("hooks", "event", in.Event, "session", in.SessionID, "error", err)
		s.giveBack(agent, d)
		return
	}
	conn.Close() // the session goes on; the loop may take its time
	if d.news || len(d.effects) > 0 {
		s.house.Report(agent.AgentRef, d)
	}
}

func hearHook(conn *net.UnixConn) (in hooks.Input, secret string, err error) {
	if err := conn.SetReadDeadline(time.Now().Add(hookPatience)); err != nil {
		return in, "", err
	}
	raw, err := io.ReadAll(io.LimitReader(conn, maxHookRequest+1))
	if err != nil {
		return in, "", fmt.Errorf("read request: %w", err)
	}
	if len(raw) > maxHookRequest {
		return in, "", fmt.Errorf("the request is larger than %d bytes", maxHookRequest)
	}
	in, err = hooks.Parse(raw)
	return in, tokenOf(raw), err
}

func sayHook(conn *net.UnixConn, a hooks.Answer) error {
	if err := conn.SetWriteDeadline(time.Now().Add(hookPatience)); err != nil {
		return err
	}
	_, err := conn.Write(a.JSON())
	return err
}

// hookDecision is what came of an event.
type hookDecision struct {
	answer        hooks.Answer
	effects       []hooks.Effect
	before, after hookSpent
	news          bool // the reading is another than the last
}

// decide answers an event, one at a time: the calls of one message end side by side.
func (s *hookServer) decide(agent hookAgent, in hooks.Input, r hooks.Reading) (d hookDecision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.before = s.present(agent)
	d.after = d.before
	d.answer, d.after.Spent, d.effects = hooks.Decide(agent.Policy, in, r, d.before.Spent)
	if slices.ContainsFunc(d.effects, func(e hooks.Effect) bool { _, ok := e.(hooks.Compacted); return ok }) {
		d.after.reading = hooks.Reading{}
	}
	if d.news = r.Tokens > 0 && r != d.before.reading; d.news {
		d.after.reading = r
	}
	s.sessions[agent.Session] = d.after
	return d
}

// present is what a session was told so far. Call with the lock held.
func (s *hookServer) present(agent hookAgent) hookSpent {
	told, ok := s.sessions[agent.Session]
	if !ok || told.generation != agent.Generation {
		return hookSpent{generation: agent.Generation, Spent: hooks.SpentLevel(agent.Spent)}
	}
	return told
}

// giveBack takes back what an answer spent that could not be given. Another event
// may have been answered meanwhile: it did not tell the same.
func (s *hookServer) giveBack(agent hookAgent, d hookDecision) {
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
