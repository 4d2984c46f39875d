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
