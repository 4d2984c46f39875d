package supervisor

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestACrashIsFollowedByAnotherProcess: a crash is noticed, reported and waited for, and another process begins
// on the same session with the next generation.
func TestACrashIsFollowedByAnotherProcess(t *testing.T) {
	p, id := oneWorks(t, nil)
	old := p.agent(id)
	p.dies(id)
	a := p.agent(id)
	testkit.Need(t, a.Status == AgentDown && len(p.spawns(id)) == 1, "it is %s, %d starts", a.Status, len(p.spawns(id)))
	r := last[contract.Restart](p)
	testkit.Check(t, r.Attempt == 1 && strings.Contains(r.Reason, "signal: killed") && r.DelayMS >= 0 &&
		r.DelayMS <= 1000, "restart %+v", r)
	if d := last[contract.Done](p); d.Reason != string(bridge.CatCrash) || p.s.Lifecycle.Crashes != 1 {
		t.Errorf("done %+v, %d crashes", d, p.s.Lifecycle.Crashes)
	}
	p.do(input.Timer{Key: RestartPrefix + RunOf(a.AgentRef)})
	s := p.spawns(id)[1]
	testkit.Check(t, s.Generation == 2 && s.Config.Resume && s.Config.SessionID == old.SessionID &&
		slices.Equal(s.Pending, old.Turn), "start %+v", s)
	testkit.Like(t, "spawn", contract.Spawn{Resumed: true, Generation: 2}, last[contract.Spawn](p))
	p.do(input.Timer{Key: RestartPrefix + RunOf(a.AgentRef)})
	testkit.Same(t, "a second ring started a second process", 2, len(p.spawns(id)))
}

// TestACrashLoopIsParked: an agent ends 100 ms after each start, 20 times.
func TestACrashLoopIsParked(t *testing.T) {
	for _, id := range []string{"arbiter", "orch-1"} {
		t.Run(id, func(t *testing.T) {
			p, _ := oneWorks(t, nil)
			began := p.at
			for range 20 {
				if p.agent(id).Status == AgentParked {
					break
				}
				p.crash(id, 1)
			}
			testkit.Need(t, p.agent(id).Status == AgentParked && p.at.Sub(began) <= time.Minute, "it is %s after %s",
				p.agent(id).Status, p.at.Sub(began))
			starts := len(p.spawns(id))
			testkit.Same(t, "starts within a minute", 5, starts) // the first, and four more
			e := last[contract.Error](p)
			testkit.Check(t, strings.Contains(e.Message, "parked: 5 failures in 1m") &&
				slices.Contains(e.RecoveryOptions, "retry"), "error %+v", e)
			// Only a person can start it.
			for g := range 7 {
				p.do(input.Timer{Key: RestartPrefix + RunOf(bridge.AgentRef{ID: id, Generation: g})})
				p.do(input.Timer{Key: WatchPrefix + RunOf(bridge.AgentRef{ID: id, Generation: g})})
				p.do(input.Timer{Key: RetryPrefix + RunOf(bridge.AgentRef{ID: id, Generation: g})})
			}
			testkit.Check(t, len(p.spawns(id)) == starts && len(effects[input.Probe](p)) == 0,
				"something was done with a parked agent")
			if id == "arbiter" {
				// The rules continue in its place, and the human may restart it.
				if n := last[contract.Notice](p); !strings.Contains(n.Text, "continues by the rules") ||
					!strings.Contains(p.s.Rulings.FallbackReason, "parked") {
					t.Errorf("the human was given %q; fallback mode %q", n.Text, p.s.Rulings.FallbackReason)
				}
				testkit.Check(t, slices.Contains(e.RecoveryOptions, "cancel"), "error %+v", e)
			} else {
				p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
				p.contains("the Arbiter", p.lastSent("arbiter"), "parked", "Summon another")
			}
		})
	}
}

// TestMessageRestartsAParkedAgent: it continues its interrupted work.
func TestMessageRestartsAParkedAgent(t *testing.T) {
	for name, word := range map[string]contract.CommandBody{"choose": contract.Choose{Option: "retry"},
		"retry": contract.RetryLast{}} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, nil)
			p.proven("arbiter")
			p.crash("arbiter", 5)
			p.refuses(contract.Say{Text: "hello?"}, "no living")
			p.mustCommand(word)
			p.comes("arbiter", bridge.SpawnResult{Resumed: true,
				Deliveries: []bridge.DeliveryStatus{{MessageID: p.agent("arbiter").Turn[0], Status: bridge.DeliveryBegun}}})
			p.contains("its message", p.lastSent("arbiter"), "in the middle of your last turn")
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Here again."))
		})
	}
	t.Run("an Orchestrator", func(t *testing.T) {
		p, id := oneWorks(t, nil)
		p.crash(id, 5)
		p.mustCommand(contract.Choose{Option: "retry"})
		p.comes(id, bridge.SpawnResult{Resumed: true}) // it never read its brief
		a := p.agent(id)
		testkit.Check(t, a.Status == AgentBusy && !a.Dismissed && a.Works(), "it is %s %s", a.Status, a.Standing)
		p.contains("its message", p.lastSent(id), "before you could read", "## Your brief\n\nwork")
		testkit.Same(t, "the task", machine.Executing, p.s.Task.Phase)
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.contains("the Arbiter", p.lastSent("arbiter"), "The human had Orchestrator I (orch-1) started again")
	})
	t.Run("an Orchestrator that waited", func(t *testing.T) {
		p, id := oneWorks(t, nil)
		p.verdict(id, report("question", "Which port?", true))
		p.proven("arbiter")
		p.crash(id, 5)
		p.mustCommand(contract.Choose{Option: "retry"})
		p.comes(id, bridge.SpawnResult{Resumed: true})
		testkit.Same(t, id, AgentBusy, p.agent(id).Status)
	})
	t.Run("with a question open", func(t *testing.T) {
		p := begin(t, nil)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
		p.crash("arbiter", 5)
		p.command(contract.Choose{Option: "retry"})
		p.comes("arbiter", bridge.SpawnResult{Resumed: true})
		p.say("8080")
		p.contains("the answer", p.lastSent("arbiter"), "8080")
	})
	t.Run("after another error", func(t *testing.T) {
		p, id := oneWorks(t, nil)
		p.crash("arbiter", 5)
		for range 3 {
			p.turn(id, bridge.Turn{Text: "hm"})
		}
		p.mustCommand(contract.Choose{Option: "retry"})
	})
}

// TestLateEventOfAnEarlierProcess: a late event of an earlier process does not change the present one.
func TestLateEventOfAnEarlierProcess(t *testing.T) {
	p, id := oneWorks(t, nil)
	old := p.agent(id)
	p.rebirth(id, bridge.DeliveryAbsent)
	before := fingerprint(t, &p.s)
	for _, f := range []input.Body{
		byBridge(old.AgentRef, bridge.Done{Exit: bridge.Exit{Code: 1}}),
		byBridge(old.AgentRef, bridge.Delivered{MessageID: p.agent(id).Turn[0]}),
		byBridge(old.AgentRef, bridge.Turn{MessageIDs: p.agent(id).Turn, Outcome: bridge.TurnDone, CostUSD: 5}),
		byBridge(old.AgentRef, bridge.Context{Pct: 99, Window: 1}),
		input.Spawned{Agent: old.AgentRef}, input.NotSpawned{Agent: old.AgentRef, Category: bridge.CatCrash},
		input.NotSent{Agent: old.AgentRef, MessageID: p.agent(id).Turn[0]},
		input.Probed{Agent: old.AgentRef, Result: bridge.ProbeResult{RSSBytes: 1 << 50}},
		input.Timer{Key: RestartPrefix + RunOf(old.AgentRef)}, input.Timer{Key: WatchPrefix + RunOf(old.AgentRef)},
		input.Timer{Key: RetryPrefix + RunOf(old.AgentRef)},
	} {
		testkit.Empty(t, fmt.Sprintf("%T %+v led", f, f), p.do(f))
	}
	testkit.Same(t, "the state is another", before, fingerprint(t, &p.s))
	p.do(asked(p, id, "p1", "ask"))
	late := asked(p, id, "p2", "allow")
	late.Params.AgentRef = old.AgentRef
	p.do(late)
	testkit.Like(t, "a tool of the earlier process", contract.Permission{Request: "p2", Behavior: bridge.Deny},
		last[contract.Permission](p))
}

// TestAnEndCountsOnce: a failed start or a lost bridge was reported already when the process's own end is
// reported.
func TestAnEndCountsOnce(t *testing.T) {
	for status, end := range map[string]func(p *play){
		"down, after its start":   func(p *play) { p.notSpawned("orch-1", bridge.CatStart, "too many open files") },
		"down, with the bridge":   func(p *play) { p.do(input.BridgeLost{Message: "killed"}) },
		"parked, after its turns": func(p *play) { p.spawned("orch-1"); p.crash("orch-1", 5) },
	} {
		p := begin(t, nil)
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
		end(p)
		counts := func() [4]any {
			return [4]any{p.agent("orch-1").Status, p.s.Lifecycle.Crashes, len(told[contract.Restart](p)),
				len(p.s.Lifecycle.Restarts)}
		}
		before := counts()
		p.happen("orch-1", bridge.Done{Exit: bridge.Exit{Code: 1}})
		testkit.Same(t, status, before, counts())
		testkit.Includes(t, "it is", status, string(p.agent("orch-1").Status))
	}
}

// TestEndingOneThatIsDown: the agent is killed or released while its restart is due or in progress: no process
// remains, and none follows.
func TestEndingOneThatIsDown(t *testing.T) {
	for name, end := range map[string]func(p *play, id string){
		"kill": func(p *play, id string) { p.command(contract.Kill{ID: id}) },
		"release": func(p *play, id string) {
			p.call("arbiter", "release_orchestrator", `{"id":"`+id+`","reason":"enough"}`)
		},
	} {
		for _, starting := range []bool{false, true} {
			p := begin(t, nil)
			id := p.spawn("work")
			p.dies(id)
			ref := p.agent(id).AgentRef
			if starting {
				p.do(input.Timer{Key: RestartPrefix + RunOf(ref)})
				ref = p.agent(id).AgentRef
			}
			end(p, id)
			k := effects[input.Kill](p)
			testkit.Check(t, starting == (len(k) == 1), "%s, starting %v: kills %v", name, starting, k)
			n := len(p.spawns(id))
			p.do(input.Timer{Key: RestartPrefix + RunOf(ref)})
			p.do(input.Spawned{Agent: ref})
			if starting {
				p.do(byBridge(ref, bridge.Done{Exit: bridge.Exit{Expected: true}}))
			}
			if a := p.agent(id); a.Status != AgentEnded || !a.Dismissed || len(p.spawns(id)) != n {
				t.Errorf("%s, starting %v: it is %s, %d starts more", name, starting, a.Status, len(p.spawns(id))-n)
			}
		}
	}
}

// TestShutdownAtAnyPointOfAReturn: the run ends, reports its end once, and starts no agent.
func TestShutdownAtAnyPointOfAReturn(t *testing.T) {
	for name, act := range map[string]func(p *play, id string){
		"spawn":   func(p *play, id string) { p.call("arbiter", "spawn_orchestrator", `{"prompt":"more"}`) },
		"down":    func(p *play, id string) { p.dies(id) },
		"restart": func(p *play, id string) { p.dies(id); p.restartDue(id) },
		"being ended": func(p *play, id string) {
			p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatProtocol})
		},
		"parked":           func(p *play, id string) { p.crash(id, 5) },
		"parked Arbiter":   func(p *play, id string) { p.crash("arbiter", 5) },
		"resume":           func(p *play, id string) { p.resume("") },
		"resume, half way": func(p *play, id string) { p.resume(""); p.comes("arbiter", bridge.SpawnResult{Resumed: true}) },
		"without a bridge": func(p *play, id string) { p.do(input.BridgeLost{Message: "x"}) },
		"bridge on its way": func(p *play, id string) {
			p.do(input.BridgeLost{Message: "x"})
			p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
		},
		"bridge just back":    func(p *play, id string) { p.bridgeReturns() },
		"waiting for a limit": func(p *play, id string) { p.turn(id, limitedTurn(time.Time{})) },
	} {
		t.Run(name, func(t *testing.T) {
			p, id := oneWorks(t, nil)
			act(p, id)
			n, timers := len(effects[input.Spawn](p)), effects[input.SetTimer](p)
			p.do(input.Signal{Signal: "INT"})
			testkit.Same(t, fmt.Sprintf("shutdowns: %v", effects[input.Shutdown](p)), 1,
				len(effects[input.Shutdown](p)))
			for _, e := range timers {
				p.do(input.Timer{Key: e.Key})
			}
			for _, a := range p.s.Agents {
				p.do(input.Spawned{Agent: a.AgentRef})
				p.do(input.NotSpawned{Agent: a.AgentRef, Category: bridge.CatCrash, Message: "it was ended"})
				p.do(byBridge(a.AgentRef, bridge.Done{Exit: bridge.Exit{Expected: true}}))
			}
			p.do(input.BridgeFailed{Message: "no"})
			p.do(input.Stopped{})
			if len(effects[input.Finish](p)) != 1 || len(told[contract.Result](p)) != 1 || len(effects[input.Spawn](p)) != n {
				t.Errorf("ends %v, starts after it %d", effects[input.Finish](p), len(effects[input.Spawn](p))-n)
			}
			for _, a := range p.s.Agents {
				testkit.Same(t, a.ID, AgentEnded, a.Status)
			}
		})
	}
}

// TestAStartThatFailedForWantOfMeans: a start that fails for lack of resources is retried, like a crash; one
// that fails for another reason is reported.
func TestAStartThatFailedForWantOfMeans(t *testing.T) {
	for message, again := range map[string]bool{
		"fork/exec claude: resource temporarily unavailable": true,
		"pipe: too many open files":                          true,
		"fork/exec claude: cannot allocate memory":           true,
		"exit code 1": false,
		"fork/exec claude: no such file or directory": false,
	} {
		p := begin(t, nil)
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
		p.notSpawned("orch-1", bridge.CatStart, message)
		testkit.Same(t, fmt.Sprintf("%s: it is %s", message, p.agent("orch-1").Status), again,
			p.agent("orch-1").Status == AgentDown)
		if again && p.s.Lifecycle.Restarts[0].Class != runconfig.RestartCrash {
			t.Errorf("%s: class %s", message, p.s.Lifecycle.Restarts[0].Class)
		}
	}
}

// TestClassesHaveCategories: each class of ends has its category.
func TestClassesHaveCategories(t *testing.T) {
	f := testkit.Must(parser.ParseFile(token.NewFileSet(), "runconfig/restart.go", nil, parser.SkipObjectResolution))(t)
	declared := 0
	ast.Inspect(f, func(n ast.Node) bool {
		c, ok := n.(*ast.ValueSpec)
		if !ok || c.Type == nil {
			return true
		}
		if of, ok := c.Type.(*ast.Ident); !ok || of.Name != "RestartClass" {
			return true
		}
		class := testkit.Must(strconv.Unquote(c.Values[0].(*ast.BasicLit).Value))(t)
		declared++
		testkit.Check(t, Categories[runconfig.RestartClass(class)] != "", "%s has no category", class)
		return true
	})
	testkit.Check(t, declared != 0 && declared == len(Categories), "%d classes are declared, %d have a category",
		declared, len(Categories))
}

// TestHalt: a halt ends every agent's process at once. Until a continue command nothing is started or
// sent, and then everything continues where it was.
func TestHalt(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("Build it.")
	p.do(asked(p, one, "p1", "ask"))
	p.s.Agents[0].CurrentTool = ""
	busy := []string{"arbiter", one}
	p.out = nil
	p.mustCommand(contract.Halt{})
	kills := effects[input.Kill](p)
	testkit.Need(t, len(kills) == 2 && kills[0].Now && kills[1].Now, "%+v", kills)
	e := told[contract.Halted](p)
	testkit.Check(t, len(e) == 1 && e[0].By == input.ChannelStdin, "%+v", e)
	if e := told[contract.Permission](p); len(e) != 1 || e[0].Behavior != bridge.Deny || e[0].By != "halted" {
		t.Errorf("%+v", e)
	}
	p.out = nil
	for _, id := range busy {
		p.happen(id, bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed", Expected: true}})
		testkit.Same(t, id, AgentDown, p.agent(id).Status)
	}
	if n := len(effects[input.Spawn](p)); n != 0 || p.s.Lifecycle.Crashes != 0 || len(told[contract.Restart](p)) != 0 {
		t.Errorf("%d starts, %d crashes", n, p.s.Lifecycle.Crashes)
	}
	// Messages given meanwhile wait, and so do agents that are spawned.
	p.say("And write the manual.")
	p.mustCommand(contract.ForceAgent{Mode: "tester"})
	p.restartDue(one)
	testkit.Check(t, len(effects[input.Spawn](p)) == 0 && len(effects[input.Send](p)) == 0,
		"halted, and something was started or sent")
	ok, why := p.command(contract.Halt{})
	testkit.Check(t, ok && strings.Contains(why, "already"), "%v", why)
	p.mustCommand(contract.Continue{})
	testkit.Same(t, "starts", 3, len(effects[input.Spawn](p)))
	p.back(bridge.DeliveryBegun)
	testkit.Check(t, p.agent("arbiter").Status == AgentBusy && p.agent(one).Status == AgentBusy,
		"the Arbiter is %s, %s is %s", p.agent("arbiter").Status, one, p.agent(one).Status)

	p, one = fused(t, nil)
	p.happen(one, bridge.Spent{CostUSD: 1.04})
	testkit.Same(t, "whose process is still being ended", AgentParked, p.agent(one).Status)
	p.out = nil
	p.mustCommand(contract.Halt{})
	testkit.Same(t, "kills", 2, len(effects[input.Kill](p)))
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
		p.command(contract.Halt{})
		testkit.Need(t, p.agent("arbiter").Status == AgentRestarting, "the Arbiter is %s", p.agent("arbiter").Status)
		p.out = nil
		for _, id := range ids {
			ends := []func(){
				func() { p.happen(id, bridge.Done{Exit: bridge.Exit{Signal: "killed"}}) },
				func() {
					p.notSpawned(id, bridge.CatStart, id+" was stopped while it was starting")
				},
			}
			if !doneFirst {
				slices.Reverse(ends)
			}
			ends[0]()
			ends[1]()
			testkit.Same(t, id, AgentDown, p.agent(id).Status)
		}
		testkit.Check(t, p.s.Ending == nil && len(told[contract.Error](p)) == 0, "ending %+v, errors %+v", p.s.Ending,
			told[contract.Error](p))
		ends := told[contract.Done](p)
		other := func(d contract.Done) bool { return d.Reason != "halted" }
		testkit.Check(t, len(ends) == len(ids) && !slices.ContainsFunc(ends, other), "ends %+v", ends)
		p.command(contract.Continue{})
		testkit.Same(t, "starts", len(ids), len(effects[input.Spawn](p)))
	}
}

// TestHaltAndContinueInOneBreath: an agent that is still being ended is started again when it has ended. A halt that
// changes nothing is counted, too, so that a client that waits for its halt knows that it was accepted.
func TestHaltAndContinueInOneBreath(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.Halt{})
	p.command(contract.Halt{})
	p.command(contract.Continue{})
	testkit.Same(t, "halts", 2, p.s.Halts)
	p.out = nil
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Signal: "killed"}})
	testkit.Same(t, "len(effects[input.Spawn](p))", 1, len(effects[input.Spawn](p)))
	testkit.Same(t, "the Arbiter", AgentStarting, p.agent("arbiter").Status)
}

// TestContinueWhileTheBridgeIsEnded: a halt ends the bridge, and a continue command comes before the bridge has
// ended. The run continues with the next bridge. Without a continue command the halt remains in force.
func TestContinueWhileTheBridgeIsEnded(t *testing.T) {
	for _, applied := range []bool{true, false} {
		p, _ := oneWorks(t, nil)
		p.command(contract.Halt{})
		p.command(contract.Continue{})
		p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Signal: "killed"}})
		p.out = nil
		p.do(input.BridgeLost{Message: "it ended", Halted: true, HaltApplied: applied})
		reasons := testkit.Each(told[contract.Done](p), func(d contract.Done) string { return d.Reason })
		testkit.Same(t, "why the agents have ended", []string{string(ClassHalt), string(ClassHalt)}, reasons)
		p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
		p.do(input.BridgeBack{Claude: p.s.Lifecycle.Claude()})
		starts, halts := len(effects[input.Spawn](p)), len(told[contract.Halted](p))
		testkit.Check(t, p.s.Halted != applied && (starts == 0) != applied && (halts == 0) == applied &&
			p.s.Lifecycle.Crashes == 0, "applied: %v, halted: %v, %d starts, %d halts, %d crashes", applied, p.s.Halted,
			starts, halts, p.s.Lifecycle.Crashes)
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
					if still := word == ""; p.s.Halted || p.s.Paused != still ||
						(p.notices("is still paused by a human") == 1) != still ||
						(len(effects[input.Send](p)) == 0) != still {
						t.Fatalf("paused %v, halted %v, %d messages sent", p.s.Paused, p.s.Halted, len(effects[input.Send](p)))
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
