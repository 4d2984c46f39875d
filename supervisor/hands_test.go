package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// TestTakenBackInAPause: a message that other agents relied on cannot be withdrawn if no agent
// would continue without it.
func TestTakenBackInAPause(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.Pause{})
	p.say("No, another way.", contract.Stop)
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
	word := p.s.Conversation.Mail[len(p.s.Conversation.Mail)-1]
	if ok, why := p.command(contract.WithdrawMessage{MessageID: word.ID}); ok {
		t.Errorf("taken back: %s", why)
	}
	p.command(contract.Continue{})
	if a := p.agent("arbiter"); a.Status != AgentBusy {
		t.Errorf("the Arbiter is %s", a.Status)
	}
	p.folds()
}

// TestABriefIsEdited: later records contain the new text.
func TestABriefIsEdited(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.ForceAgent{Mode: "tester"})
	i := slices.IndexFunc(p.s.Conversation.Mail, func(m Mail) bool { return m.Kind == KindBrief })
	if ok, why := p.command(contract.EditMessage{MessageID: p.s.Conversation.Mail[i].ID, Text: "Test it twice"}); !ok {
		t.Fatal(why)
	}
	if a := p.agent("orch-1"); a.Brief != "Test it twice" {
		t.Errorf("%q", a.Brief)
	}
	p.spawned("orch-1")
	p.contains("what it receives", p.lastSent("orch-1"), "Test it twice")
}

// TestTheTaskIsEditedWhileItIsDecidedOn: the answer about the old text comes too late.
func TestTheTaskIsEditedWhileItIsDecidedOn(t *testing.T) {
	p := begin(t, stateless)
	q := p.asked()
	if p.s.Conversation.Mail[0].Kind != KindTask {
		t.Fatalf("%+v", p.s.Conversation.Mail)
	}
	if ok, why := p.command(contract.EditMessage{MessageID: p.s.Conversation.Mail[0].ID, Text: "Build another"}); !ok {
		t.Fatal(why)
	}
	again := p.asked()
	if again.Serial == q.Serial {
		t.Fatal("the new words are not asked about")
	}
	p.answers(q, "SELECT_MODE", "planner")
	if p.s.Spawned != 0 {
		t.Fatal("the answer about the old words counts")
	}
	p.answers(again, "SELECT_MODE", "tester")
	if a := p.agent("orch-1"); a.Mode != "tester" {
		t.Errorf("%s", a.Mode)
	}
	p.contains("the brief", p.agent("orch-1").Brief, "Build another")
}

// TestHaltAtTheEnd: a halt does not wait for an orderly end.
func TestHaltAtTheEnd(t *testing.T) {
	p := begin(t, nil)
	p.do(input.Signal{Signal: "INT"})
	if ok, why := p.command(contract.Halt{}); !ok {
		t.Errorf("refused: %s", why)
	}
	if list := effects[input.Shutdown](p); len(list) != 2 || !list[1].Fast {
		t.Errorf("%+v", list)
	}
	if _, exit := p.finished(); exit != contract.ExitInterrupted {
		t.Errorf("exit %d", exit)
	}
}

// checking is a run in which the first check of a document is running.
func checking(t *testing.T) *play {
	t.Helper()
	p := begin(t, nil)
	p.spawn("Build it.")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	done := report("done", "all of it", true)
	raw := testkit.Must(json.Marshal(done))(t)
	var v map[string]any
	testkit.OK(t, json.Unmarshal(raw, &v))
	v["handoff"].(map[string]any)["checks"] = []map[string]string{{"command": "make", "expect": "ok"}}
	p.verdict("orch-1", v)
	if len(effects[input.RunCheck](p)) != 1 {
		t.Fatal("no check is run")
	}
	return p
}

// TestChecksWaitWhileHalted: during a halt no check starts or counts; each runs after the human continues the run.
func TestChecksWaitWhileHalted(t *testing.T) {
	p := checking(t)
	first := effects[input.RunCheck](p)[0]
	p.out = nil
	p.command(contract.Halt{})
	p.do(input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, first.Serial)})
	p.do(input.Checked{Serial: first.Serial, Number: 1, Request: first.Request, Failed: "not permitted"})
	p.happen("arbiter", bridge.Done{})
	p.happen("orch-1", bridge.Done{})
	p.do(input.BridgeLost{Message: "gone"})
	p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
	p.do(input.BridgeBack{})
	if p.s.Task.Phase != machine.Evaluating || len(p.s.Handoff.Documents) != 1 ||
		len(p.s.Handoff.Documents[0].Receipts) != 0 || len(effects[input.RunCheck](p)) != 0 {
		t.Fatalf("%s: %+v", p.s.Task.Phase, p.s.Handoff.Documents)
	}
	p.command(contract.Continue{})
	again := effects[input.RunCheck](p)
	if len(again) != 1 || again[0].Request == first.Request ||
		timer(p.out, fmt.Sprint(HandoffTimerPrefix, first.Serial)) != HandoverPatience {
		t.Fatalf("%+v", again)
	}
	p.do(input.Checked{Serial: first.Serial, Number: 1, Request: again[0].Request, Result: bridge.CheckResult{SHA256: "s", Output: "ok"}})
	if run := p.s.Handoff.ChecksRun(); run == nil || run.Passed != 1 {
		t.Errorf("%+v", run)
	}
	p.folds()
}

// TestTheBridgeIsEndedByAHalt: that is not a crash, whichever of the two inputs comes first, and however often.
func TestTheBridgeIsEndedByAHalt(t *testing.T) {
	for _, first := range []string{"halt", "loss", "loss of the next"} {
		p := begin(t, nil)
		p.spawn("Build it.")
		for range 8 {
			p.out = nil
			lost := input.BridgeLost{Message: "signal: killed", Halted: true}
			switch first {
			case "halt":
				p.command(contract.Halt{})
				p.do(lost)
			case "loss":
				p.do(lost)
				if !p.s.Halted || !p.s.Paused {
					t.Fatal("the loss says that it was a halt, and nothing is halted")
				}
				p.command(contract.Halt{})
			default:
				p.do(input.BridgeLost{Message: "gone"})
				p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
				p.do(lost)
				p.do(input.BridgeBack{})
				p.command(contract.Halt{})
				p.s.Lifecycle.Restarts, p.s.Lifecycle.Crashes = nil, 0 // of the first, which is one
			}
			if !p.s.Halted || p.s.Lifecycle.Crashes != 0 || len(p.s.Lifecycle.Restarts) != 0 || p.s.Ending != nil {
				t.Fatalf("%s: halted %v, %d crashes, %v, %+v", first, p.s.Halted, p.s.Lifecycle.Crashes, p.s.Lifecycle.Restarts, p.s.Ending)
			}
			if n := len(told[contract.Halted](p)); n != 1 {
				t.Errorf("%s: told %d times", first, n)
			}
			p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
			p.do(input.BridgeBack{})
			if len(effects[input.Spawn](p)) != 0 {
				t.Fatalf("%s: an agent is started", first)
			}
			p.command(contract.Continue{})
			if n := len(effects[input.Spawn](p)); n != 2 {
				t.Fatalf("%s: %d are started", first, n)
			}
			p.settles()
		}
	}
}

// TestADeciderIsHaltedToo: its process is ended, too. This failure says nothing about the task, and the decider
// is asked again.
func TestADeciderIsHaltedToo(t *testing.T) {
	p := begin(t, stateless)
	q := p.asked()
	p.command(contract.Halt{})
	q.Failed = "signal: killed"
	p.do(q)
	if p.s.Spawned != 0 || p.s.Rulings.Decisions != 0 {
		t.Fatalf("the rules decided: %s", p.s.LivingText())
	}
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Signal: "killed", Expected: true}})
	p.command(contract.Continue{})
	if again := p.asked(); again.Serial == q.Serial {
		t.Error("it is not asked again")
	}
	p.folds()
}

// TestLateRequestsOfOneThatIsStopped: a late request of a stopped agent reaches no human and starts nothing.
func TestLateRequestsOfOneThatIsStopped(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverStopping)
	p.do(asked(p, "orch-1", "p1", "ask"))
	if len(p.s.Permission.Open) != 0 || last[contract.Permission](p).By != contract.ByShutdown {
		t.Errorf("%+v", p.s.Permission.Open)
	}
	p.ends("orch-1")
	p.do(asked(p, "orch-1", "p2", "ask"))
	if len(p.s.Permission.Open) != 0 {
		t.Errorf("of one whose session a human has: %+v", p.s.Permission.Open)
	}
	p = begin(t, nil)
	p.command(contract.Halt{})
	if r := p.call("arbiter", "spawn_orchestrator", `{"prompt":"x"}`); !r.IsError || p.s.Spawned != 0 {
		t.Errorf("halted: %+v", r)
	}
}

// TestAWayOutOfATerminalThatIsNotClosed: the human can ask again to close it.
func TestAWayOutOfATerminalThatIsNotClosed(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverOpen)
	p.command(contract.Detach{ID: "orch-1"})
	p.command(contract.Detach{ID: "orch-1"})
	if n := len(effects[input.ClosePTY](p)); n != 2 {
		t.Errorf("closed %d times", n)
	}
}
