package runhooks

import (
	"log/slog"
	"os"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hooksocket"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/terminals"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// Loop is what the service needs of a run's loop. *runloop.Loop is one.
type Loop interface {
	Event(bridge.Event)
	Snapshot() *supervisor.State
}

// Service serves the hooks of sessions that persons open. [Serve] makes one.
type Service struct {
	loop      Loop
	terminals *terminals.Terminals
	log       *slog.Logger
	tokens    hooksocket.Tokens
	server    *hooksocket.Server // nil where there is no socket
}

// Serve listens in the directory of a run. Without a socket, which it logs, the sessions go unwarned, and the run
// continues. The caller closes the service when the loop has ended.
func Serve(dir string, loop Loop, t *terminals.Terminals, log *slog.Logger) *Service {
	s := &Service{loop: loop, terminals: t, log: log}
	var err error
	if s.server, err = hooksocket.Serve(dir, s.answers(), log); err != nil {
		s.server = nil
		log.Warn("hooks", "error", err)
	}
	return s
}

// Close ends the service. It may be called again. A nil service has nothing to close.
func (s *Service) Close() {
	if s == nil || s.server == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		s.log.Warn("hooks", "error", err)
	}
	s.server = nil
}

// Path is the socket that sessions in terminals ask; "" if there is none.
func (s *Service) Path() string {
	if s.server == nil {
		return ""
	}
	return s.server.Path()
}

// Setup is a runloop.Setup: hooks that ask this process, and the token that they show.
func (s *Service) Setup(a bridge.AgentRef) (settings string, env map[string]string) {
	env = map[string]string{}
	if h := s.terminals.Of(a.ID); h != nil && h.Term() != "" {
		env["TERM"] = h.Term()
	}
	self, err := os.Executable()
	if err != nil || s.server == nil || s.onAnotherHost(a.ID) {
		return "", env
	}
	env[hooksocket.TokenEnv] = s.tokens.Issue(a)
	return string(hooks.Settings(hooksocket.CommandLine(self, s.server.Path()))), env
}

func (s *Service) onAnotherHost(id string) bool {
	a, _ := s.loop.Snapshot().Agent(id)
	return a.Host != lifecycle.Here
}

// answers is what the server asks the run: agents are found in its snapshots, tokens are those that the service issued.
func (s *Service) answers() hooksocket.Service {
	agent := func(session string) (hooksocket.Agent, bool) { return agentOf(s.loop.Snapshot(), session) }
	tell := func(ref bridge.AgentRef, body bridge.EventBody) {
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
			if o.News {
				tell(ref, bridge.Context{Tokens: r.Tokens, Window: r.Window, Pct: r.Pct, Source: "transcript"})
			}
			for _, e := range o.Effects {
				tell(ref, claude.HookEvent(e, r))
			}
		},
	}
}

// agentOf finds the agent of a session. A released agent does not count: a person who opens its session again gets no
// advice to hand off.
func agentOf(s *supervisor.State, session string) (hooksocket.Agent, bool) {
	for i := range s.Agents {
		a := s.Agents[i]
		if session == "" || a.SessionID != session || a.Status == roster.Ended || a.Status == roster.Stopping {
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
