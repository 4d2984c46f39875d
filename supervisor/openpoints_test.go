package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestOpenPoints: each thing that speaks against the end of a task, alone.
func TestOpenPoints(t *testing.T) {
	settled := func() *State {
		s := &State{Options: runconfig.Options{Workspace: runconfig.Workspace{Root: "/w", Base: "b"}}}
		s.Task.History = s.Task.History.Add(decider.DecisionExecution{ID: "orch-1"})
		s.Task.Acceptance.Criteria = []Criterion{{Text: "tests", Command: "make test"}}
		s.Task.Plan = []contract.Step{{Text: "one", Status: contract.StepDone}, {Text: "two", Status: contract.StepSkipped}}
		s.Changes.Files = []input.ChangeFile{{Path: "src/a.go", Changed: 1}}
		s.Handoff.FilesListed = []string{"src"}
		s.Handoff.LastDocument = LastDocument{Agent: "orch-1", Serial: 1}
		return s
	}
	check := func(result string) Proved {
		p := Proved{Check: verdict.Check{Command: "make"}, Receipt: verdict.Receipt{Result: result, Why: "exit code 2"}}
		p.Author.ID = "orch-1"
		return p
	}
	for name, c := range map[string]struct {
		change func(*State)
		want   string
	}{
		"settled": {func(*State) {}, ""},
		"nobody": {func(s *State) { s.Task.History = decider.DecisionHistory{} },
			"no Orchestrator has worked on the task"},
		"at work": {func(s *State) { s.Task.History, s.Agents = decider.DecisionHistory{}, atWork() }, ""},
		"nothing": {func(s *State) { s.Changes.Files, s.Handoff.FilesListed = nil, nil },
			"no file has changed since the run began"},
		"only its own": {func(s *State) { s.Changes.Files[0].Changed = 0 }, "no file has changed since the run began"},
		"no Git": {func(s *State) {
			s.Options.Workspace = runconfig.Workspace{}
			s.Changes.Files = nil
		}, ""},
		"no proof": {func(s *State) { s.Task.Acceptance.Criteria[0].Command = "" },
			"no check and no acceptance criterion with a command proves the work"},
		"none run": {func(s *State) {
			s.Task.Acceptance.Criteria, s.Handoff.Proofs = nil, []Proved{check(verdict.CheckUnrun)}
		}, "none of the checks was run"},
		"a check fails": {func(s *State) { s.Handoff.Proofs = []Proved{check(verdict.CheckFailed)} },
			"checks fail: orch-1: `make`: exit code 2"},
		"a check proves": {func(s *State) {
			s.Task.Acceptance.Criteria, s.Handoff.Proofs = nil, []Proved{check(verdict.CheckPassed)}
		}, ""},
		"not merged": {func(s *State) { s.Handoff.LastDocument.Unmerged = "it conflicts" },
			"the work of orch-1 is not merged: it conflicts"},
		"plan": {func(s *State) {
			s.Task.Plan = append(s.Task.Plan, contract.Step{Text: "three", Status: contract.StepActive},
				contract.Step{Text: "four", Status: contract.StepFailed})
		}, "steps of the plan are not done: 3. three (active); 4. four (failed)"},
		"left": {func(s *State) { s.Handoff.LastDocument.Left = []string{"the tests", "who pays?"} },
			"the last document, of orch-1, leaves open: the tests; who pays?"},
		"absent": {func(s *State) { s.Handoff.FilesListed = []string{"src/a.go", "src/b.go"} },
			"a document lists files that no snapshot shows as changed (unchanged, ignored by Git, or missing): src/b.go"},
		"unlisted": {func(s *State) {
			s.Changes.Files = append(s.Changes.Files, input.ChangeFile{Path: "srcs", Changed: 2})
		}, "files have changed that no document lists: srcs"},
		"too many files": {func(s *State) {
			s.Changes.Files = make([]input.ChangeFile, 4000)
			s.Handoff.FilesListed = nil
		}, ""},
		"many": {func(s *State) { s.Handoff.LastDocument.Left = strings.Split("a b c d e f g h i j", " ") },
			"the last document, of orch-1, leaves open: a; b; c; d; e; f; g; h; and 2 more"},
	} {
		s := settled()
		c.change(s)
		testkit.Same(t, name, c.want, strings.Join(s.openTexts(), "\n"))
	}
}

func atWork() []*Agent {
	a := &Agent{}
	a.Role, a.Work = RoleOrchestrator, &Work{}
	return []*Agent{a}
}

// TestOpenPointsGoBackOnce: a COMPLETE without any work goes back to the Arbiter once, and what it insists on is in
// the result; after more work it goes back for what is new.
func TestOpenPointsGoBackOnce(t *testing.T) {
	p := begin(t, nil)
	p.careful = true
	p.verdict("arbiter", ruling("COMPLETE", "I made all files and ran the tests.", "summary", "All is there."))
	p.contains("the notice", p.lastSent("arbiter"), "COMPLETE did not take effect yet", "no Orchestrator has worked")
	id := p.spawn("make the files")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(id, report("done", "made", true))
	p.complete()
	p.contains("the notice", p.lastSent("arbiter"), "leaves open: the second half", "no check")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "The second half is not wanted."))
	r, exit := p.finished()
	if r.Status != contract.StatusComplete || exit != contract.ExitComplete || len(r.Open) != 2 {
		t.Errorf("%+v, exit %d", r, exit)
	}
	p.contains("the summary", r.Summary, "The second half is not wanted. Open at the end: no check", "the second half.")
	p.folds()
}
