package host

// This file serves `arbiter hook` for a run: it finds the agent of a session, and passes the reports of hooks
// to the loop as if a bridge had seen them.

import (
	"log/slog"
	"os"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// HooksLoop is the part of a run's loop that the service needs. *runloop.Loop implements it.
type HooksLoop interface {
	Event(bridge.Event)
	Snapshot() *supervisor.State
}

// HooksService serves the hooks of sessions that people open. Create one with [ServeHooks].
type HooksService struct {
	loop      HooksLoop
	terminals *Terminals
	log       *slog.Logger
	tokens    Tokens
	server    *HookSocketServer // nil without a socket
}

// ServeHooks listens in the directory of a run. If it cannot listen, it logs that; the sessions then get no warnings,
// and the run continues. The caller closes the service when the loop has ended.
func ServeHooks(dir string, loop HooksLoop, t *Terminals, log *slog.Logger) *HooksService {
	s := &HooksService{loop: loop, terminals: t, log: log}
	var err error
	if s.server, err = ServeHookSocket(dir, s.answers(), log); err != nil {
		s.server = nil
		log.Warn("hooks", "error", err)
	}
	return s
}

// Close ends the service. It may be called more than once. It does nothing on a nil service.
func (s *HooksService) Close() {
	if s == nil || s.server == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		s.log.Warn("hooks", "error", err)
	}
	s.server = nil
}

// Path returns the socket for sessions in terminals; "" if there is none.
func (s *HooksService) Path() string {
	if s.server == nil {
		return ""
	}
	return s.server.Path()
}

// Setup is a runloop.Setup: it returns hooks that ask this process, and the token that they present.
func (s *HooksService) Setup(a bridge.AgentRef) (settings string, env map[string]string) {
	env = map[string]string{}
	if h := s.terminals.Of(a.ID); h != nil && h.Term() != "" {
		env["TERM"] = h.Term()
	}
	self, err := os.Executable()
	if err != nil || s.server == nil || s.onAnotherHost(a.ID) {
		return "", env
	}
	env[hookclient.TokenEnv] = s.tokens.Issue(a)
	return string(hooks.Settings(hookclient.CommandLine(self, s.server.Path()))), env
}

func (s *HooksService) onAnotherHost(id string) bool {
	a, _ := s.loop.Snapshot().Agent(id)
	return a.Host != supervisor.LifecycleHere
}

// answers returns the functions for the server: they find agents in the run's snapshots, and check the tokens of
// this service.
func (s *HooksService) answers() HookSocketService {
	agent := func(session string) (HookSocketAgent, bool) { return agentOf(s.loop.Snapshot(), session) }
	emit := func(ref bridge.AgentRef, body bridge.EventBody) {
		if body != nil {
			s.loop.Event(bridge.Event{AgentRef: ref, Body: body})
		}
	}
	return HookSocketService{
		Agent: agent,
		Token: func(session, secret string) bool {
			a, ok := agent(session)
			return ok && s.tokens.Good(a.AgentRef, secret)
		},
		Report: func(ref bridge.AgentRef, o HookSocketOutcome) {
			r := o.Reading
			if o.Changed {
				emit(ref, bridge.Context{Tokens: r.Tokens, Window: r.Window, Pct: r.Pct, Source: "transcript"})
			}
			for _, e := range o.Effects {
				emit(ref, claude.HookEvent(e, r))
			}
		},
	}
}

// agentOf finds the agent of a session. It ignores released agents: a person who reopens the session of one gets no
// advice to hand off.
func agentOf(s *supervisor.State, session string) (HookSocketAgent, bool) {
	for i := range s.Agents {
		a := s.Agents[i]
		if session == "" || a.SessionID != session || a.Status == supervisor.AgentEnded ||
			a.Status == supervisor.AgentStopping {
			continue
		}
		c := s.Hooks(a)
		return HookSocketAgent{
			AgentRef: a.AgentRef, Session: session, Window: a.Context.Window, Spent: c.Spent,
			Policy: claude.HookPolicy(c),
		}, true
	}
	return HookSocketAgent{}, false
}
