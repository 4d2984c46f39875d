package supervisor

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// handingOff is a run whose Orchestrator hands over a document with two checks; or none, so that it is
// generated.
func handingOff(t *testing.T, document bool) (*step, int) {
	t.Helper()
	st := readyRun(runconfig.Options{CheckTimeout: time.Minute})
	a := addOrchestrator(st)
	h := Handover{Agent: a.AgentRef, Kind: KindHandoff}
	if document {
		h.Document = &verdict.Document{Checks: []verdict.Check{{Command: "true"}, {Command: "make"}}}
	}
	serial := st.beginDocument(h)
	if _, underWay := st.nextStep(serial); !underWay {
		t.Fatal("it is at its end already")
	}
	return st, serial
}

// checked answers the check that was requested last.
func checked(st *step, exit int) bool {
	asked := did[input.RunCheck](st)
	last := asked[len(asked)-1]
	return st.checked(input.Checked{Serial: last.Serial, Number: last.Number, Request: last.Request,
		Result: bridge.CheckResult{Exit: exit}})
}

// TestWay: a document's checks run one after the other; then it is finished, once, with their receipts.
func TestWay(t *testing.T) {
	st, serial := handingOff(t, true)
	for n := range 2 {
		if asked := did[input.RunCheck](st); len(asked) != n+1 || asked[n].Number != n+1 {
			t.Fatalf("after %d checks: asked for %+v", n, asked)
		}
		if !checked(st, n) || checked(st, n) {
			t.Fatal("a result is not taken exactly once")
		}
		done, underWay := st.nextStep(serial)
		if underWay != (n == 0) || (done == nil) != underWay {
			t.Fatalf("after %d checks: under way %v, at its end %+v", n+1, underWay, done)
		}
		if done != nil && (len(done.Receipts) != 2 || done.Receipts[1].Result != verdict.CheckFailed) {
			t.Errorf("receipts %+v", done.Receipts)
		}
	}
	if done, underWay := st.nextStep(serial); done != nil || underWay {
		t.Error("it is still under way")
	}
	testkit.Same(t, "checks were told", 2, len(emitted[contract.Check](st)))
}

// TestScratch: each check runs on a copy if copies hold on this machine, but not on another host, whose copies were not
// tried.
func TestScratch(t *testing.T) {
	for _, run := range []struct {
		o    runconfig.Options
		host string
		want bool
	}{{runconfig.Options{}, "", false}, {runconfig.Options{ScratchChecks: true}, "", true},
		{runconfig.Options{ScratchChecks: true}, "far", false}} {
		run.o.CheckTimeout = time.Minute
		for _, kind := range []HandoffKind{KindHandoff, KindDone, KindRepeated, KindAccept} {
			st := readyRun(run.o)
			a := addOrchestrator(st)
			st.Edit(a.ID).Host = run.host
			h := Handover{Agent: a.AgentRef, Kind: kind,
				Document: &verdict.Document{Checks: []verdict.Check{{Command: "true"}}}}
			here := h.Completes()
			st.nextStep(st.beginDocument(h))
			asked := did[input.RunCheck](st)
			if want := run.want || here && run.o.ScratchChecks; len(asked) != 1 || asked[0].Params.Scratch != want {
				t.Errorf("%v, %v on %q: %+v", run.o.ScratchChecks, kind, run.host, asked)
			}
		}
	}
}

// TestGenerated: a document that its author cannot write is generated from what an inspection shows.
func TestGenerated(t *testing.T) {
	st, serial := handingOff(t, false)
	asked := did[input.Inspect](st)
	if len(asked) != 1 || asked[0].Serial != serial {
		t.Fatalf("asked for %+v", asked)
	}
	if !st.generateFrom(input.Inspected{Serial: serial}) || st.Handoff.Edit(serial).Document == nil {
		t.Error("no document was generated")
	}
}

// TestLostCheck: a check that was lost with its bridge is requested again, and a late answer to it is not
// accepted.
func TestLostCheck(t *testing.T) {
	st, serial := handingOff(t, true)
	st.loseChecksOn("elsewhere")
	testkit.Same(t, "checks of this host went with another", 0, len(did[input.Drop](st)))
	first := did[input.RunCheck](st)[0]
	st.loseChecksWhere(func(*Handover) bool { return true })
	st.nextStep(serial)
	if st.checked(input.Checked{Serial: serial, Number: 1, Request: first.Request}) {
		t.Error("the answer to the lost check is taken")
	}
	if !checked(st, 0) {
		t.Error("the answer to the other one is not")
	}
}

// TestOutOfTime: checks that were not run in time are reported as such.
func TestOutOfTime(t *testing.T) {
	st, serial := handingOff(t, true)
	st.Halted = true
	if st.documentOutOfTime(serial) {
		t.Error("it is out of time in a run that is halted")
	}
	st.Halted = false
	if !st.documentOutOfTime(serial) {
		t.Fatal("it does not go on")
	}
	if done, _ := st.nextStep(serial); done == nil || len(done.Receipts) != 2 {
		t.Errorf("at its end: %+v", done)
	}
}

// TestDocumentForget: unwanted documents are dropped, except for the Arbiter's own.
func TestDocumentForget(t *testing.T) {
	st, _ := handingOff(t, true)
	renewed := st.beginDocument(Handover{Agent: st.Agents[0].AgentRef, Kind: HandoffKindRenewal,
		Document: &verdict.Document{}})
	st.forgetDocuments()
	if left := st.Handoff.Documents; len(left) != 1 || left[0].Serial != renewed {
		t.Errorf("left are %+v", left)
	}
	testkit.Same(t, "checks were dropped", 1, len(did[input.Drop](st)))
}
