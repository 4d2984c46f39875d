package supervisor

import (
	"slices"
	"strings"
	"testing"
	"time"

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

// TestDocumentsOfAnAuthorKeepTheirOrder: a later document waits for an earlier one, but not for those of other
// authors.
func TestDocumentsOfAnAuthorKeepTheirOrder(t *testing.T) {
	var s HandoffState
	first := s.Add(Handover{Agent: by("orch-1"), Kind: KindDone, Document: documentHandoff("make")})
	second := s.Add(Handover{Agent: by("orch-1"), Kind: KindHandoff, Document: documentHandoff()})
	other := s.Add(Handover{Agent: by("orch-2"), Kind: KindReleased, Document: documentHandoff()})
	if !s.Overtakes(s.Edit(second)) || s.Overtakes(s.Edit(first)) || s.Overtakes(s.Edit(other)) {
		t.Error("only the second document of the author comes too early")
	}
	if !s.IsDue() || !s.ReportIsDue() || !s.IsHandingOver("orch-2") {
		t.Errorf("%+v", s)
	}
	s.Remove(func(h *Handover) bool { return h.Serial == first })
	if next := s.Ready("orch-1", time.Minute); next != second {
		t.Errorf("document %d is ready, not %d", next, second)
	}
	s.Remove(func(h *Handover) bool { return h.Serial == second })
	if s.IsDue() { // what was released goes into the work log, and nothing waits for it
		t.Errorf("%+v is due", s.Documents)
	}
}

// TestSuccessorQueue: a document is queued once, in order, and leaves the queue when its author has a successor.
func TestSuccessorQueue(t *testing.T) {
	var s HandoffState
	for _, id := range []string{"orch-1", "orch-2", "orch-1"} {
		s.QueueForSuccessor(Handover{Agent: by(id)})
	}
	s.QueueForSuccessor(Handover{Agent: by("orch-3"), Taken: true})
	if !slices.Equal(s.SuccessorQueue, []string{"orch-1", "orch-2"}) || s.NextPredecessor() != "orch-1" {
		t.Fatalf("the queue is %v", s.SuccessorQueue)
	}
	s.Add(Handover{Agent: by("orch-1"), Kind: KindGone})
	before := s
	s.LeaveSuccessorQueue("orch-1")
	if s.NextPredecessor() != "orch-2" || !s.Documents[0].Taken {
		t.Errorf("left %v, %+v", s.SuccessorQueue, s.Documents)
	}
	if before.NextPredecessor() != "orch-1" || before.Documents[0].Taken {
		t.Error("the copy before was written to")
	}
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

// TestHandoffProofsAreBounded: the oldest proofs are only counted.
func TestHandoffProofsAreBounded(t *testing.T) {
	var s HandoffState
	for i := range MaxProofs + 10 {
		d := documentHandoff(string(rune('A' + i)))
		s.Prove(Handover{Agent: by("orch-1"), Document: d, Receipts: []verdict.Receipt{{Result: verdict.CheckPassed}}},
			"", nil)
	}
	if len(s.Proofs) != MaxProofs || s.ChecksRun().Passed != MaxProofs+10 {
		t.Errorf("%d kept, %+v", len(s.Proofs), s.ChecksRun())
	}
}
