package supervisor

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// handingOff is a run whose Orchestrator hands over a document with two checks; or none, so that it is
// generated.
func handingOff(t *testing.T, document bool) (*step, int) {
	t.Helper()
	c := readyRun(runconfig.Options{CheckTimeout: time.Minute})
	a := addOrchestrator(c)
	h := Handover{Agent: a.AgentRef, Kind: KindHandoff}
	if document {
		h.Document = &verdict.Document{Checks: []verdict.Check{{Command: "true"}, {Command: "make"}}}
	}
	serial := c.beginDocument(h)
	if _, underWay := c.nextStep(serial); !underWay {
		t.Fatal("it is at its end already")
	}
	return c, serial
}

// checked answers the check that was requested last.
func checked(c *step, exit int) bool {
	asked := did[effect.RunCheck](c)
	last := asked[len(asked)-1]
	return c.checked(input.Checked{Serial: last.Serial, Number: last.Number, Request: last.Request,
		Result: bridge.CheckResult{Exit: exit}})
}

// TestWay: a document's checks run one after the other; then it is finished, once, with their receipts.
func TestWay(t *testing.T) {
	c, serial := handingOff(t, true)
	for n := range 2 {
		if asked := did[effect.RunCheck](c); len(asked) != n+1 || asked[n].Number != n+1 {
			t.Fatalf("after %d checks: asked for %+v", n, asked)
		}
		if !checked(c, n) || checked(c, n) {
			t.Fatal("a result is not taken exactly once")
		}
		done, underWay := c.nextStep(serial)
		if underWay != (n == 0) || (done == nil) != underWay {
			t.Fatalf("after %d checks: under way %v, at its end %+v", n+1, underWay, done)
		}
		if done != nil && (len(done.Receipts) != 2 || done.Receipts[1].Result != verdict.CheckFailed) {
			t.Errorf("receipts %+v", done.Receipts)
		}
	}
	if done, underWay := c.nextStep(serial); done != nil || underWay {
		t.Error("it is still under way")
	}
	if n := len(emitted[contract.Check](c)); n != 2 {
		t.Errorf("%d checks were told", n)
	}
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
			c := readyRun(run.o)
			a := addOrchestrator(c)
			c.Edit(a.ID).Host = run.host
			h := Handover{Agent: a.AgentRef, Kind: kind,
				Document: &verdict.Document{Checks: []verdict.Check{{Command: "true"}}}}
			here := h.Completes()
			c.nextStep(c.beginDocument(h))
			asked := did[effect.RunCheck](c)
			if want := run.want || here && run.o.ScratchChecks; len(asked) != 1 || asked[0].Params.Scratch != want {
				t.Errorf("%v, %v on %q: %+v", run.o.ScratchChecks, kind, run.host, asked)
			}
		}
	}
}

// TestGenerated: a document that its author cannot write is generated from what an inspection shows.
func TestGenerated(t *testing.T) {
	c, serial := handingOff(t, false)
	asked := did[effect.Inspect](c)
	if len(asked) != 1 || asked[0].Serial != serial {
		t.Fatalf("asked for %+v", asked)
	}
	if !c.generateFrom(input.Inspected{Serial: serial}) || c.Handoff.Edit(serial).Document == nil {
		t.Error("no document was generated")
	}
}

// TestLostCheck: a check that was lost with its bridge is requested again, and a late answer to it is not
// accepted.
func TestLostCheck(t *testing.T) {
	c, serial := handingOff(t, true)
	c.loseChecksOn("elsewhere")
	if n := len(did[effect.Drop](c)); n != 0 {
		t.Errorf("%d checks of this host went with another", n)
	}
	first := did[effect.RunCheck](c)[0]
	c.loseAllChecks()
	c.nextStep(serial)
	if c.checked(input.Checked{Serial: serial, Number: 1, Request: first.Request}) {
		t.Error("the answer to the lost check is taken")
	}
	if !checked(c, 0) {
		t.Error("the answer to the other one is not")
	}
}

// TestOutOfTime: checks that were not run in time are reported as such.
func TestOutOfTime(t *testing.T) {
	c, serial := handingOff(t, true)
	c.Halted = true
	if c.documentOutOfTime(serial) {
		t.Error("it is out of time in a run that is halted")
	}
	c.Halted = false
	if !c.documentOutOfTime(serial) {
		t.Fatal("it does not go on")
	}
	if done, _ := c.nextStep(serial); done == nil || len(done.Receipts) != 2 {
		t.Errorf("at its end: %+v", done)
	}
}

// TestDocumentForget: unwanted documents are dropped, except for the Arbiter's own.
func TestDocumentForget(t *testing.T) {
	c, _ := handingOff(t, true)
	renewed := c.beginDocument(Handover{Agent: c.Agents[0].AgentRef, Kind: HandoffKindRenewal,
		Document: &verdict.Document{}})
	c.forgetDocuments()
	if left := c.Handoff.Documents; len(left) != 1 || left[0].Serial != renewed {
		t.Errorf("left are %+v", left)
	}
	if n := len(did[effect.Drop](c)); n != 1 {
		t.Errorf("%d checks were dropped", n)
	}
}
