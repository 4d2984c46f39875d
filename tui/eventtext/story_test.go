package eventtext

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestStory: a run is shown with its times, without arbiter's internal events; calls come before their
// consequences.
func TestStory(t *testing.T) {
	at := time.Date(2026, 1, 31, 23, 59, 58, 0, time.UTC)
	var s Story
	var got strings.Builder
	emit := func(id string, b contract.Body) {
		got.WriteString(s.Text(at, contract.Event{ID: id, Body: b}))
		at = at.Add(time.Second)
	}
	emit("supervisor", contract.Session{CWD: "/loom", ClaudeVersion: "2.1.329", Permissions: "ask"})
	emit("orch-1", contract.Message{From: "arbiter", To: "orch-1", Kind: "brief",
		Text: "Mend it." + contract.BriefCompany + "\n\nOthers work here."})
	emit("orch-1", contract.Delivered{MessageID: "m1"})
	emit("orch-1", contract.ToolUse{Tool: "Read", Input: []byte(`{"file_path":"/loom/a.go"}`)})
	emit("orch-1", contract.ToolUse{Tool: "mcp__arbiter__update_plan", Input: []byte(`{"index":1}`)})
	for range 7 {
		emit("orch-1", contract.ToolUse{Tool: "Bash", Input: []byte(`{"command":"go test ./..."}`)})
	}
	emit("orch-1", contract.ToolUse{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Subagent: "s1"})
	emit("orch-1", contract.Retry{Attempt: 1, DelayMS: 1000, Reason: "overloaded"})
	emit("orch-1", contract.Retry{Attempt: 2, DelayMS: 2000, Reason: "overloaded"})
	emit("orch-1", contract.Check{Number: 1, Of: 1,
		Receipt: verdict.Receipt{Command: "go vet", Result: "failed", Exit: 1}})
	emit("arbiter", contract.Plan{Steps: []contract.Step{{Text: "Mend", Status: "active"}}})
	emit("arbiter", contract.Plan{Steps: []contract.Step{{Text: "Mend", Status: "done"}}})
	emit("arbiter", contract.Decision{Decision: verdict.Continue, Reason: "It holds"})
	emit("orch-1", contract.ToolUse{Tool: "Bash", Input: []byte(`{"command":"ls"}`)})
	emit("orch-1", contract.Turn{Outcome: "done"})
	want := `— 31 January 2026 —
23:59:58  The weaving begins. Claude Code 2.1.329, in /loom. Permissions: ask.
23:59:59  The Arbiter to Orchestrator I, brief: Mend it.
— 1 February 2026 —
00:00:11  Orchestrator I used
            - Read: a.go
            - Bash: go test ./...
            - Bash: go test ./...
            - Bash: go test ./...
            - Bash: go test ./...
            - Bash: go test ./...
            - and 2 more calls
          Patience. The API is asked again after 1 s, attempt 1: overloaded.
00:00:13  Check 1 of 1, failed with exit code 1: go vet
00:00:14  The plan: 0 of 1 step done; now: Mend.
            1. Mend
00:00:15  Step 1, Mend: done.
00:00:16  The Arbiter decides: The thread continues. Why: It holds.
00:00:18  Orchestrator I used Bash: ls
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestStoryNamesHosts: an agent on another host is shown with the host's name, until it moves.
func TestStoryNamesHosts(t *testing.T) {
	var s Story
	for _, tt := range []struct{ host, want string }{{"box", "Orchestrator II @box"}, {"", "Orchestrator II "}} {
		s.Text(time.Time{}, contract.Event{ID: "orch-2", Body: contract.Spawn{Name: "Orchestrator II", Host: tt.host}})
		got := s.Text(time.Time{}, contract.Event{ID: "orch-2", Body: contract.Question{Text: "Which?"}})
		if !strings.Contains(got, tt.want) || tt.host == "" && strings.Contains(got, "@") {
			t.Errorf("on host %q: %s", tt.host, got)
		}
	}
}
