package decider

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestDocumentsReachBothInputs: the judged execution contains its full document, a history contains what it
// leaves open and the results of its checks, and both inputs contain what the last document of each mode leaves
// open.
func TestDocumentsReachBothInputs(t *testing.T) {
	given := &verdict.Document{
		Accomplished: []string{"read it"}, Remaining: []string{"BLOCKER: it loses data", " None. "},
		OpenQuestions: []string{"Which format?", "n/a"}, KeyContext: "the port is 8080",
		Decisions:   []verdict.Decision{{Choice: "a table", Rejected: "a switch", Why: "speed"}},
		Constraints: []string{"under 20 ms"}, Files: []string{"a.go"},
		Checks: []verdict.Check{{Command: "make test", Expect: "exit 0"}, {Command: "make lint", Expect: "exit 0"}},
		Claims: []verdict.Claim{{Claim: "tests pass", Check: 1}, {Claim: "lint is clean", Check: 2}},
	}
	receipts := []verdict.Receipt{
		{Result: verdict.CheckPassed, Output: "ok", SHA256: "ab"},
		{Result: verdict.CheckFailed, Why: "exit code 1, expected 0", Output: "a.go:1: no"},
	}
	whole := &DecisionDocument{
		Accomplished: []string{"read it"}, Remaining: []string{"BLOCKER: it loses data"},
		OpenQuestions: []string{"Which format?"}, KeyContext: "the port is 8080",
		Choices: []string{"a table — rejected: a switch — why: speed"}, Constraints: []string{"under 20 ms"},
		Files: []string{"a.go"}, Claims: []DecisionClaim{{"tests pass", "verified"}, {"lint is clean", "refuted"}},
		Checks: []DecisionCheck{
			{Command: "make test", Expect: "exit 0", Result: "passed"},
			{Command: "make lint", Expect: "exit 0", Result: "failed", Why: "exit code 1, expected 0",
				Output: "a.go:1: no"},
		},
	}
	brief := &DecisionDocument{
		Remaining: whole.Remaining, OpenQuestions: whole.OpenQuestions, KeyContext: whole.KeyContext,
		Claims: []DecisionClaim{{"lint is clean", "refuted"}},
		Checks: []DecisionCheck{{Command: "make test", Result: "passed"},
			{Command: "make lint", Result: "failed", Why: "exit code 1, expected 0"}},
	}
	r := full()
	r.History = DecisionHistory{}
	one := worked(3, "reviewer", StatusSuccess)
	one.Document = Handed(given, receipts)
	if diff := cmp.Diff(whole, one.Document); diff != "" {
		t.Fatalf("the document (-want +got):\n%s", diff)
	}
	r.History = r.History.Add(one)
	r.Judged = one.ID
	open := []OpenPoint{{Agent: "reviewer", Iteration: one.Iteration, Remaining: whole.Remaining,
		OpenQuestions: whole.OpenQuestions}}
	s, e := SelectInput(r), EvaluateInput(r)
	for what, d := range map[string]string{
		"what is judged":            cmp.Diff(whole, e.LastExecution.Document),
		"an evaluation's history":   cmp.Diff(brief, e.History[0].Document),
		"a selection's last":        cmp.Diff(whole, s.History[0].Document),
		"a selection's points":      cmp.Diff(open, s.OpenPoints),
		"an evaluation's points":    cmp.Diff(open, e.OpenPoints),
		"what history itself tells": cmp.Diff(whole, r.History.Last(1)[0].Document),
	} {
		if d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	// Another agent works, and then the reviewer has nothing left: the point is reported with the agent that
	// worked, and is not reported after that.
	r.History = r.History.Add(worked(2, "developer", StatusSuccess))
	open[0].Since = []string{"developer"}
	testkit.Same(t, "worked since", open, SelectInput(r).OpenPoints)
	testkit.Same(t, "one that was followed by another", brief, SelectInput(r).History[0].Document)
	again := worked(1, "reviewer", StatusSuccess)
	again.Document = Handed(&verdict.Document{Accomplished: []string{"looked again"}, Remaining: []string{"Nothing."}},
		nil)
	r.History = r.History.Add(again)
	if got := EvaluateInput(r).OpenPoints; got != nil {
		t.Errorf("still open: %+v", got)
	}
}

// TestOpenPointsOutliveTheWindow: open points are kept beyond the window; a step of the plan is not an open
// point.
func TestOpenPointsOutliveTheWindow(t *testing.T) {
	r := full()
	r.History = DecisionHistory{}
	r.Steps = []DecisionStep{{Description: "developer: build it"}}
	plan := worked(90, "planner", StatusSuccess)
	plan.Document = Handed(&verdict.Document{Remaining: []string{"developer: build it"}}, nil)
	look := worked(80, "tester", StatusSuccess)
	look.Document = Handed(&verdict.Document{Remaining: []string{"the load was not tried"}}, nil)
	r.History = r.History.Add(plan).Add(look)
	for i := range 70 {
		r.History = r.History.Add(worked(70-i, "developer", StatusFailure))
	}
	want := []OpenPoint{{Agent: "tester", Iteration: look.Iteration, Remaining: []string{"the load was not tried"}}}
	testkit.Same(t, "open points", want, EvaluateInput(r).OpenPoints)
}

// TestDocumentsAreBounded: however long a document is.
func TestDocumentsAreBounded(t *testing.T) {
	long := strings.Repeat("word and word, ", 200)
	d := &verdict.Document{KeyContext: long}
	for i := range 100 {
		text := fmt.Sprint(i, " ", long)
		d.Remaining, d.OpenQuestions, d.Accomplished = append(d.Remaining, text), append(d.OpenQuestions, text),
			append(d.Accomplished, text)
		d.Constraints, d.Files = append(d.Constraints, text), append(d.Files, text)
		d.Decisions = append(d.Decisions, verdict.Decision{Choice: text})
		d.Claims, d.Checks = append(d.Claims, verdict.Claim{Claim: text}),
			append(d.Checks, verdict.Check{Command: text})
	}
	r := full()
	r.History = DecisionHistory{}
	for i := range 20 {
		e := worked(20-i, fmt.Sprint("mode", i), StatusSuccess)
		e.Document = Handed(d, nil)
		r.History = r.History.Add(e)
	}
	if n := len(r.History.Last(1)[0].Document.Remaining); n != leftItems+1 {
		t.Errorf("%d points remain", n)
	}
	for name, in := range map[string]any{"selection": SelectInput(r), "evaluation": EvaluateInput(r)} {
		raw := testkit.Must(json.Marshal(in))(t)
		if len(raw) > 200_000 {
			t.Errorf("the %s has %d bytes", name, len(raw))
		}
	}
}
