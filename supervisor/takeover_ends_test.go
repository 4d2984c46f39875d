package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// TestTheBridgeIsLostInATakeover: in any of its stages, the session comes back.
func TestTheBridgeIsLostInATakeover(t *testing.T) {
	for _, stage := range []TakeoverStage{TakeoverStopping, TakeoverInspecting, TakeoverOpening, TakeoverOpen} {
		p := working(t)
		p.take("orch-1", stage)
		p.do(input.BridgeLost{Message: "gone"})
		p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
		p.do(input.BridgeBack{})
		state := "failed"
		if a := p.agent("orch-1"); a.Takeover != nil {
			state = "ended"
			p.seen("orch-1", someChanges)
		} else {
			p.do(input.Timer{Key: RestartKey(a.AgentRef)})
		}
		if e := last[contract.Takeover](p); e.State != state || e.Reason != "the bridge was lost" || (state == "ended") != (e.Digest != "") {
			t.Errorf("%s: %+v", stage, e)
		}
		if a := p.agent("orch-1"); a.Status != AgentStarting || a.Takeover != nil {
			t.Errorf("%s: %s %+v", stage, a.Status, a.Takeover)
		}
		if want := stage == TakeoverOpen || stage == TakeoverOpening; (state == "ended") != want {
			t.Errorf("%s: %s", stage, state)
		}
	}
}

// TestArbiterEndsInATakeover: whether Arbiter was killed or ended normally, the takeover has ended when the run
// is resumed, and what was done in it is reported.
func TestArbiterEndsInATakeover(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		p := working(t)
		p.take("orch-1", TakeoverOpen)
		if ordered {
			p.do(input.Signal{Signal: "INT"})
			p.finished()
		}
		var fold Replayer
		for i, in := range p.in {
			raw, err := input.EncodeInput(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := fold.Take(journal.Record{Seq: uint64(i), Payload: raw}); err != nil {
				t.Fatal(err)
			}
		}
		p.s = fold.State
		p.do(input.Resumed{Options: p.s.Options})
		if a := p.agent("orch-1"); a.Status != InHand || a.Takeover.Stage != TakeoverReading {
			t.Fatalf("ordered %v: %s", ordered, a.Status)
		}
		if looks := effects[effect.Inspect](p); !cmp.Equal(looks[len(looks)-1].Params.Since, aMark) {
			t.Errorf("looked at: %+v", looks)
		}
		p.seen("orch-1", someChanges)
		if a := p.agent("orch-1"); a.Status != AgentStarting || a.Takeover != nil {
			t.Errorf("ordered %v: %s", ordered, a.Status)
		}
		p.contains("the digest", last[contract.Takeover](p).Digest, "use port 9090")
	}
}

// TestTheTimeLimitWaits: the run's time limit waits until a session is given back.
func TestTheTimeLimitWaits(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Timeout = 20 * time.Second })
	p.spawn("x")
	p.verdict("arbiter", ruling("CONTINUE", "wait"))
	p.verdict("orch-1", report("progress", "begun", false))
	p.take("orch-1", TakeoverOpen)
	p.at = p.at.Add(time.Minute)
	p.do(input.Timer{Key: timeoutKey})
	if p.s.Ending != nil {
		t.Fatal("the run ended under the human's hands")
	}
	p.ends("orch-1")
	p.seen("orch-1", someChanges)
	if p.s.Ending == nil || p.s.Ending.Status != contract.StatusLimit {
		t.Errorf("%+v", p.s.Ending)
	}
}

// TestAReleaseWaitsForTheHuman: an agent that its successor replaces is not released until its session is given
// back.
func TestAReleaseWaitsForTheHuman(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverOpen)
	st := &step{State: p.s, at: p.at}
	st.processes().Release("orch-1", "succeeded by orch-2", false)
	p.s = st.State
	if a := p.agent("orch-1"); a.Status != InHand || a.Takeover == nil || len(st.out.Effects()) > 0 {
		t.Fatalf("%s %v", a.Status, st.out.Effects())
	}
	p.ends("orch-1")
	p.seen("orch-1", someChanges)
	if a := p.agent("orch-1"); a.Status != AgentEnded || a.EndReason != "succeeded by orch-2" || last[contract.Done](p).Reason != a.EndReason {
		t.Errorf("%s %q, %+v", a.Status, a.EndReason, last[contract.Done](p))
	}
}

// TestOneThatIsSpentInATakeover: its last turn ended, and so did its session. Nothing waits for a terminal that
// will never open.
func TestOneThatIsSpentInATakeover(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverStopping)
	st := &step{State: p.s, at: p.at}
	a := st.Edit("orch-1")
	a.CompactionBlocked, a.HandoffDemands = true, maxDemands
	p.s = st.State
	raw, err := jsonl.Marshal(report("progress", "on the way", false))
	if err != nil {
		t.Fatal(err)
	}
	p.happen("orch-1", bridge.Turn{MessageIDs: p.agent("orch-1").Turn, Outcome: bridge.TurnDone, Verdict: raw})
	if a := p.agent("orch-1"); a.Status != AgentParked || a.Takeover != nil || p.s.AnyTakenOver() {
		t.Fatalf("%s %+v", a.Status, a.Takeover)
	}
	if e := last[contract.Takeover](p); e.State != StateFailed {
		t.Errorf("%+v", e)
	}
}

// TestTheTimeLimitOutlastsATakeover: the time limit also applies after a takeover that ended in another way
// than by being given back.
func TestTheTimeLimitOutlastsATakeover(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Timeout = 20 * time.Second })
	p.spawn("x")
	p.verdict("arbiter", ruling("CONTINUE", "wait"))
	p.verdict("orch-1", report("progress", "begun", false))
	p.take("orch-1", TakeoverOpen)
	p.at = p.at.Add(time.Minute)
	p.out = nil
	p.do(input.Timer{Key: timeoutKey})
	p.command(contract.Kill{ID: "orch-1"})
	if timer(p.out, timeoutKey) <= 0 {
		t.Fatal("no timer is set any more")
	}
	p.do(input.Timer{Key: timeoutKey})
	if p.s.Ending == nil || p.s.Ending.Status != contract.StatusLimit {
		t.Errorf("%+v", p.s.Ending)
	}
}

// TestTheTimeOfAModeOutlastsATakeover: the time limit of a mode also applies after a failed takeover during
// which its timer rang.
func TestTheTimeOfAModeOutlastsATakeover(t *testing.T) {
	for _, end := range []string{"not opened", "bridge lost"} {
		p := begin(t, func(o *runconfig.Options) {
			o.Modes = []agents.Agent{{Name: "scout", Description: "looks", Prompt: "Look.", Limits: agents.Limits{Timeout: time.Minute}}}
		})
		p.verdict("arbiter", ruling("SELECT_MODE", "Look there.", "mode", "scout"))
		p.spawned("orch-1")
		p.verdict("orch-1", report("progress", "begun", false))
		key := WorkLimitKey(p.agent("orch-1").AgentRef)
		if end == "not opened" {
			p.take("orch-1", TakeoverOpening)
		} else {
			p.take("orch-1", TakeoverStopping)
		}
		p.do(input.Timer{Key: key})
		p.out = nil
		if end == "not opened" {
			p.do(input.PTYOpened{Agent: p.agent("orch-1").AgentRef, Failed: "no terminals left"})
		} else {
			p.do(input.BridgeLost{Message: "gone"})
		}
		if timer(p.out, key) != time.Minute {
			t.Errorf("%s: its time has no end", end)
		}
	}
}

// TestAReleaseOutlastsTheBridge: an agent that was to be released when its session is returned is released, even if the
// bridge ends together with the terminal before that.
func TestAReleaseOutlastsTheBridge(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverInspecting)
	st := &step{State: p.s, at: p.at}
	st.processes().Release("orch-1", "succeeded by orch-2", false)
	p.s = st.State
	p.do(input.BridgeLost{Message: "gone"})
	if a := p.agent("orch-1"); a.Status != AgentEnded || a.EndReason != "succeeded by orch-2" || a.Takeover != nil {
		t.Errorf("%s %q", a.Status, a.EndReason)
	}
}

// TestNoTakeoverInAnUntrustedWorkspace: the agent's process would be ended for a terminal that is not opened.
func TestNoTakeoverInAnUntrustedWorkspace(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Trusted, o.TrustHash = true, "h1" })
	p.spawn("Build the parser")
	p.verdict("arbiter", ruling("CONTINUE", "wait"))
	p.verdict("orch-1", report("progress", "begun", false))
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"x"}`)
	p.do(input.NotSpawned{Agent: p.agent("orch-2").AgentRef, Category: bridge.CatTrust, Message: "changed", Trust: "h2"})
	if ok, why := p.command(contract.Attach{ID: "orch-1"}); ok {
		t.Errorf("taken over: %s", why)
	}
	if a := p.agent("orch-1"); a.Status != AgentBusy {
		t.Errorf("%s", a.Status)
	}
}

// TestATakeoverOfOneThatIsNotStarted: the takeover ends.
func TestATakeoverOfOneThatIsNotStarted(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverStopping)
	p.do(input.NotSpawned{Agent: p.agent("orch-1").AgentRef, Category: bridge.CatTrust, Message: "changed", Trust: "h2"})
	if p.s.AnyTakenOver() || last[contract.Takeover](p).State != StateFailed {
		t.Errorf("%+v", p.agent("orch-1").Takeover)
	}
}

// TestInspectionWakesNoAgent: a human who only looked gives the Arbiter nothing to rule on; it reads about it
// with its next message.
func TestInspectionWakesNoAgent(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverOpen)
	p.command(contract.Detach{ID: "orch-1"})
	p.ends("orch-1")
	p.out = nil
	p.seen("orch-1", bridge.InspectResult{Changes: &bridge.Changes{}})
	for _, m := range p.s.Conversation.Mail {
		if m.To == contract.Arbiter {
			t.Errorf("the Arbiter is woken: %+v", m)
		}
	}
	if e := p.s.Conversation.WorkLog[len(p.s.Conversation.WorkLog)-1]; e.From != contract.Supervisor || !strings.Contains(e.Text, "0 messages typed") {
		t.Errorf("the work log ends in %+v", e)
	}
}
