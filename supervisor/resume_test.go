package supervisor

import (
	"encoding/json"
	"fmt"
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

// TestEveryEndingCanBeResumed: after any end of the last process, every agent that was alive is restarted on
// its own session, and counters keep their values.
func TestEveryEndingCanBeResumed(t *testing.T) {
	for _, c := range []struct {
		name    string
		end     func(p *play)
		crashes int
	}{
		{"SIGINT", (*play).stopped, 0},
		{"crash", func(*play) {}, 1},
		{"crash while stopping", func(p *play) { p.do(input.Signal{Signal: "TERM"}) }, 0},
		{"limit", func(p *play) { p.do(input.Timer{Key: timeoutKey}); p.do(input.Stopped{}) }, 0},
		{"cost", func(p *play) {
			p.turn("orch-1", bridge.Turn{Outcome: bridge.TurnInterrupted, CostUSD: 100})
			p.mustCommand(contract.Choose{Option: "finish"})
			p.do(input.Stopped{})
		}, 0},
		{"the journal is full", func(p *play) { p.do(input.JournalFull{Message: "256 MiB"}); p.do(input.Stopped{}) }, 0},
		{"nobody reads", func(p *play) { p.do(input.OutputLost{Message: "broken pipe"}); p.do(input.Stopped{}) }, 0},
		{"the bridge with it", func(p *play) { p.do(input.Signal{Signal: "INT"}); p.do(input.BridgeLost{}) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD, o.FuseUSD, o.Timeout = 50, 500, time.Hour })
			one, two := p.spawn("left half"), p.spawn("right half")
			p.call("arbiter", "set_plan", `{"steps":[{"text":"left"},{"text":"right"}]}`)
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.say("mind the tests", contract.Note, two)
			p.call("arbiter", "release_orchestrator", `{"id":"`+two+`","reason":"enough"}`)
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.happen(two, bridge.Done{Exit: bridge.Exit{Expected: true}})
			p.say("use tabs", contract.Note, one)
			c.end(p)
			before := p.s

			o := p.s.Options
			o.MaxCostUSD, o.Timeout = 500, 24*time.Hour
			p.out = nil
			p.do(input.Resumed{Options: o, Claude: p.s.Lifecycle.Claude(), Notice: "3 processes were ended", Stay: true})
			s := told[contract.Session](p)
			testkit.Check(t, len(s) == 1 && s[0].Resumed, "session %+v", s)
			p.contains("what else is said", told[contract.Notice](p)[0].Text, "3 processes were ended")
			p.back(bridge.DeliverySeen)
			testkit.Same(t, "the one that was let go", AgentEnded, p.agent(two).Status)
			testkit.Same(t, "len(p.spawns(two))", 0, len(p.spawns(two)))
			for _, id := range []string{"arbiter", one} {
				s := p.spawns(id)
				testkit.Need(t, len(s) == 1 && s[0].Config.Resume && s[0].Generation == 2, "%s: starts %v", id, s)
				old := before.Agents[0]
				if id == one {
					old = before.Agents[1]
				}
				testkit.Check(t, s[0].Config.SessionID == old.SessionID &&
					s[0].Config.SystemPrompt+s[0].Config.AppendSystemPrompt != "" && len(s[0].Config.MCPTools) != 0,
					"%s: session %s (was %s), or its role is missing", id, s[0].Config.SessionID, old.SessionID)
			}
			testkit.Same(t, "plan", before.Task.Plan, p.s.Task.Plan)
			testkit.Check(t, p.s.Spawned == 2 && p.s.Task.Iterations == 2 &&
				p.s.Budget.CostUSD == before.Budget.CostUSD && p.s.Task.Text == "Build it" &&
				p.s.Budget.Runtime.Processes == 2, "spawned %d, iterations %d, $%v, task %q, processes %d", p.s.Spawned,
				p.s.Task.Iterations, p.s.Budget.CostUSD, p.s.Task.Text, p.s.Budget.Runtime.Processes)
			testkit.Same(t, "crashes were counted", c.crashes, p.s.Lifecycle.Crashes-before.Lifecycle.Crashes)
			// Waiting messages are sent when their reader is free.
			p.verdict(one, report("progress", "on the way", false))
			var said strings.Builder
			for _, m := range p.sends(one) {
				said.WriteString(m.Content)
			}
			p.contains("the queue", said.String(), "use tabs")
		})
	}
}

// TestALimitThatStandsEndsItAgain: the run ends again, and no agent is started.
func TestALimitThatStandsEndsItAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*runconfig.Options)
		reach  func(p *play)
		want   string
	}{
		"cost": {func(o *runconfig.Options) { o.MaxCostUSD, o.HumanPresent = 1, false },
			func(p *play) { p.turn("arbiter", bridge.Turn{CostUSD: 1.5, Verdict: json.RawMessage(`{}`)}) }, "--max-cost"},
		"time": {func(o *runconfig.Options) { o.Timeout = time.Minute }, func(p *play) {
			p.at = p.at.Add(time.Minute)
			p.do(input.Timer{Key: timeoutKey})
		}, "--timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, c.change)
			c.reach(p)
			p.do(input.Stopped{})
			p.resume("")
			testkit.Same(t, "agents were started", 0, len(effects[input.Spawn](p)))
			p.endsAs(contract.StatusLimit, contract.ExitLimit, c.want)
		})
	}
}

// TestTimeoutCountsProcessRunsAndNotThePauses: the timeout counts neither pauses nor the machine's sleep.
func TestTimeoutCountsProcessRunsAndNotThePauses(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Timeout = time.Hour })
	p.at = p.at.Add(20 * time.Minute)
	p.stopped()
	p.at = p.at.Add(100 * 24 * time.Hour)
	p.out = nil
	out := p.do(input.Resumed{Options: p.s.Options, Stay: true})
	left := timer(out, timeoutKey)
	testkit.Need(t, left >= 39*time.Minute && left <= 40*time.Minute, "in the second process run %s are left", left)
	p.back(bridge.DeliverySeen)
	p.at = p.at.Add(8*time.Hour + 10*time.Minute)
	p.do(input.WokeFromSleep{Slept: 8 * time.Hour})
	p.stopped()
	out = p.do(input.Resumed{Options: p.s.Options, Stay: true})
	left = timer(out, timeoutKey)
	testkit.Check(t, left >= 29*time.Minute && left <= 30*time.Minute, "in the third process run %s are left", left)
	p.back(bridge.DeliverySeen)
	p.stopped()
	if r := last[contract.Result](p); r.DurationMS < 30*60_000 || r.DurationMS > 32*60_000 {
		t.Errorf("duration %s", time.Duration(r.DurationMS)*time.Millisecond)
	}
}

// TestOpenQuestionsAreAskedAgain: under the same ids, after an orderly end and a crash.
func TestOpenQuestionsAreAskedAgain(t *testing.T) {
	for name, end := range map[string]func(p *play){"SIGINT": (*play).stopped, "crash": func(*play) {}} {
		t.Run(name, func(t *testing.T) {
			p, id := oneWorks(t, nil)
			p.verdict(id, report("question", "May I?", true))
			p.say("Speak first.", contract.Note, id)
			p.do(asked(p, id, "p1", "ask"))
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Wait.", "to", id))
			end(p)
			p.resume("")
			if r := told[contract.PermissionRequest](p); len(r) != 0 || len(p.s.Permission.Open) != 0 {
				t.Errorf("the request has not come again, and %+v, open %+v", r, p.s.Permission.Open)
			}
			p.back(bridge.DeliveryBegun)
			p.proven(id)
			p.do(asked(p, id, "p9", "ask"))
			r := told[contract.PermissionRequest](p)
			testkit.Check(t, len(r) == 1 && r[0].Request == "p1" && r[0].Tool == "Bash", "requests %+v", r)
			testkit.Check(t, len(p.s.Permission.Open) == 1 && p.s.Permission.Open[0].At == p.at,
				"open since another time: %+v", p.s.Permission.Open)
			testkit.Same(t, "a process that is gone was answered", 0, len(effects[input.PermissionRespond](p)))
		})
	}
	t.Run("question", func(t *testing.T) {
		for name, end := range map[string]func(p *play){"SIGINT": (*play).stopped, "crash": func(*play) {}} {
			p := begin(t, nil)
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
			end(p)
			p.resume("")
			q := told[contract.Question](p)
			testkit.Check(t, len(q) == 1 && q[0].Text == "Which port?", "%s: questions %v", name, q)
			p.back(bridge.DeliverySeen)
			if len(p.sends("arbiter")) != 0 {
				t.Errorf("%s: the Arbiter was told to rule, though it waits: %s", name, p.lastSent("arbiter"))
			}
			p.say("8080")
			p.contains("the answer", p.lastSent("arbiter"), "8080", "kind: answer")
		}
	})
	t.Run("answered by the word of --resume", func(t *testing.T) {
		p := begin(t, nil)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
		p.stopped()
		p.resume("8080")
		p.back(bridge.DeliverySeen)
		p.contains("the answer", p.lastSent("arbiter"), "8080", "kind: answer")
	})
	t.Run("after a process run without a bridge", func(t *testing.T) {
		p := begin(t, nil)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
		p.stopped()
		p.out = nil
		p.do(input.NoBridge{Options: p.s.Options, Category: bridge.CatClaudeMissing, Message: "no claude"})
		e := effects[input.Finish](p)
		testkit.Check(t, len(e) == 1 && e[0].Exit == contract.ExitEnvironment, "ends %v", e)
		p.resume("")
		q := told[contract.Question](p)
		testkit.Check(t, len(q) == 1, "questions %v", q)
	})
	t.Run("a request, after a crash and a process run without a bridge", func(t *testing.T) {
		p := begin(t, nil)
		id := p.spawn("work")
		p.do(asked(p, id, "p1", "ask"))
		p.do(input.NoBridge{Options: p.s.Options, Category: bridge.CatClaudeMissing, Message: "no claude"})
		testkit.Empty(t, "open in a run that has ended", p.s.Permission.Open)
		p.resume("")
		r := p.s.Permission.Unclaimed
		testkit.Check(t, len(r) == 1 && r[0].ID == "p1", "unclaimed %+v", r)
	})
}

// TestAnAnswerForOneThatAsksAgain: a human answers while the process that asked has ended. The answer is for
// that agent and that action, and counts once.
func TestAnAnswerForOneThatAsksAgain(t *testing.T) {
	for _, behavior := range []string{bridge.Allow, bridge.Deny} {
		p := begin(t, nil)
		one, two := p.spawn("left half"), p.spawn("right half")
		p.do(asked(p, one, "p1", "ask"))
		p.resume("")
		p.mustCommand(contract.Permit{Request: "p1", Behavior: behavior, Message: "so be it"})
		p.back(bridge.DeliveryBegun)
		ask := func(id, request, command string) (answer string) {
			f := asked(p, id, request, "ask")
			f.Params.Input = json.RawMessage(`{"command":"` + command + `"}`)
			for _, e := range p.do(f) {
				if a, ok := e.(input.PermissionRespond); ok && a.Request == request {
					answer = a.Result.Behavior
				}
			}
			return answer
		}
		p.proven(one)
		testkit.Same(t, fmt.Sprintf("%s: another agent got the answer", behavior), "", ask(two, "p2", "make"))
		testkit.Same(t, fmt.Sprintf("%s: another action got the answer", behavior), "",
			ask(one, "p3", "make install"))
		testkit.Same(t, "the same agent with the same action", behavior, ask(one, "p4", "make"))
		testkit.Same(t, fmt.Sprintf("%s: it got the answer a second time", behavior), "", ask(one, "p5", "make"))
	}
}

// TestAnOpenRequestIsTakenOver: the agent asks again before the request is answered. One request is shown, and
// its answer reaches the process that waits now.
func TestAnOpenRequestIsTakenOver(t *testing.T) {
	p := begin(t, nil)
	id, other := p.spawn("left half"), p.spawn("right half")
	p.do(asked(p, id, "p1", "ask"))
	p.resume("")
	p.back(bridge.DeliveryBegun)
	p.do(asked(p, id, "p9", "ask"))
	r := told[contract.PermissionRequest](p)
	testkit.Check(t, len(r) == 1 && r[0].Request == "p1", "requests %v", r)
	p.resume("")
	p.back(bridge.DeliveryBegun)
	p.do(asked(p, other, "p7", "ask")) // the same action, but not its request
	p.do(asked(p, id, "p9", "ask"))
	r = told[contract.PermissionRequest](p)
	testkit.Check(t, len(r) == 2 && r[0].Request == "p7" && r[1].Request == "p1", "requests %v", r)
	p.command(contract.Permit{Request: "p1", Behavior: "allow"})
	a := effects[input.PermissionRespond](p)
	testkit.Check(t, len(a) == 1 && a[0].Request == "p9" && a[0].Result.Behavior == bridge.Allow, "answers %v", a)
}

// TestACompletedRun: a completed run waits for another task, and its Orchestrators are not restarted.
func TestACompletedRun(t *testing.T) {
	complete := func(t *testing.T) (*play, string) {
		p, id := oneWorks(t, nil)
		p.verdict(id, report("done", "all of it", true))
		p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "built"))
		p.do(input.Stopped{})
		return p, id
	}
	t.Run("another task", func(t *testing.T) {
		p, id := complete(t)
		p.resume("")
		p.back(bridge.DeliverySeen)
		testkit.Check(t, p.s.Task.Phase == machine.Idle && p.s.Task.Text == "" && len(p.sends("arbiter")) == 0 &&
			p.agent(id).Status == AgentEnded, "%s, task %q, %s is %s", p.s.Task.Phase, p.s.Task.Text, id,
			p.agent(id).Status)
		p.say("Now test it")
		p.contains("the task", p.lastSent("arbiter"), "Now test it", "kind: task")
		next := p.spawn("test")
		testkit.Check(t, next != id, "%s was summoned twice", next)
	})
	t.Run("asked once more", func(t *testing.T) {
		p, _ := complete(t)
		p.out = nil
		p.do(input.Resumed{Options: p.s.Options})
		testkit.Same(t, "agents were started for nothing", 0, len(effects[input.Spawn](p)))
		r, exit := p.finished()
		testkit.Check(t, r.Status == contract.StatusComplete && strings.HasPrefix(r.Summary, "built.") &&
			exit == contract.ExitComplete, "%+v, exit %d", r, exit)
	})
	t.Run("after a process run without a bridge", func(t *testing.T) {
		p, id := complete(t)
		p.out = nil
		p.do(input.NoBridge{Options: p.s.Options, Category: bridge.CatClaudeMissing, Message: "no claude"})
		testkit.Like(t, "result", contract.Result{Status: contract.StatusFailed}, last[contract.Result](p))
		testkit.Check(t, p.s.Completed(), "it is not complete any more")
		p.resume("")
		testkit.Same(t, id, AgentEnded, p.agent(id).Status)
	})
}

// TestWhoWasLetGoStaysAway: the request to release an agent counts, not how far its end had got.
func TestWhoWasLetGoStaysAway(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		after        func(p *play)
	}{
		{"the bridge is lost before its done", "enough", func(p *play) { p.do(input.BridgeLost{Message: "x"}) }},
		{"the run ends first", "enough", func(p *play) { p.do(input.Signal{Signal: "INT"}); p.do(input.Stopped{}) }},
		{"arbiter crashes before its done", "enough", func(*play) {}},
		{"the reason reads like a status", contract.StatusComplete, func(*play) {}},
		{"the reason reads like this status", contract.StatusInterrupted, (*play).stopped},
	} {
		p := begin(t, nil)
		id := p.spawn("work")
		p.call("arbiter", "release_orchestrator", `{"id":"orch-1","reason":"`+c.reason+`"}`)
		c.after(p)
		p.resume("")
		testkit.Same(t, fmt.Sprintf("%s: a.Status", c.name), AgentEnded, p.agent(id).Status)
		testkit.Same(t, fmt.Sprintf("%s: len(p.spawns(id))", c.name), 0, len(p.spawns(id)))
	}
}

// TestNothingUnderWay: all agents are back and report nothing. The run asks the Arbiter to rule.
func TestNothingUnderWay(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.proven(id)
	p.turn(id, bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.stopped()
	p.s.Question.Open = nil // nothing else can continue
	p.resume("")
	for i := range p.s.Agents { // the last one that comes back triggers it
		if len(effects[input.Send](p)) != 0 {
			t.Fatalf("told before everybody was back: %s", p.lastSent("arbiter"))
		}
		p.comes(p.s.Agents[i].ID, bridge.SpawnResult{Resumed: true})
	}
	p.contains("the Arbiter", p.lastSent("arbiter"), "nothing is under way", "orch-1")
}
