package eventtext

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestSince sums up runs whose human was away.
func TestSince(t *testing.T) {
	began := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	word := contract.Message{From: contract.Human, To: contract.Arbiter, Kind: "task", Text: "go on"}
	orch := func(id string, b contract.Body) contract.Event { return contract.Event{ID: id, Body: b} }
	night := []contract.Event{
		orch("orch-1", contract.Done{Reason: "before the last word"}),
		orch(contract.Arbiter, word), orch("orch-2", contract.Message{From: "orch-2", To: contract.Human, Text: "done"}),
		orch("orch-2", contract.Spawn{}), orch("orch-3", contract.Spawn{}), orch("orch-2", contract.Spawn{Resumed: true}),
		orch("orch-2", contract.Handoff{From: "orch-2", To: "orch-3"}), orch("orch-2", contract.Done{}),
		orch(contract.Arbiter, contract.Decision{Decision: verdict.Continue}),
		orch(contract.Arbiter, contract.Decision{Decision: verdict.SelectMode}),
		orch(contract.Arbiter, contract.Decision{Decision: verdict.Continue}),
		orch("orch-2", contract.Check{Receipt: verdict.Receipt{Result: verdict.CheckPassed}}),
		orch("orch-2", contract.Check{Receipt: verdict.Receipt{Result: verdict.CheckFailed}}),
		orch("orch-3", contract.Changes{Files: []contract.FileChange{{Path: "a.go"}, {Path: "b.go"}}}),
		orch("orch-3", contract.Changes{Files: []contract.FileChange{{Path: "a.go"}}}),
		orch("orch-3", contract.Restart{Reason: "its process ended"}), orch("orch-3", contract.Turn{CostUSD: 1.5}),
		orch("orch-3", contract.PermissionRequest{Request: "perm-1"}),
		orch("orch-3", contract.PermissionRequest{Request: "perm-2"}),
		orch("orch-3", contract.Permission{Request: "perm-1", Behavior: "deny", By: contract.ByTimeout}),
		orch(contract.Arbiter, contract.Question{Text: "Which one?"}),
	}
	full := `, 2 h 00 min ago (1 Mar 09:01): agents: Orchestrator II, Orchestrator III began; Orchestrator II ended · ` +
		`messages for you: 1 · handed off: Orchestrator II → Orchestrator III · decisions: 2 × CONTINUE, 1 × SELECT_MODE · ` +
		`checks: 1 passed, 1 failed · files changed: 2 · trouble: 1 time, last: its process ended · ` +
		`waits for you: 2 requests, the oldest for 1 h 43 min · cost: $1.50`
	for what, c := range map[string]struct {
		events []contract.Event
		after  time.Duration // of the first event
		want   string
	}{
		"a night":   {night, 2*time.Hour + time.Minute, full},
		"a moment":  {night, 8 * time.Minute, ""},
		"no event":  {nil, time.Hour, ""},
		"only word": {night[:2:2], time.Hour, ""},
		"answered": {append(night[:len(night):len(night)], orch("orch-3", contract.Permission{Request: "perm-2",
			Behavior: "allow", By: contract.Human})), 2 * time.Hour, ""},
		"many agents": {func() (list []contract.Event) {
			for range 40 {
				list = append(list, orch("orch-7", contract.Spawn{}))
			}
			return list
		}(), time.Hour, "Orchestrator VII, 34 more began"},
		"over": {append(night[:len(night):len(night)], orch("", contract.Result{Status: contract.StatusComplete})),
			2 * time.Hour, "It is done."},
	} {
		var s Since
		for i, e := range c.events {
			s.Take(began.Add(time.Duration(i)*time.Minute), e)
		}
		local := time.Local
		time.Local = time.UTC
		got := s.Text(began.Add(c.after), nil)
		time.Local = local
		if !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s:\n%s\n, want\n%s", what, got, c.want)
		}
	}
}
