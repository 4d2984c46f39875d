package main

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// TestFocusInWords: /focus says who the agent is, what its brief is, and what it said and did last, with the
// times.
func TestFocusInWords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	a := &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
		Mode: "developer", Brief: "Mend it.\n\nAll of it."},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy}}
	items := []eventtext.ActivityItem{{At: at, Text: "I begin"}}
	for range maxFocusItems {
		items = append(
			items,
			eventtext.ActivityItem{At: at, Until: at.Add(2 * time.Second), Tool: "Edit", Summary: "a.go", Added: 3},
		)
	}
	items = append(
		items,
		eventtext.ActivityItem{At: at, Until: at.Add(time.Second), Tool: "Bash", Summary: "go vet", Failed: true,
			Result: "exit\x1b[31m 1"},
	)
	s := &supervisor.State{}
	s.Agents = []*supervisor.Agent{a}
	s.Options.Rehearsal = true
	got := focusText(s, a, items)
	for _, want := range []string{" (developer): ", "process 2, ", "$0.00 simulated.\n", "Its brief: Mend it.\n",
		"- 03:04:05 Edit a.go, +3 -0 lines, 2 s.\n", "- 03:04:05 Bash go vet, failed: exit"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not told:\n%s", want, got)
		}
	}
	if strings.Contains(got, "I begin") || strings.Contains(got, "\x1b") || strings.Count(got, "\n- ") != maxFocusItems {
		t.Errorf("told\n%s", got)
	}
	if got := focusText(s, a, nil); !strings.Contains(got, "said and done nothing yet") {
		t.Errorf("told\n%s", got)
	}
}
