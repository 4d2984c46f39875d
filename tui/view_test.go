package tui

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
)

// What an agent does is named as everywhere else: without the wrapping of a server.
func TestAgentLine(t *testing.T) {
	for _, tt := range []struct{ doing, want string }{
		{"Bash", "Bash"},
		{"mcp__arbiter__spawn_orchestrator", "spawn_orchestrator"},
		{"mcp__loom__spin", "loom: spin"},
		{"Look for \x1b[31mnames", "Look for names"},
	} {
		a := supervisor.Agent{Role: supervisor.RoleOrchestrator, Status: supervisor.Busy, Doing: tt.doing}
		if got := agentLine(&supervisor.State{}, &a, time.Now()).Doing; got != tt.want {
			t.Errorf("%q is shown as %q, want %q", tt.doing, got, tt.want)
		}
	}
	gone := supervisor.Agent{Role: supervisor.RoleArbiter, Status: supervisor.Ended}
	if !agentLine(&supervisor.State{}, &gone, time.Now()).Past {
		t.Error("an Arbiter that is gone is shown as one that lives")
	}
}
