package runhost

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hooksocket"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestHookAgents: an agent is found by its session while it belongs to the run.
func TestHookAgents(t *testing.T) {
	state := &supervisor.State{
		Options: runconfig.Options{ContextWarn: 60, ContextCritical: 80},
		Roster: roster.Roster{Agents: []*roster.Agent{
			{
				AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3},
					Role: roster.RoleArbiter, SessionID: "a"},
				AgentProcess: roster.AgentProcess{Status: roster.Ready},
				AgentContext: roster.AgentContext{Context: bridge.Context{Window: 300_000}, NotifiedLevel: "warn"},
			},
			{AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1},
				Role: roster.RoleOrchestrator, SessionID: "b"},
				AgentProcess: roster.AgentProcess{Status: roster.Ended}},
			{AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-2", Generation: 1},
				Role: roster.RoleOrchestrator, SessionID: "c"},
				AgentProcess: roster.AgentProcess{Status: roster.Parked}},
			{AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-3", Generation: 1},
				Role: roster.RoleOrchestrator}, AgentProcess: roster.AgentProcess{Status: roster.Starting}},
		}},
	}
	want := hooksocket.Agent{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3}, Session: "a", Window: 300_000,
		Spent: "warn", Policy: hooks.Policy{Role: hooks.RoleArbiter, Warn: 60, Critical: 80, KeepContext: true}}
	got, ok := hookAgentOf(state, "a")
	if !strings.Contains(got.Policy.Reminder, "You are the Arbiter") {
		t.Errorf("its reminder: %q", got.Policy.Reminder)
	}
	want.Policy.Reminder = got.Policy.Reminder
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for session, want := range map[string]string{"b": "", "c": "orch-2", "d": "", "": ""} {
		if got, ok := hookAgentOf(state, session); got.ID != want || ok != (want != "") {
			t.Errorf("session %q: %+v, %v", session, got, ok)
		}
	}
}
