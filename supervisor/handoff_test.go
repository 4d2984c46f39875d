package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestGenerateLeavesTheDocumentAlone: an author's own earlier document goes into the record, and is not
// changed.
func TestGenerateLeavesTheDocumentAlone(t *testing.T) {
	own := &verdict.Document{Accomplished: append(make([]string, 0, 8), "one"),
		Files: append(make([]string, 0, 8), "a.go")}
	plan := []contract.Step{{Text: "two", Status: contract.StepDone, Agent: "orch-1"}}
	a := Agent{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}},
		AgentHandoff: AgentHandoff{Document: own}}
	s := State{Task: TaskState{Plan: plan}}
	d := s.generateHandoff(&a, "it was killed", bridge.InspectResult{Files: []string{"b.go"}})
	if len(d.Accomplished) != 2 || len(d.Files) != 2 {
		t.Fatalf("record %+v", d)
	}
	if got := own.Accomplished[:2][1] + own.Files[:2][1]; got != "" {
		t.Errorf("%q was written behind the author's lists", got)
	}
}

func by(id string) bridge.AgentRef { return bridge.AgentRef{ID: id, Generation: 1} }

func documentHandoff(checks ...string) *verdict.Document {
	d := &verdict.Document{}
	for _, c := range checks {
		d.Checks = append(d.Checks, verdict.Check{Command: c})
	}
	return d
}

// TestProofsThatBreak: a check that held and fails when it is repeated is reported as new once.
func TestProofsThatBreak(t *testing.T) {
	d := documentHandoff("make test", "make lint", "make secret")
	passed, failed := verdict.Receipt{Result: verdict.CheckPassed}, verdict.Receipt{Result: verdict.CheckFailed}
	var s HandoffState
	s.Prove(Handover{Agent: by("orch-1"), Document: d,
		Receipts: []verdict.Receipt{passed, failed, {Result: verdict.CheckUnrun}}}, "developer", []string{"a.go"})
	checks, authors := s.ToRepeat()
	if len(checks) != 2 || len(authors) != 2 {
		t.Fatalf("to be repeated: %+v", checks)
	}
	if s.ReportBroken() {
		t.Error("what never held did not break")
	}
	repeated := &verdict.Document{Checks: checks}
	s.Repeated(Handover{Document: repeated, Receipts: []verdict.Receipt{failed, failed}},
		func(p Proved) string { return p.Files[0] + " was changed by orch-2" })
	if !s.ReportBroken() || s.ReportBroken() {
		t.Error("it is news once")
	}
	failing := s.proofsThat(func(p *Proved) bool { return p.Receipt.Result == verdict.CheckFailed })
	if broken := s.proofsThat((*Proved).Broken); len(broken) != 1 || len(failing) != 2 || len(s.FailedChecks()) != 1 {
		t.Errorf("broken %v, failing %v", broken, failing)
	}
	if !strings.HasSuffix(s.proofsThat((*Proved).Broken)[0], "; a.go was changed by orch-2") ||
		s.FailedChecks()[0].Why != "; a.go was changed by orch-2" {
		t.Errorf("nothing is said of the last change: %q, %+v", s.proofsThat((*Proved).Broken), s.FailedChecks())
	}
	if sum := s.ChecksRun(); *sum != (contract.Checks{Failed: 2, Unproven: 1}) {
		t.Errorf("%+v", sum)
	}
	s.ForgetProofs()
	if s.ChecksRun() != nil {
		t.Error("another task begins with nothing proved")
	}
}
