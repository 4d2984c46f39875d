package supervisor

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestCovered: a rule settles the requests with which it was offered, of any agent.
func TestCovered(t *testing.T) {
	ask := func(id, agent string, offered ...string) input.PermissionRequest {
		return input.PermissionRequest{ID: id, Suggestions: offered, Params: bridge.PermissionParams{
			AgentRef: bridge.AgentRef{ID: agent, Generation: 1}, Request: id, Tool: "Bash",
		}}
	}
	s := &State{}
	s.Permission.Open = []input.PermissionRequest{ask("header", "orch-1", "Bash(go test *)"),
		ask(
			"writer",
			"orch-2",
			"Bash(go test ./writer)",
			"Bash(go test *)",
		), ask("both", "orch-2", "Bash(go test *), Bash(rm *)"),
		ask("sensitive", "orch-1")}
	s.Permission.Unclaimed = []input.PermissionRequest{ask("old", "orch-3", "Bash(go test *)")}
	for rule, want := range map[string][]string{
		"Bash(go test *)": {"header", "writer", "old"}, "Bash(go test ./writer)": {"writer"}, "Bash": nil, "": nil,
	} {
		if got := Covered(s, rule); !slices.Equal(got, want) {
			t.Errorf("%s settles %v, want %v", rule, got, want)
		}
	}
	if Covered(nil, "Bash") != nil {
		t.Error("no run has requests")
	}
}
