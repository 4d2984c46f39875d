package supervisor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
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
	testkit.Check(t, !does("dance"), "anything is carried out")
	for i, row := range machine.Table {
		for _, a := range row.Do {
			testkit.Check(t, does(a), "row %d: nothing does %s", i, a)
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
			testkit.Same(t, "p.s.Task.Phase", phase, p.s.Task.Phase)
			before := [...]int{p.s.Task.Iterations, p.s.Task.Failures, p.s.Task.TotalFailures, p.s.Task.History.Len(),
				p.s.Rulings.Decisions}
			if orderly {
				p.stopped()
			}
			p.do(input.Resumed{Options: p.s.Options})
			before[1] = 0 // another process has all retries
			if after := [...]int{p.s.Task.Iterations, p.s.Task.Failures, p.s.Task.TotalFailures, p.s.Task.History.Len(),
				p.s.Rulings.Decisions}; p.s.Task.Phase != phase || before != after {
				t.Errorf("%s, orderly %v: %s, %v instead of %v", phase, orderly, p.s.Task.Phase, after, before)
			}
		}
	}
}

func TestModesHaveLimits(t *testing.T) {
	for name, limits := range map[string]agents.Limits{
		"turns": {MaxTurns: 1}, "cost": {MaxCostUSD: 0.5}, "time": {Timeout: time.Minute},
	} {
		p, id := scouting(t, limits)
		if limits.Timeout > 0 {
			testkit.Same(p.t, "the timer", time.Minute, timer(p.out, WorkLimitPrefix+id))
			p.timeOver(id)
		}
		p.turn(id, verdictTurn(report("progress", "I have looked.", false), bridge.Turn{CostUSD: 0.6}))
		p.contains(name+": the demand", p.lastSent(id), "Hand off now", "reached a limit: ")
		testkit.Check(t, p.agent(id).ReachedLimit != "", "%s: no limit was reached", name)
	}
}

// TestTheTimeOfAMode also holds for an Orchestrator that was done, or parked, when it was over, and goes on; and it
// continues in another process, where its end is reported to the agents concerned.
func TestTheTimeOfAMode(t *testing.T) {
	p, id := scouting(t, agents.Limits{Timeout: time.Minute})
	p.verdict(id, proven("done"))
	p.timeOver(id)
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Look here, too.", "to", id))
	p.contains("its next message", p.lastSent(id), "Look here, too.",
		"You have reached a limit: its time of 1m0s is over")

	p, id = scouting(t, agents.Limits{Timeout: time.Minute})
	p.stopped()
	p.out = nil
	p.do(input.Resumed{Options: p.s.Options})
	after := timer(p.out, WorkLimitPrefix+id)
	testkit.Check(t, after > 0 && after <= time.Minute, "the timer is %s", after)
	p.settles()
	p.restartDue(id)
	p.settles()
	p.timeOver(id)
	p.turn(id, bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.contains("the one whose time is over", p.lastSent(id), "reached a limit: ", "kind handoff")
}

// scouting begins a run in which an Orchestrator of a mode with limits works, and timeOver is the end of its time.
func scouting(t *testing.T, l agents.Limits) (*play, string) {
	t.Helper()
	p := begin(t, func(o *runconfig.Options) {
		o.Modes = []agents.Agent{{Name: "scout", Description: "looks", Prompt: "Look.", Limits: l}}
	})
	p.verdict("arbiter", ruling("SELECT_MODE", "Look there.", "mode", "scout"))
	return p, p.working()
}

func (p *play) timeOver(id string) {
	p.t.Helper()
	p.do(input.Timer{Key: WorkLimitPrefix + id})
}

func TestTasksOfAnAgentMoveThePlan(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.call("arbiter", "set_plan", `{"steps":[{"text":"Create middleware","status":"done"},{"text":"Login endpoint"}]}`)
	p.happen(id, bridge.Tasks{Items: []bridge.Task{{Text: "1. login  endpoint", Status: "in_progress"},
		{Text: "Create middleware", Status: "in_progress"}, {Text: "look around", Status: "completed"}}})
	plan := last[contract.Plan](p)
	want := []contract.Step{{Text: "Create middleware", Status: "done"},
		{Text: "Login endpoint", Status: "active", Agent: id}}
	testkit.Same(t, "plan", want, plan.Steps)
	testkit.Check(t, len(plan.Tasks) == 1 && len(plan.Tasks[0].Items) == 3, "tasks %+v", plan.Tasks)
	p.mustCommand(contract.Kill{ID: id})
	p.happen(id, bridge.Tasks{Items: []bridge.Task{{Text: "look around", Status: "completed"}}})
	testkit.Empty(t, "tasks of one that ends", p.s.Task.AgentTasks)
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
		testkit.Includes(t, name, strings.Join(r.InterruptedWork, "\n"), c.want)
	}
}

// TestOverridesInEveryState: each override is either carried out or refused with a reason, and none leaves the
// run without a next step.
func TestOverridesInEveryState(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.SetPlan{Steps: []contract.Step{{Text: "a", Status: "pending"}, {Text: "b", Status: "pending"}}})
	p.refuses(contract.SetPlan{Steps: []contract.Step{{Text: "a", Mode: "wizard"}}}, "wizard")
	if ok, why := p.command(contract.RetryLast{}); ok || p.s.Task.Phase != machine.Selecting {
		t.Errorf("retry without an agent: %v %s, %s", ok, why, p.s.Task.Phase)
	}
	ok, why := p.command(contract.ForceAgent{Mode: "developer"})
	testkit.Check(t, ok && p.s.Task.Phase == machine.Executing && p.s.Task.Iterations == 1, "force: %v %s, %s", ok, why,
		p.s.Task.Phase)
	id := p.working()
	p.call(id, "update_plan", `{"index":1,"status":"active"}`)
	ok, why = p.command(contract.SkipStep{})
	testkit.Check(t, ok && p.s.Task.Plan[0].Status == contract.StepSkipped, "skip: %v %s, %+v", ok, why, p.s.Task.Plan)
	p.contains("the one who worked on it", p.lastSent(id), "skipped")
	p.verdict(id, report("done", "b, too", true))
	testkit.Same(t, "p.s.Task.Phase", machine.Evaluating, p.s.Task.Phase)
	ok, why = p.command(contract.RetryLast{})
	testkit.Check(t, ok && p.s.Task.Phase == machine.Executing, "retry: %v %s, %s", ok, why, p.s.Task.Phase)
	ok, _ = p.command(contract.Reset{})
	testkit.Check(t, ok && p.s.Task.Phase == machine.Idle && p.s.Task.History.Len() == 0 && len(p.s.Task.Plan) == 0,
		"reset: %s, %d executions, plan %v", p.s.Task.Phase, p.s.Task.History.Len(), p.s.Task.Plan)
}

var now = time.Unix(1_800_000_000, 0)

func worker(id, mode string) *Agent {
	return &Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 1},
			Role: RoleOrchestrator, Mode: mode},
		AgentProcess: AgentProcess{Status: AgentReady},
		AgentWork:    AgentWork{Standing: AgentWorking},
	}
}

func plan(steps ...contract.Step) TaskState { return TaskState{Plan: steps} }

// TestPlanIsCopied: a change of the plan is not visible in the earlier copy.
func TestPlanIsCopied(t *testing.T) {
	before := plan(contract.Step{Text: "one", Status: contract.StepPending})
	after := before
	if !after.Follow("orch-1", []bridge.Task{{Text: "1. ONE", Status: "in_progress"}, {Text: "mine", Status: "odd"}}) {
		t.Error("the list moves the plan")
	}
	testkit.Check(t, after.Plan[0].Status == contract.StepActive && after.Plan[0].Agent == "orch-1" &&
		len(after.AgentTasks) == 1, "after: %+v", after)
	testkit.Check(t, before.Plan[0].Status == contract.StepPending && len(before.AgentTasks) == 0, "before: %+v",
		before)
	after.mark(0, func(p *contract.Step) { p.Status = contract.StepDone })
	testkit.Check(t, !after.Follow("orch-1", []bridge.Task{{Text: "one", Status: "in_progress"}}),
		"a list does not bring a finished step back")
	after.DropTasks("orch-1")
	testkit.Same(t, after.AgentTasks, 0, len(after.AgentTasks))
}

// TestExecutions: how each execution ends, and how that changes the counters.
func TestExecutions(t *testing.T) {
	var s TaskState
	a := worker("orch-1", "tester")
	s.BeginWork(a, now)
	Worked(a, bridge.Turn{Usage: bridge.Usage{Input: 10, Output: 5}, Files: []string{"a.go", "a.go"}, Tools: 1})
	w := a.Work
	testkit.Need(t, w.Tokens.Total == 15 && len(w.Files) == 1, "%+v", w)
	s.Fail(a, &decider.DecisionFailure{Category: decider.TimeoutError}, now)
	s.Fail(nil, nil, now)
	testkit.Need(t, s.Failures == 2 && s.TotalFailures == 2 && a.Work == nil &&
		s.History.Last(1)[0].Status == decider.StatusTimeout, "%+v", s)
	s.CompleteWork(a, "It is done.", now)
	s.Succeed(a, now.Add(time.Second))
	testkit.Check(t, s.Failures == 0 && s.TotalFailures == 2 && s.LastError == nil &&
		s.History.Last(1)[0].Output == "It is done.", "%+v", s)
	testkit.Same(t, "the end", "Over. Executions: 2, the last by orch-1 (tester, success): It is done.",
		s.ReachedText("Over"))
	s.BeginWork(a, now)
	s.Abandon(a, now)
	last := s.History.Last(1)[0]
	testkit.Check(t, last.Status == decider.StatusCancelled && s.History.Len() == 3, "%+v", last)
	s.Begin()
	testkit.Check(t, s.History.Len() == 0 && s.TotalFailures == 0, "another task begins with %+v", s)
}

// TestAgentFailure: what deciders receive about an agent that failed.
func TestAgentFailure(t *testing.T) {
	s := plan(contract.Step{Text: "one", Status: contract.StepPending})
	a := worker("orch-1", "")
	a.Brief = "first line\nsecond"
	r := &Roster{Agents: []*Agent{a}}
	f := s.AgentFailure(r, "orch-1", bridge.CatOverloaded, "529", now)
	testkit.Check(t, f.Agent == AnyMode && f.Step == 1 && f.Attempted == "first line" &&
		f.Category == decider.ProviderError && f.Transient, "%+v", f)
	f = s.AgentFailure(r, "gone", bridge.CatCrash, "signal: killed", now)
	testkit.Check(t, f.Step == 0 && !f.Transient && f.Category == decider.AgentError, "%+v", f)
}

// busyAt lets an agent run a command.
func (p *play) busyAt(id, command string) {
	p.t.Helper()
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t-" + id, Input: json.RawMessage(`{"command":"` + command + `"}`)})
}

// TestParallelWorkIsAttributedToWhoDoesIt: when two agents work at once, each is shown with its own step, and
// without a step if no verdict named it.
func TestParallelWorkIsAttributedToWhoDoesIt(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		marks      map[string]string // update_plan of each agent
		want       map[string]string // the step that half_done names; empty: none
		steps      map[string]int    // the step that a failure names
	}{
		{
			name: "each marked its own", plan: `{"steps":[{"text":"parser"},{"text":"printer"}]}`,
			marks: map[string]string{"orch-1": `{"index":1,"status":"active"}`, "orch-2": `{"index":2,"status":"active"}`},
			want:  map[string]string{"orch-1": "step 1 of the plan: parser", "orch-2": "step 2 of the plan: printer"},
			steps: map[string]int{"orch-1": 1, "orch-2": 2},
		},
		{
			name: "one marked its own", plan: `{"steps":[{"text":"parser"},{"text":"printer"}]}`,
			marks: map[string]string{"orch-2": `{"index":1,"status":"active"}`},
			want:  map[string]string{"orch-1": "", "orch-2": "step 1 of the plan: parser"},
			steps: map[string]int{"orch-1": 0, "orch-2": 1},
		},
		{
			name: "the steps name their modes", plan: `{"steps":[{"text":"parser","mode":"tester"},{"text":"printer","mode":"developer"}]}`,
			want:  map[string]string{"orch-1": "step 2 of the plan: printer", "orch-2": "step 1 of the plan: parser"},
			steps: map[string]int{"orch-1": 2, "orch-2": 1},
		},
		{
			name: "nobody said anything", plan: `{"steps":[{"text":"parser"},{"text":"printer"}]}`,
			want:  map[string]string{"orch-1": "", "orch-2": ""},
			steps: map[string]int{"orch-1": 0, "orch-2": 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, nil)
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"one","mode":"developer"}`)
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"two","mode":"tester"}`)
			p.settles()
			p.call("arbiter", "set_plan", c.plan)
			for _, id := range []string{"orch-1", "orch-2"} {
				if mark := c.marks[id]; mark != "" {
					p.call(id, "update_plan", mark)
				}
			}
			for id, want := range c.steps {
				a := p.agent(id)
				st := step{State: p.s, at: p.at}
				testkit.Same(t, fmt.Sprintf("a failure of %s is of step", id), want,
					st.Task.AgentFailure(&st.Roster, a.ID, bridge.CatCrash, "it broke", st.at).Step)
			}
			p.busyAt("orch-1", "make one")
			p.busyAt("orch-2", "make two")
			p.command(contract.Cancel{})
			r, _ := p.finished()
			testkit.Need(t, len(r.InterruptedWork) == 2, "half done: %q", r.InterruptedWork)
			for i, id := range []string{"orch-1", "orch-2"} {
				line := r.InterruptedWork[i]
				p.contains("what is half done", line, id)
				if c.want[id] == "" {
					testkit.Excludes(t, fmt.Sprintf("%s is shown with a step that no verdict gave it", id), line,
						"of the plan")
					continue
				}
				p.contains("what is half done", line, c.want[id])
			}
		})
	}
}

// TestAFailedCheckIsOfTheStepThatWasDone: a failed check is attributed to the step that was done, not to the
// next one.
func TestAFailedCheckIsOfTheStepThatWasDone(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.call("arbiter", "set_plan", `{"steps":[{"text":"parser"},{"text":"printer"}]}`)
	p.call(one, "update_plan", `{"index":1,"status":"done"}`)
	p.verdict(one, proven("done", "make test"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: bridge.CheckResult{Exit: 2}})
	in := decider.SelectInput(p.s.Record())
	testkit.Check(t, in.LastError != nil && in.LastError.PlanStep == 1, "the last error: %+v", in.LastError)
}

// TestPlan: steps are checked, and the error names what is wrong.
func TestPlan(t *testing.T) {
	var o runconfig.Options
	steps, err := SetPlanInput{Steps: []PlanStep{{Text: "one"}, {Text: "two", Status: "done", Mode: "tester"}}}.Plan(&o)
	testkit.Check(t, err == nil && len(steps) == 2 && steps[0].Status == contract.StepPending &&
		steps[1].Mode == "tester", "%+v, %v", steps, err)
	for want, in := range map[string]PlanStep{
		"step 1 has no text":      {Text: " "},
		"step 1: no status \"x\"": {Text: "one", Status: "x"},
		"step 1: no mode \"x\"":   {Text: "one", Mode: "x"},
	} {
		_, err := (SetPlanInput{Steps: []PlanStep{in}}).Plan(&o)
		testkit.Check(t, err != nil && strings.HasPrefix(err.Error(), want), "%+v: %v", in, err)
	}
	marked, err := UpdatePlanInput{Index: 1, Status: "active"}.Marked(steps, "orch-1")
	testkit.Check(t, err == nil && marked[0].Agent == "orch-1" && steps[0].Agent == "", "%+v, %v, of %+v", marked, err,
		steps)
	testkit.Fails(t, "there is no step 3",
		testkit.Err((UpdatePlanInput{Index: 3, Status: "active"}).Marked(steps, "orch-1")))
}
