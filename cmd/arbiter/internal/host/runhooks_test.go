package host

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestHookAgents: an agent is found by its session as long as it belongs to the run.
func TestHookAgents(t *testing.T) {
	state := &supervisor.State{
		Options: runconfig.Options{ContextWarn: 60, ContextCritical: 80},
		Roster: supervisor.Roster{Agents: []*supervisor.Agent{
			{
				AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3},
					Role: supervisor.RoleArbiter, SessionID: "a"},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentReady},
				AgentContext: supervisor.AgentContext{Context: bridge.Context{Window: 300_000}, NotifiedLevel: "warn"},
			},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1},
				Role: supervisor.RoleOrchestrator, SessionID: "b"},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentEnded}},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-2", Generation: 1},
				Role: supervisor.RoleOrchestrator, SessionID: "c"},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentParked}},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-3", Generation: 1},
				Role: supervisor.RoleOrchestrator}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentStarting}},
		}},
	}
	want := hookedAgent{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3}, Session: "a", Window: 300_000,
		Spent: "warn", Policy: hooks.Policy{Role: hooks.RoleArbiter, Warn: 60, Critical: 80, KeepContext: true}}
	got, ok := agentOf(state, "a")
	testkit.Includes(t, "its reminder", got.Policy.Reminder, "You are the Arbiter")
	want.Policy.Reminder = got.Policy.Reminder
	diff := cmp.Diff(want, got)
	testkit.Check(t, ok && diff == "", "(-want +got):\n%s", diff)
	for session, want := range map[string]string{"b": "", "c": "orch-2", "d": "", "": ""} {
		got, ok := agentOf(state, session)
		testkit.Check(t, got.ID == want && ok == (want != ""), "session %q: %+v, %v", session, got, ok)
	}
}

// TestSetup: a session in a terminal on this machine gets hooks and a token. Every session gets the TERM of its
// terminal.
func TestSetup(t *testing.T) {
	l := newLoop()
	for id, host := range map[string]string{"orch-1": "", "orch-2": "box"} {
		a := &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 1},
			SessionID: "s-" + id}}
		a.Host = host
		l.state.Agents = append(l.state.Agents, a)
	}
	shown := &Terminals{}
	for _, id := range []string{"orch-1", "orch-2"} {
		testkit.OK(t, testkit.Err(shown.Claim(id, "ann", control.Size{}, "xterm")))
	}
	dir, err := os.MkdirTemp("", "hooks") // a socket's path must be short
	testkit.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := ServeHooks(dir, l, shown, slog.New(slog.DiscardHandler))
	defer s.Close()
	here, env := s.Setup(bridge.AgentRef{ID: "orch-1", Generation: 1})
	testkit.Check(t, strings.Contains(here, s.Path()) && env["TERM"] == "xterm", "here: %s, %v", here, env)
	first, second := bridge.AgentRef{ID: "orch-1", Generation: 1}, bridge.AgentRef{ID: "orch-2", Generation: 1}
	token := env[hookclient.TokenEnv]
	testkit.Check(t, s.tokens.Good(first, token) && !s.tokens.Good(second, token) && !s.tokens.Good(first, ""),
		"the token is that of the agent, and of no other")
	there, env := s.Setup(second)
	testkit.Check(t, there == "" && len(env) == 1 && env["TERM"] == "xterm", "on another host: %q, %v", there, env)
	s.report(first, decision{changed: true, after: spent{reading: hooks.Reading{Tokens: 7, Window: 10, Pct: 70}}})
	if len(l.events) != 1 || l.events[0].Body != (bridge.Context{Tokens: 7, Window: 10, Pct: 70, Source: "transcript"}) {
		t.Errorf("reported: %+v", l.events)
	}
	s.Close()
	text, env := s.Setup(first)
	testkit.Check(t, text == "" && env["TERM"] == "xterm" && s.Path() == "", "without a socket: %q, %v, %q", text, env,
		s.Path())
}
