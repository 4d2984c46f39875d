package supervisor

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestHalt: a halt ends every agent's process at once. Until a continue command nothing is started or
// sent, and then everything continues where it was.
func TestHalt(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("Build it.")
	p.do(asked(p, one, "p1", "ask"))
	p.s.Agents[0].CurrentTool = ""
	busy := []string{"arbiter", one}
	p.out = nil
	if ok, why := p.command(contract.Halt{}); !ok {
		t.Fatal(why)
	}
	kills := effects[effect.Kill](p)
	if len(kills) != 2 || !kills[0].Now || !kills[1].Now {
		t.Fatalf("%+v", kills)
	}
	if e := told[contract.Halted](p); len(e) != 1 || e[0].By != input.ChannelStdin {
		t.Errorf("%+v", e)
	}
	if e := told[contract.Permission](p); len(e) != 1 || e[0].Behavior != bridge.Deny || e[0].By != "halted" {
		t.Errorf("%+v", e)
	}
	p.out = nil
	for _, id := range busy {
		p.happen(id, bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed", Expected: true}})
		if a := p.agent(id); a.Status != AgentDown {
			t.Errorf("%s is %s", id, a.Status)
		}
	}
	if n := len(effects[effect.Spawn](p)); n != 0 || p.s.Lifecycle.Crashes != 0 || len(told[contract.Restart](p)) != 0 {
		t.Errorf("%d starts, %d crashes", n, p.s.Lifecycle.Crashes)
	}
	// Messages given meanwhile wait, and so do agents that are spawned.
	p.say("And write the manual.")
	if ok, why := p.command(contract.ForceAgent{Mode: "tester"}); !ok {
		t.Fatal(why)
	}
	p.do(input.Timer{Key: RestartKey(p.agent(one).AgentRef)})
	if len(effects[effect.Spawn](p)) != 0 || len(effects[effect.Send](p)) != 0 {
		t.Error("halted, and something was started or sent")
	}
	if ok, why := p.command(contract.Halt{}); !ok || !strings.Contains(why, "already") {
		t.Error(why)
	}
	if ok, why := p.command(contract.Continue{}); !ok {
		t.Fatal(why)
	}
	if n := len(effects[effect.Spawn](p)); n != 3 {
		t.Fatalf("%d starts", n)
	}
	p.back(bridge.DeliveryBegun)
	if p.agent("arbiter").Status != AgentBusy || p.agent(one).Status != AgentBusy {
		t.Errorf("the Arbiter is %s, %s is %s", p.agent("arbiter").Status, one, p.agent(one).Status)
	}
}

// TestHaltWhileAgentsStart: an agent whose start a halt cuts off is reported twice, as a process that ended and as one
// that did not start, in any order. It has not failed, and starts again with the others.
func TestHaltWhileAgentsStart(t *testing.T) {
	for _, doneFirst := range []bool{true, false} {
		p := begin(t, nil)
		ids := []string{"arbiter", p.spawn("Build it.")}
		p.command(contract.Halt{})
		for _, id := range ids {
			p.happen(id, bridge.Done{Exit: bridge.Exit{Signal: "killed"}})
		}
		p.command(contract.Continue{})
		if p.command(contract.Halt{}); p.agent("arbiter").Status != AgentRestarting {
			t.Fatalf("the Arbiter is %s", p.agent("arbiter").Status)
		}
		p.out = nil
		for _, id := range ids {
			ends := []func(){
				func() { p.happen(id, bridge.Done{Exit: bridge.Exit{Signal: "killed"}}) },
				func() {
					p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: bridge.CatStart,
						Message: id + " was stopped while it was starting"})
				},
			}
			if !doneFirst {
				slices.Reverse(ends)
			}
			ends[0]()
			ends[1]()
			if a := p.agent(id); a.Status != AgentDown {
				t.Errorf("%s is %s", id, a.Status)
			}
		}
		if p.s.Ending != nil || len(told[contract.Error](p)) != 0 {
			t.Errorf("ending %+v, errors %+v", p.s.Ending, told[contract.Error](p))
		}
		ends := told[contract.Done](p)
		other := func(d contract.Done) bool { return d.Reason != "halted" }
		if len(ends) != len(ids) || slices.ContainsFunc(ends, other) {
			t.Errorf("ends %+v", ends)
		}
		p.command(contract.Continue{})
		testkit.Same(t, "starts", len(ids), len(effects[effect.Spawn](p)))
	}
}

// TestHaltAndContinueInOneBreath: an agent that is still being ended is started again when it has ended.
func TestHaltAndContinueInOneBreath(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.Halt{})
	p.command(contract.Continue{})
	p.out = nil
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Signal: "killed"}})
	if len(effects[effect.Spawn](p)) != 1 || p.agent("arbiter").Status != AgentStarting {
		t.Errorf("the Arbiter is %s", p.agent("arbiter").Status)
	}
}

// TestHaltWithoutABridge: if the halt had to kill the bridge, the next bridge starts no agent either.
func TestHaltWithoutABridge(t *testing.T) {
	p := begin(t, nil)
	p.do(input.BridgeLost{Message: "signal: killed"}) // the kill switch bypassed the loop
	p.command(contract.Halt{})
	p.out = nil
	p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
	p.do(input.BridgeBack{Claude: p.s.Lifecycle.Claude()})
	if len(effects[effect.Spawn](p)) != 0 {
		t.Error("a bridge that came back started an agent")
	}
	p.command(contract.Continue{})
	if len(effects[effect.Spawn](p)) != 1 {
		t.Error("continue started no agent")
	}
}

// TestContinueWhileTheBridgeIsEnded: a halt ends the bridge, and a continue command comes before the bridge has
// ended. The run continues with the next bridge. Without a continue command the halt remains in force.
func TestContinueWhileTheBridgeIsEnded(t *testing.T) {
	for _, heeded := range []bool{true, false} {
		p := begin(t, nil)
		p.command(contract.Halt{})
		p.command(contract.Continue{})
		p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Signal: "killed"}})
		p.out = nil
		p.do(input.BridgeLost{Message: "it ended", Halted: true, Heeded: heeded})
		p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
		p.do(input.BridgeBack{Claude: p.s.Lifecycle.Claude()})
		starts, halts := len(effects[effect.Spawn](p)), len(told[contract.Halted](p))
		if p.s.Halted == heeded || (starts == 0) == heeded || (halts == 0) != heeded || p.s.Lifecycle.Crashes != 0 {
			t.Errorf("heeded: %v, halted: %v, %d starts, %d halts, %d crashes", heeded, p.s.Halted, starts, halts, p.s.Lifecycle.Crashes)
		}
	}
}

// TestHaltsAreCounted: halts that change nothing are counted, too, so that a client that waits for its halt
// knows that it was accepted.
func TestHaltsAreCounted(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.Halt{})
	p.command(contract.Halt{})
	p.command(contract.Continue{})
	if p.s.Halts != 2 || p.s.Halted {
		t.Errorf("%d halts, halted: %v", p.s.Halts, p.s.Halted)
	}
}

// TestHaltAndTheEnd: a halted run ends, and is resumed, like any other.
func TestHaltAndTheEnd(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.Halt{})
	p.happen("arbiter", bridge.Done{})
	p.do(input.Signal{Signal: "INT"})
	p.do(input.Stopped{})
	p.out = nil
	p.do(input.Resumed{Options: p.s.Options, Claude: p.s.Lifecycle.Claude(), Salt: "s"})
	if p.s.Halted || len(effects[effect.Spawn](p)) != 1 {
		t.Errorf("halted: %v, %d starts", p.s.Halted, len(effects[effect.Spawn](p)))
	}
}

// TestPauseOutlivesTheProcess: a run that a human paused or halted is still paused when it is resumed, after
// any end of its process. It continues when the human says so, or sends a message with the resume.
func TestPauseOutlivesTheProcess(t *testing.T) {
	for name, stop := range map[string]contract.CommandBody{"paused": contract.Pause{}, "halted": contract.Halt{}} {
		for how, end := range map[string]func(p *play){"killed": func(*play) {}, "stopped": (*play).stopped} {
			for _, word := range []string{"", "Go on."} {
				t.Run(name+", "+how+", "+word, func(t *testing.T) {
					p := begin(t, nil)
					p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
					p.say("Build it.")
					p.mustCommand(stop)
					end(p)
					p.out = nil
					p.resume(word)
					p.back(bridge.DeliverySeen)
					p.say("And test it.")
					if still := word == ""; p.s.Halted || p.s.Paused != still || (p.notices("is still paused by a human") == 1) != still ||
						(len(effects[effect.Send](p)) == 0) != still {
						t.Fatalf("paused %v, halted %v, %d messages sent", p.s.Paused, p.s.Halted, len(effects[effect.Send](p)))
					}
					if word == "" {
						p.mustCommand(contract.Continue{})
					}
					testkit.Same(t, "it does not go on: the Arbiter is", AgentBusy, p.agent("arbiter").Status)
				})
			}
		}
	}
}

// TestPausedAndNothingUnderWay: when a run that was resumed is continued, the Arbiter rules how it continues.
func TestPausedAndNothingUnderWay(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.mustCommand(contract.Pause{})
	p.turn(one, bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.say("Look at it.")
	p.resume("")
	p.back(bridge.DeliverySeen)
	p.mustCommand(contract.Continue{})
	testkit.Same(t, "no agent continues: the Arbiter is", AgentBusy, p.agent("arbiter").Status)
}
