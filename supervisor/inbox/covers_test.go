package inbox

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
)

// TestCovered: a rule settles the requests that it covers, of any agent, but none that a deny or an ask rule
// may be about.
func TestCovered(t *testing.T) {
	home := t.TempDir()
	ask := func(id, agent, tool, in string) permission.Request {
		return permission.Request{ID: id, Params: bridge.PermissionParams{
			AgentRef: bridge.AgentRef{ID: agent, Generation: 1}, Request: id, Tool: tool, Input: []byte(in),
		}}
	}
	s := &supervisor.State{}
	s.Options.CWD = t.TempDir()
	s.Permission.Open = []permission.Request{
		ask("header", "orch-1", "Bash", `{"command":"go test ./header"}`),
		ask("writer", "orch-2", "Bash", `{"command":"go test ./writer"}`),
		ask("both", "orch-2", "Bash", `{"command":"go test ./writer && rm -rf build"}`),
		ask("asked", "orch-1", "Bash", `{"command":"go test ./asked"}`),
		ask("denied", "orch-1", "Bash", `{"command":"go test ./denied"}`),
		ask("note", "orch-1", "Edit", `{"file_path":"`+home+`/notes/a.md","old_string":"a","new_string":"b"}`),
	}
	s.Permission.Unclaimed = []permission.Request{ask("old", "orch-3", "Bash", `{"command":"go test -race ./..."}`)}
	s.Options.Ask, s.Options.Deny = []string{"Bash(go test ./asked)"}, []string{"Bash(go test ./denied)"}
	for rule, want := range map[string][]string{
		"Bash(go test ./header)": {"header"},
		"Bash(go test *)":        {"header", "writer", "old"},
		"Edit(~/notes/**)":       {"note"},
		"Read(~/notes/**)":       nil,
		"Bash(go test":           nil,
	} {
		if got := Covered(s, rule, home); !slices.Equal(got, want) {
			t.Errorf("%s settles %v, want %v", rule, got, want)
		}
	}
	if Covered(nil, "Bash", home) != nil {
		t.Error("no run has requests")
	}
}
