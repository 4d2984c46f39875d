package runhooks

import (
	"log/slog"
	"os"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hooksocket"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/terminals"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// Loop is the part of a run's loop that the service needs. *runloop.Loop implements it.
type Loop interface {
	Event(bridge.Event)
	Snapshot() *supervisor.State
}

// Service serves the hooks of sessions that people open. Create one with [Serve].
type Service struct {
	loop      Loop
	terminals *terminals.Terminals
	log       *slog.Logger
	tokens    hooksocket.Tokens
	server    *hooksocket.Server // nil without a socket
}

// Serve listens in the directory of a run. If it cannot listen, it logs that; the sessions then get no warnings,
// and the run continues. The caller closes the service when the loop has ended.
func Serve(dir string, loop Loop, t *terminals.Terminals, log *slog.Logger) *Service {
	s := &Service{loop: loop, terminals: t, log: log}
	var err error
	if s.server, err = hooksocket.Serve(dir, s.answers(), log); err != nil {
		s.server = nil
		log.Warn("hooks", "error", err)
	}
	return s
}

// Close ends the service. It may be called more than once. It does nothing on a nil service.
func (s *Service) Close() {
	if s == nil || s.server == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		s.log.Warn("hooks", "error", err)
	}
	s.server = nil
}

// Path returns the socket for sessions in terminals; "" if there is none.
func (s *Service) Path() string {
	if s.server == nil {
		return ""
	}
	return s.server.Path()
}

// Setup is a runloop.Setup: it returns hooks that ask this process, and the token that they present.
func (s *Service) Setup(a bridge.AgentRef) (settings string, env map[string]string) {
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

func (s *Service) onAnotherHost(id string) bool {
	a, _ := s.loop.Snapshot().Agent(id)
	return a.Host != supervisor.LifecycleHere
}

// answers returns the functions for the server: they find agents in the run's snapshots, and check the tokens of
// this service.
func (s *Service) answers() hooksocket.Service {
	agent := func(session string) (hooksocket.Agent, bool) { return agentOf(s.loop.Snapshot(), session) }
	emit := func(ref bridge.AgentRef, body bridge.EventBody) {
		if body != nil {
			s.loop.Event(bridge.Event{AgentRef: ref, Body: body})
		}
	}
	return hooksocket.Service{
		Agent: agent,
		Token: func(session, secret string) bool {
			a, ok := agent(session)
			return ok && s.tokens.Good(a.AgentRef, secret)
		},
		Report: func(ref bridge.AgentRef, o hooksocket.Outcome) {
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
func agentOf(s *supervisor.State, session string) (hooksocket.Agent, bool) {
	for i := range s.Agents {
		a := s.Agents[i]
		if session == "" || a.SessionID != session || a.Status == supervisor.AgentEnded ||
			a.Status == supervisor.AgentStopping {
			continue
		}
		c := s.Configuration().Hooks(a)
		return hooksocket.Agent{
			AgentRef: a.AgentRef, Session: session, Window: a.Context.Window, Spent: c.Spent,
			Policy: claude.HookPolicy(c),
		}, true
	}
	return hooksocket.Agent{}, false
}
