package supervisor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// does reports whether an action is known; a known one panics here because there is nothing for it to act on.
func does(a machine.Action) (known bool) {
	defer func() { known = known || recover() != nil }()
	st := &step{State: State{RunState: RunState{Ending: &Ending{}}}}
	return st.act(a, triggerData{})
}

// TestEveryActionIsCarriedOut: an action in the table without an implementation would panic during a run.
func TestEveryActionIsCarriedOut(t *testing.T) {
	if does("dance") {
		t.Error("anything is carried out")
	}
	for i, row := range machine.Table {
		for _, a := range row.Do {
			if !does(a) {
				t.Errorf("row %d: nothing does %s", i, a)
			}
		}
	}
}

// TestPhasesAreRestored: a resume restores the phase after any end of the last process.
func TestPhasesAreRestored(t *testing.T) {
	reach := map[machine.State]func(p *play){
		machine.Idle:      func(p *play) { p.command(contract.Reset{}) },
		machine.Selecting: func(p *play) {},
		machine.Executing: func(p *play) { p.spawn("work") },
		machine.Evaluating: func(p *play) {
			id := p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.verdict(id, report("done", "all", true))
		},
		machine.Error: func(p *play) {
			id := p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.crash(id, 5)
		},
	}
	for phase, get := range reach {
		for _, orderly := range []bool{true, false} {
			p := begin(t, nil)
			get(p)
			if p.s.Task.Phase != phase {
				t.Fatalf("%s instead of %s", p.s.Task.Phase, phase)
			}
			before := [...]int{p.s.Task.Iterations, p.s.Task.Failures, p.s.Task.TotalFailures, p.s.Task.History.Len(), p.s.Rulings.Decisions}
			if orderly {
				p.do(input.Signal{Signal: "INT"})
				p.do(input.Stopped{})
			}
			p.do(input.Resumed{Options: p.s.Options})
			before[1] = 0 // another process has all retries
			if after := [...]int{p.s.Task.Iterations, p.s.Task.Failures, p.s.Task.TotalFailures, p.s.Task.History.Len(), p.s.Rulings.Decisions}; p.s.Task.Phase != phase || before != after {
				t.Errorf("%s, orderly %v: %s, %v instead of %v", phase, orderly, p.s.Task.Phase, after, before)
			}
			p.folds()
		}
	}
}

func TestModesHaveLimits(t *testing.T) {
	limited := func(l agents.Limits) *play {
		return begin(t, func(o *runconfig.Options) {
			o.Modes = []agents.Agent{{Name: "scout", Description: "looks", Prompt: "Look.", Limits: l}}
		})
	}
	for name, c := range map[string]struct {
		limits agents.Limits
		reach  func(p *play, id string)
	}{
		"turns": {agents.Limits{MaxTurns: 1}, func(p *play, id string) {}},
		"cost":  {agents.Limits{MaxCostUSD: 0.5}, func(p *play, id string) {}},
		"time": {agents.Limits{Timeout: time.Minute}, func(p *play, id string) {
			if after := timer(p.out, WorkLimitPrefix+p.agent(id).AgentRef.ID); after != time.Minute {
				p.t.Errorf("the timer is %s", after)
			}
			p.do(input.Timer{Key: WorkLimitPrefix + p.agent(id).AgentRef.ID})
		}},
	} {
		p := limited(c.limits)
		p.verdict("arbiter", ruling("SELECT_MODE", "Look there.", "mode", "scout"))
		id := p.working()
		c.reach(p, id)
		raw, _ := json.Marshal(report("progress", "I have looked.", false))
		p.turn(id, bridge.Turn{Verdict: raw, CostUSD: 0.6})
		p.contains(name+": the demand", p.lastSent(id), "Hand off now", "reached a limit: ")
		if p.agent(id).ReachedLimit == "" {
			t.Errorf("%s: no limit was reached", name)
		}
		p.folds()
	}
}

func TestTasksOfAnAgentMoveThePlan(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.call("arbiter", "set_plan", `{"steps":[{"text":"Create middleware","status":"done"},{"text":"Login endpoint"}]}`)
	p.happen(id, bridge.Tasks{Items: []bridge.Task{{Text: "1. login  endpoint", Status: "in_progress"}, {Text: "Create middleware", Status: "in_progress"}, {Text: "look around", Status: "completed"}}})
	plan := last[contract.Plan](p)
	want := []contract.Step{{Text: "Create middleware", Status: "done"}, {Text: "Login endpoint", Status: "active", Agent: id}}
	testkit.Same(t, "plan", want, plan.Steps)
	if len(plan.Tasks) != 1 || len(plan.Tasks[0].Items) != 3 {
		t.Errorf("tasks %+v", plan.Tasks)
	}
	p.folds()
}

func TestInterruptedWork(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.call("arbiter", "set_plan", `{"steps":[{"text":"install","status":"active"}]}`)
	p.happen(id, bridge.ToolUse{Tool: "Read", ToolUse: "t1", Input: json.RawMessage(`{"file_path":"a"}`)})
	p.happen(id, bridge.ToolResult{ToolUse: "t1"})
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t2", Input: json.RawMessage(`{"command":"npm install"}`)})
	p.at = p.at.Add(10 * time.Second)
	p.command(contract.Cancel{})
	r, _ := p.finished()
	if len(r.InterruptedWork) != 1 {
		t.Fatalf("half done: %q", r.InterruptedWork)
	}
	p.contains("what is half done", r.InterruptedWork[0], "Orchestrator I (orch-1)", "Bash `npm install` for 11s", "step 1 of the plan: install")
}

// TestInterruptedWorkIsReported: after any end of an agent's process, its interrupted work is reported until the agent
// does something else.
func TestInterruptedWorkIsReported(t *testing.T) {
	const at = "was at Bash `npm install` when its process ended"
	for name, c := range map[string]struct {
		end  func(p *play, id string)
		want string
	}{
		"a crash":    {(*play).dies, at},
		"the bridge": {func(p *play, _ string) { p.do(input.BridgeLost{Message: "gone"}) }, at},
		"it is back": {func(p *play, id string) { p.rebirth(id, bridge.DeliveryBegun) }, at},
		"another thing": {func(p *play, id string) {
			p.rebirth(id, bridge.DeliveryBegun)
			p.happen(id, bridge.ToolUse{Tool: "Read", ToolUse: "t2", Input: json.RawMessage(`{"file_path":"a"}`)})
		}, "was at Read `a` for"},
		"a halt": {func(p *play, id string) {
			p.command(contract.Halt{})
			p.happen(id, bridge.Turn{MessageIDs: p.agent(id).Turn, Outcome: bridge.TurnLost})
			p.ends(id)
		}, at},
	} {
		p := begin(t, nil)
		id := p.spawn("work")
		p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t1", Input: json.RawMessage(`{"command":"npm install"}`)})
		c.end(p, id)
		p.command(contract.Cancel{})
		r, _ := p.finished()
		if got := strings.Join(r.InterruptedWork, "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOverridesInEveryState: each override is either carried out or refused with a reason, and none leaves the
// run without a next step.
func TestOverridesInEveryState(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.SetPlan{Steps: []contract.Step{{Text: "a", Status: "pending"}, {Text: "b", Status: "pending"}}})
	if ok, why := p.command(contract.SetPlan{Steps: []contract.Step{{Text: "a", Mode: "wizard"}}}); ok || !strings.Contains(why, "wizard") {
		t.Errorf("a plan for a mode that is none: %v %s", ok, why)
	}
	if ok, why := p.command(contract.RetryLast{}); ok || p.s.Task.Phase != machine.Selecting {
		t.Errorf("retry without an agent: %v %s, %s", ok, why, p.s.Task.Phase)
	}
	if ok, why := p.command(contract.ForceAgent{Mode: "developer"}); !ok || p.s.Task.Phase != machine.Executing || p.s.Task.Iterations != 1 {
		t.Errorf("force: %v %s, %s", ok, why, p.s.Task.Phase)
	}
	id := p.working()
	p.call(id, "update_plan", `{"index":1,"status":"active"}`)
	if ok, why := p.command(contract.SkipStep{}); !ok || p.s.Task.Plan[0].Status != contract.StepSkipped {
		t.Errorf("skip: %v %s, %+v", ok, why, p.s.Task.Plan)
	}
	p.contains("the one who worked on it", p.lastSent(id), "skipped")
	p.verdict(id, report("done", "b, too", true))
	if p.s.Task.Phase != machine.Evaluating {
		t.Fatal(p.s.Task.Phase)
	}
	if ok, why := p.command(contract.RetryLast{}); !ok || p.s.Task.Phase != machine.Executing {
		t.Errorf("retry: %v %s, %s", ok, why, p.s.Task.Phase)
	}
	if ok, _ := p.command(contract.Reset{}); !ok || p.s.Task.Phase != machine.Idle || p.s.Task.History.Len() != 0 || len(p.s.Task.Plan) != 0 {
		t.Errorf("reset: %s, %d executions, plan %v", p.s.Task.Phase, p.s.Task.History.Len(), p.s.Task.Plan)
	}
	p.folds()
}
