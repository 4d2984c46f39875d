package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hooksocket"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// TestHookAgents: an agent is found by its session while it belongs to the run.
func TestHookAgents(t *testing.T) {
	state := &supervisor.State{
		Options: supervisor.Options{ContextWarn: 60, ContextCritical: 80},
		RosterState: supervisor.RosterState{Agents: []*supervisor.Agent{
			{
				AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3}, Role: supervisor.RoleArbiter, SessionID: "a"},
				AgentProcess:  supervisor.AgentProcess{Status: supervisor.Ready},
				AgentContext:  supervisor.AgentContext{Context: bridge.Context{Window: 300_000}, NotifiedLevel: "warn"},
			},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Role: supervisor.RoleOrchestrator, SessionID: "b"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.Ended}},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-2", Generation: 1}, Role: supervisor.RoleOrchestrator, SessionID: "c"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.Parked}},
			{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-3", Generation: 1}, Role: supervisor.RoleOrchestrator}, AgentProcess: supervisor.AgentProcess{Status: supervisor.Starting}},
		}},
	}
	want := hooksocket.Agent{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 3}, Session: "a", Window: 300_000, Spent: "warn",
		Policy: hooks.Policy{Role: hooks.RoleArbiter, Warn: 60, Critical: 80, KeepContext: true}}
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
