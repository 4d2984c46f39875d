package runhost

import (
	"os"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hooksocket"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// openHooks serves `arbiter hook` for this run. Without a socket the sessions that
// persons open go unwarned, and the run continues.
func (r *runtimeRun) openHooks() {
	var err error
	if r.hooks, err = hooksocket.Serve(r.journal.Dir(), r.hookService(), r.log); err != nil {
		r.log.Warn("hooks", "error", err)
	}
}

func (r *runtimeRun) closeHooks() {
	if r.hooks == nil {
		return
	}
	if err := r.hooks.Close(); err != nil {
		r.log.Warn("hooks", "error", err)
	}
	r.hooks = nil
}

// hookService has a run speak for itself: agents are found in its snapshots, tokens are those
// that it gave out, and the result of an event goes into the loop as if a bridge had seen it.
func (r *runtimeRun) hookService() hooksocket.Service {
	agent := func(session string) (hooksocket.Agent, bool) { return hookAgentOf(r.loop.Snapshot(), session) }
	tell := func(ref bridge.AgentRef, body bridge.EventBody) {
		if body != nil {
			r.loop.Event(bridge.Event{AgentRef: ref, Body: body})
		}
	}
	return hooksocket.Service{
		Agent: agent,
		Token: func(session, secret string) bool {
			a, ok := agent(session)
			return ok && r.tokens.Good(a.AgentRef, secret)
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

// terminalSetup is a supervisor.Setup: hooks that ask this process, and the token they
// show.
func (r *runtimeRun) terminalSetup(a bridge.AgentRef) (settings string, env map[string]string) {
	env = map[string]string{}
	if h := r.terminals.Of(a.ID); h != nil && h.Term() != "" {
		env["TERM"] = h.Term()
	}
	self, err := os.Executable()
	if err != nil || r.hooks == nil || r.onAnotherHost(a.ID) {
		return "", env
	}
	env[hooksocket.TokenEnv] = r.tokens.Issue(a)
	return string(hooks.Settings(hooksocket.CommandLine(self, r.hooks.Path()))), env
}

// hookAgentOf finds whose session it is. A released agent does not count:
// who opens its session again is not to be told to hand off.
func hookAgentOf(s *supervisor.State, session string) (hooksocket.Agent, bool) {
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

// hookSocket is what sessions in terminals ask; "" if there is none.
func (r *runtimeRun) hookSocket() string {
	if r.hooks == nil {
		return ""
	}
	return r.hooks.Path()
}
