package view

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestAccept: a command is added to the criteria, one is dropped by its number, and invalid input is
// reported.
func TestAccept(t *testing.T) {
	s := &supervisor.State{Task: supervisor.TaskState{Acceptance: supervisor.AcceptanceState{
		Criteria: []supervisor.Criterion{
			{Text: "It is fast.", Command: "make bench", By: supervisor.AcceptanceHuman},
			{Text: "It is clean.", Command: "make lint", By: supervisor.AcceptanceArbiter},
		},
		Results: []supervisor.AcceptanceResult{{Criterion: supervisor.Criterion{Text: "It is fast.", Command: "make bench"},
			Status: supervisor.AcceptanceFailed}},
	}}}
	for typed, want := range map[string]any{
		"/accept go test ./...": contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{
			{Text: "It is fast.", Command: "make bench"}, {Text: "go test ./...", Command: "go test ./..."},
			{Text: "It is clean.", Command: "make lint", By: "arbiter"},
		}},
		"/accept drop 1": contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{
			{Text: "It is clean.", Command: "make lint", By: "arbiter"},
		}},
		"/accept drop 3": "there is no criterion 3: 2 criteria are set",
		"/accept drop x": `"x" is not a number of a criterion: /accept lists them`,
	} {
		c, err := ParseSlash(typed)
		if err != nil {
			t.Fatalf("%s: %v", typed, err)
		}
		var got any
		got, is, err := CommandsFor(s, c)
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" || !is {
			t.Errorf("%s (-want +got):\n%s", typed, diff)
		}
	}
	if text := criteria(s); !strings.Contains(text,
		"1. It is fast. (make bench), set by the human: failed when it was last judged") {
		t.Errorf("listed as %q", text)
	}
	if len(s.Task.Acceptance.Criteria) != 2 {
		t.Error("the run's own criteria were written to")
	}
}
