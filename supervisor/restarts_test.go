package supervisor

import (
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
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestACrashIsFollowedByAnotherProcess: a crash is noticed, reported and waited for, and another process begins
// on the same session with the next generation.
func TestACrashIsFollowedByAnotherProcess(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	old := p.agent(id)
	p.dies(id)
	a := p.agent(id)
	if a.Status != AgentDown || len(p.spawns(id)) != 1 {
		t.Fatalf("it is %s, %d starts", a.Status, len(p.spawns(id)))
	}
	r := last[contract.Restart](p)
	if r.Attempt != 1 || !strings.Contains(r.Reason, "signal: killed") || r.DelayMS < 0 || r.DelayMS > 1000 {
		t.Errorf("restart %+v", r)
	}
	if d := last[contract.Done](p); d.Reason != string(bridge.CatCrash) || p.s.Lifecycle.Crashes != 1 {
		t.Errorf("done %+v, %d crashes", d, p.s.Lifecycle.Crashes)
	}
	p.do(input.Timer{Key: RestartKey(a.AgentRef)})
	s := p.spawns(id)[1]
	if s.Generation != 2 || !s.Config.Resume || s.Config.SessionID != old.SessionID || !slices.Equal(s.Pending, old.Turn) {
		t.Errorf("start %+v", s)
	}
	if e := last[contract.Spawn](p); !e.Resumed || e.Generation != 2 {
		t.Errorf("spawn %+v", e)
	}
	p.do(input.Timer{Key: RestartKey(a.AgentRef)})
	if len(p.spawns(id)) != 2 {
		t.Error("a second ring started a second process")
	}
	p.folds()
}

// TestACrashLoopIsParked: an agent ends 100 ms after each start, 20 times.
func TestACrashLoopIsParked(t *testing.T) {
	for _, id := range []string{"arbiter", "orch-1"} {
		t.Run(id, func(t *testing.T) {
			p := begin(t, nil)
			p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			began := p.at
			for range 20 {
				if p.agent(id).Status == AgentParked {
					break
				}
				p.crash(id, 1)
			}
			if p.agent(id).Status != AgentParked || p.at.Sub(began) > time.Minute {
				t.Fatalf("it is %s after %s", p.agent(id).Status, p.at.Sub(began))
			}
			starts := len(p.spawns(id))
			if starts != 5 { // the first, and four more
				t.Errorf("%d starts within a minute", starts)
			}
			e := last[contract.Error](p)
			if !strings.Contains(e.Message, "parked: 5 failures in 1m") || !slices.Contains(e.RecoveryOptions, "retry") {
				t.Errorf("error %+v", e)
			}
			// Only a person can start it.
			for g := range 7 {
				p.do(input.Timer{Key: RestartKey(bridge.AgentRef{ID: id, Generation: g})})
				p.do(input.Timer{Key: WatchKey(bridge.AgentRef{ID: id, Generation: g})})
				p.do(input.Timer{Key: RetryKey(bridge.AgentRef{ID: id, Generation: g})})
			}
			if len(p.spawns(id)) != starts || len(effects[effect.Probe](p)) != 0 {
				t.Error("something was done with a parked agent")
			}
			if id == "arbiter" {
				// The rules continue in its place, and the human may restart it.
				if n := last[contract.Notice](p); !strings.Contains(n.Text, "continues by the rules") || !strings.Contains(p.s.Rulings.FallbackReason, "parked") {
					t.Errorf("the human was given %q; fallback mode %q", n.Text, p.s.Rulings.FallbackReason)
				}
				if !slices.Contains(e.RecoveryOptions, "cancel") {
					t.Errorf("error %+v", e)
				}
			} else {
				p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
				p.contains("the Arbiter", p.lastSent("arbiter"), "parked", "Summon another")
			}
			p.folds()
		})
	}
}

// TestMessageRestartsAParkedAgent: it continues its interrupted work.
func TestMessageRestartsAParkedAgent(t *testing.T) {
	for name, word := range map[string]contract.CommandBody{"choose": contract.Choose{Option: "retry"}, "retry": contract.RetryLast{}} {
		p := begin(t, nil)
		p.proven("arbiter")
		p.crash("arbiter", 5)
		if ok, why := p.command(contract.Say{Text: "hello?"}); ok || !strings.Contains(why, "no living") {
			t.Errorf("%s: a word to one that is parked: %v %s", name, ok, why)
		}
		if ok, why := p.command(word); !ok {
			t.Fatalf("%s: %s", name, why)
		}
		p.comes("arbiter", bridge.SpawnResult{Resumed: true, Deliveries: []bridge.DeliveryStatus{{MessageID: p.agent("arbiter").Turn[0], Status: bridge.DeliveryBegun}}})
		p.contains("its message", p.lastSent("arbiter"), "in the middle of your last turn")
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Here again."))
		p.folds()
	}
	t.Run("an Orchestrator", func(t *testing.T) {
		p := begin(t, nil)
		id := p.spawn("work")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.crash(id, 5)
		if ok, why := p.command(contract.Choose{Option: "retry"}); !ok {
			t.Fatal(why)
		}
		p.comes(id, bridge.SpawnResult{Resumed: true})
		if p.agent(id).Status == AgentParked || p.agent(id).Dismissed {
			t.Errorf("it is %s", p.agent(id).Status)
		}
		p.folds()
	})
	t.Run("with a question open", func(t *testing.T) {
		p := begin(t, nil)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
		p.crash("arbiter", 5)
		p.command(contract.Choose{Option: "retry"})
		p.comes("arbiter", bridge.SpawnResult{Resumed: true})
		p.say("8080")
		p.contains("the answer", p.lastSent("arbiter"), "8080")
		p.folds()
	})
	t.Run("after another error", func(t *testing.T) {
		p := begin(t, nil)
		id := p.spawn("work")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.crash("arbiter", 5)
		for range 3 {
			p.turn(id, bridge.Turn{Text: "hm"})
		}
		if ok, why := p.command(contract.Choose{Option: "retry"}); !ok {
			t.Error(why)
		}
	})
}

// TestLateEventOfAnEarlierProcess: a late event of an earlier process does not change the present one.
func TestLateEventOfAnEarlierProcess(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	old := p.agent(id)
	p.rebirth(id, bridge.DeliveryAbsent)
	before := fingerprint(t, &p.s)
	for _, f := range []input.Body{
		input.AgentEvent{Event: bridge.Event{AgentRef: old.AgentRef, Body: bridge.Done{Exit: bridge.Exit{Code: 1}}}},
		input.AgentEvent{Event: bridge.Event{AgentRef: old.AgentRef,
			Body: bridge.Delivered{MessageID: p.agent(id).Turn[0]}}},
		input.AgentEvent{Event: bridge.Event{AgentRef: old.AgentRef, Body: bridge.Turn{MessageIDs: p.agent(id).Turn,
			Outcome: bridge.TurnDone, CostUSD: 5}}},
		input.AgentEvent{Event: bridge.Event{AgentRef: old.AgentRef, Body: bridge.Context{Pct: 99, Window: 1}}},
		input.Spawned{Agent: old.AgentRef}, input.NotSpawned{Agent: old.AgentRef, Category: bridge.CatCrash},
		input.NotSent{Agent: old.AgentRef, MessageID: p.agent(id).Turn[0]},
		input.Probed{Agent: old.AgentRef, Result: bridge.ProbeResult{RSSBytes: 1 << 50}},
		input.Timer{Key: RestartKey(old.AgentRef)}, input.Timer{Key: WatchKey(old.AgentRef)},
		input.Timer{Key: RetryKey(old.AgentRef)},
	} {
		if out := p.do(f); len(out) != 0 {
			t.Errorf("%T %+v led to %v", f, f, out)
		}
	}
	if fingerprint(t, &p.s) != before {
		t.Error("the state is another")
	}
	p.do(asked(p, id, "p1", "ask"))
	late := asked(p, id, "p2", "allow")
	late.Params.AgentRef = old.AgentRef
	p.do(late)
	if a := last[contract.Permission](p); a.Request != "p2" || a.Behavior != bridge.Deny {
		t.Errorf("a tool of the earlier process: %+v", a)
	}
}

// TestAnEndCountsOnce: a failed start or a lost bridge was reported already when the process's own end is
// reported.
func TestAnEndCountsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(p *play, id string)
		status AgentStatus
	}{
		"start": {func(p *play, id string) {
			p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: bridge.CatStart, Message: "too many open files"})
		}, AgentDown},
		"bridge": {func(p *play, _ string) { p.do(input.BridgeLost{Message: "killed"}) }, AgentDown},
		"parked": {func(p *play, id string) { p.crash(id, 5) }, AgentParked},
	} {
		p := begin(t, nil)
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
		if name == "parked" {
			p.spawned("orch-1")
		}
		c.end(p, "orch-1")
		crashes, restarts, history := p.s.Lifecycle.Crashes, len(told[contract.Restart](p)), len(p.s.Lifecycle.Restarts)
		p.do(input.AgentEvent{Event: bridge.Event{AgentRef: p.agent("orch-1").AgentRef,
			Body: bridge.Done{Exit: bridge.Exit{Code: 1}}}})
		if a := p.agent("orch-1"); a.Status != c.status || p.s.Lifecycle.Crashes != crashes || len(told[contract.Restart](p)) != restarts || len(p.s.Lifecycle.Restarts) != history {
			t.Errorf("%s: it is %s, %d crashes more, %d restarts more", name, a.Status, p.s.Lifecycle.Crashes-crashes, len(told[contract.Restart](p))-restarts)
		}
		p.folds()
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
				p.do(input.Timer{Key: RestartKey(ref)})
				ref = p.agent(id).AgentRef
			}
			end(p, id)
			if k := effects[effect.Kill](p); starting != (len(k) == 1) {
				t.Errorf("%s, starting %v: kills %v", name, starting, k)
			}
			n := len(p.spawns(id))
			p.do(input.Timer{Key: RestartKey(ref)})
			p.do(input.Spawned{Agent: ref})
			if starting {
				p.do(input.AgentEvent{Event: bridge.Event{AgentRef: ref,
					Body: bridge.Done{Exit: bridge.Exit{Expected: true}}}})
			}
			if a := p.agent(id); a.Status != AgentEnded || !a.Dismissed || len(p.spawns(id)) != n {
				t.Errorf("%s, starting %v: it is %s, %d starts more", name, starting, a.Status, len(p.spawns(id))-n)
			}
			p.folds()
		}
	}
}

// TestShutdownAtAnyPointOfAReturn: the run ends, reports its end once, and starts no agent.
func TestShutdownAtAnyPointOfAReturn(t *testing.T) {
	for name, act := range map[string]func(p *play, id string){
		"spawn":   func(p *play, id string) { p.call("arbiter", "spawn_orchestrator", `{"prompt":"more"}`) },
		"down":    func(p *play, id string) { p.dies(id) },
		"restart": func(p *play, id string) { p.dies(id); p.do(input.Timer{Key: RestartKey(p.agent(id).AgentRef)}) },
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
		"bridge just back": func(p *play, id string) {
			p.do(input.BridgeLost{Message: "x"})
			p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
			p.do(input.BridgeBack{})
		},
		"waiting for a limit": func(p *play, id string) { p.turn(id, limitedTurn(time.Time{})) },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, nil)
			id := p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			act(p, id)
			n, timers := len(effects[effect.Spawn](p)), map[string]bool{}
			for _, e := range effects[effect.SetTimer](p) {
				timers[e.Key] = true
			}
			p.do(input.Signal{Signal: "INT"})
			if len(effects[effect.Shutdown](p)) != 1 {
				t.Fatalf("shutdowns: %v", effects[effect.Shutdown](p))
			}
			for key := range timers {
				p.do(input.Timer{Key: key})
			}
			for _, a := range p.s.Agents {
				p.do(input.Spawned{Agent: a.AgentRef})
				p.do(input.NotSpawned{Agent: a.AgentRef, Category: bridge.CatCrash, Message: "it was ended"})
				p.do(input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef,
					Body: bridge.Done{Exit: bridge.Exit{Expected: true}}}})
			}
			p.do(input.BridgeFailed{Message: "no"})
			p.do(input.Stopped{})
			if len(effects[effect.Finish](p)) != 1 || len(told[contract.Result](p)) != 1 || len(effects[effect.Spawn](p)) != n {
				t.Errorf("ends %v, starts after it %d", effects[effect.Finish](p), len(effects[effect.Spawn](p))-n)
			}
			for _, a := range p.s.Agents {
				if a.Status != AgentEnded {
					t.Errorf("%s is %s", a.ID, a.Status)
				}
			}
			p.folds()
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
		p.do(input.NotSpawned{Agent: p.agent("orch-1").AgentRef, Category: bridge.CatStart, Message: message})
		if got := p.agent("orch-1").Status == AgentDown; got != again {
			t.Errorf("%s: it is %s", message, p.agent("orch-1").Status)
		}
		if again && p.s.Lifecycle.Restarts[0].Class != runconfig.RestartCrash {
			t.Errorf("%s: class %s", message, p.s.Lifecycle.Restarts[0].Class)
		}
		p.folds()
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
		if declared++; Categories[runconfig.RestartClass(class)] == "" {
			t.Errorf("%s has no category", class)
		}
		return true
	})
	if declared == 0 || declared != len(Categories) {
		t.Errorf("%d classes are declared, %d have a category", declared, len(Categories))
	}
}
