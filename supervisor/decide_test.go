package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// decides answers the open question to the decider.
func (p *play) decides(d decider.Decider) input.Decided {
	p.t.Helper()
	asked := effects[input.Decide](p)
	testkit.Need(p.t, len(asked) != 0 && p.s.Rulings.DeciderRequest != nil, "nothing is asked in %s", p.s.Task.Phase)
	q := asked[len(asked)-1].Question
	var err error
	if q.Decision, err = decider.Ask(context.Background(), d, q.Point, q.Input); err != nil {
		q.Failed = err.Error()
	}
	p.do(input.Decided(q))
	return input.Decided(q)
}

// settles starts a process for every agent that has none.
func (p *play) settles() {
	for _, a := range p.s.Agents {
		if a.Status == AgentStarting {
			p.spawned(a.ID)
		}
	}
}

// working is the Orchestrator whose turn runs.
func (p *play) working() string {
	p.t.Helper()
	p.settles()
	for _, a := range p.s.Agents {
		if a.Role == RoleOrchestrator && a.Status == AgentBusy {
			return a.ID
		}
	}
	p.t.Fatalf("no agent works in %s: %s", p.s.Task.Phase, p.s.LivingText())
	return ""
}

func phases(p *play) []string {
	return testkit.Each(told[contract.State](p), func(s contract.State) string { return s.To })
}

func TestRulesLeadATaskToItsEnd(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderRules })
	testkit.Need(t, len(p.s.Conversation.Mail) == 1 && p.agent("arbiter").Status == AgentReady, "the Arbiter was asked")
	var modes []string
	for range 12 {
		if p.s.Ending != nil {
			break
		}
		p.decides(decider.Rules{})
		if p.s.Ending != nil {
			break
		}
		id := p.working()
		if mode := p.agent(id).Mode; len(modes) == 0 || modes[len(modes)-1] != mode {
			modes = append(modes, mode)
		}
		v := report("done", "the "+p.agent(id).Mode+" is done", true)
		if p.agent(id).Mode == "planner" {
			p.contains("the brief", p.lastSent(id), "Build it", "kind: brief")
		}
		if n := p.s.Task.StepAtHand(); n >= 0 {
			p.call(id, "update_plan", `{"index":`+string(rune('1'+n))+`,"status":"done"}`)
		}
		p.verdict(id, v)
	}
	testkit.Same(t, "modes", []string{"planner", "developer", "tester"}, modes)
	p.endsAs(contract.StatusComplete, contract.ExitComplete)
	want := []string{"selecting", "executing", "evaluating", "selecting"}
	got := phases(p)
	testkit.Check(t, slices.Equal(got[:4], want) && got[len(got)-1] == "complete", "states %v", got)
	decisions := told[contract.Decision](p)
	testkit.Like(t, "the Arbiter was not asked about the points that the rules leave open",
		contract.Decision{Source: "session", Decision: verdict.Complete}, decisions[len(decisions)-1])
	for i, d := range decisions[:len(decisions)-1] {
		testkit.Check(t, d.Source == "rules" && d.Number == i+1 && d.Point != "", "decision %+v", d)
	}
}

// TestADecisionIsRecordedWithItsInput: every decider's decision is stored with its input.
func TestADecisionIsRecordedWithItsInput(t *testing.T) {
	p := begin(t, nil)
	want, _ := json.Marshal(decider.SelectInput(p.s.Record()))
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(id, report("done", "all of it", true))
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "all of it", "where the task stands")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	notes := effects[input.Note](p)
	testkit.Need(t, len(notes) == 3, "%d decisions are recorded", len(notes)) // COMPLETE went back to the Arbiter once
	first, second := notes[0].Decision, notes[1].Decision
	var a, b decider.SelectAgentInput
	testkit.Need(t, json.Unmarshal(want, &a) == nil && json.Unmarshal(first.Input, &b) == nil, "no input")
	b.Constraints.TimeElapsedMS = a.Constraints.TimeElapsedMS
	if diff := cmp.Diff(a, b); diff != "" || first.Point != decider.PointSelect || first.Number != 1 {
		t.Errorf("the first decision, %s %d (-want +got):\n%s", first.Point, first.Number, diff)
	}
	var e decider.EvaluateProgressInput
	testkit.OK(t, json.Unmarshal(second.Input, &e))
	testkit.Check(t, second.Point == decider.PointEvaluate && second.About == id &&
		e.LastExecution.Status == decider.StatusSuccess && strings.Contains(e.LastExecution.Output.Full, "all of it"),
		"the second: %+v", second)
	for i, n := range notes {
		before := p.s
		p.do(input.Decided(n.Decision)) // as the loop does
		testkit.Check(t, p.s.Rulings.Decisions == before.Rulings.Decisions && p.s.Task.Phase == before.Task.Phase,
			"recording decision %d changed the run", i+1)
	}
	testkit.Same(t, "decisions still wait to be recorded", 0, len(p.s.Rulings.Unrecorded))
}

// TestADecisionIsRecordedAfterACrash: a crash comes between a decision and its record.
func TestADecisionIsRecordedAfterACrash(t *testing.T) {
	p, _ := oneWorks(t, nil)
	first := effects[input.Note](p)[0].Decision
	p.out = nil
	p.do(input.Resumed{Options: p.s.Options})
	again := effects[input.Note](p)
	testkit.Check(t, len(again) == 1 && again[0].Decision.Number == first.Number &&
		string(again[0].Decision.Input) == string(first.Input), "recorded again: %+v", again)
	p.do(input.Decided(first))
	p.out = nil
	p.do(input.Resumed{Options: p.s.Options})
	testkit.Empty(t, "recorded twice", effects[input.Note](p))
}

func failedTool() *bridge.FailedTool {
	return &bridge.FailedTool{Tool: "Bash", Attempted: "npm install jsonwebtoken", Command: "npm install jsonwebtoken",
		Message: "Command failed with exit code 1"}
}

// stumble lets an Orchestrator ask for help because its last tool call failed.
func (p *play) stumble(id string) {
	p.t.Helper()
	p.turn(id, verdictTurn(report("question", "It does not install.", true),
		bridge.Turn{Tools: 3, Failed: failedTool(), Files: []string{"package.json"}}))
}

// breaksOff lets an Orchestrator stop at a failed tool call, without a verdict.
func (p *play) breaksOff(id string) {
	p.t.Helper()
	p.turn(id, bridge.Turn{Text: "It does not install.", Tools: 3, Failed: failedTool(), Files: []string{"package.json"}})
	p.turn(id, bridge.Turn{Text: "It does not install."})
}

// TestAFailureNamesTheFilesAround: what was read and what was written, each once, is in the input of the decision.
func TestAFailureNamesTheFilesAround(t *testing.T) {
	p, id := oneWorks(t, nil)
	for _, path := range []string{"/w/README.md", "/w/package.json", "/w/README.md"} {
		p.happen(id, bridge.ToolUse{Tool: "Read", ToolUse: "t", Input: json.RawMessage(`{"file_path":"` + path + `"}`)})
	}
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: json.RawMessage(`{"command":"ls"}`)})
	p.breaksOff(id)
	in := decider.SelectInput(p.s.Record())
	testkit.Same(t, "accessed", "package.json /w/README.md", strings.Join(in.LastError.Context.FilesAccessed, " "))
}

// TestThePlanFollowsTheSession: an Orchestrator that the Arbiter summons works on the step at hand, and its done ends
// that step. Another that is summoned beside it takes none, unless the next step of its mode is open.
func TestThePlanFollowsTheSession(t *testing.T) {
	p := begin(t, nil)
	p.call("arbiter", "set_plan", `{"steps":[{"text":"weave"},{"text":"dye"}]}`)
	one := p.spawn("weave it")
	p.spawn("look on")
	if s := p.s.Task.Plan; s[0].Status != contract.StepActive || s[0].Agent != one || s[1].Status != contract.StepPending {
		t.Errorf("plan %+v", s)
	}
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("done", "it is woven", true))
	p.pass()
	s := p.s.Task.Plan
	testkit.Check(t, s[0].Status == contract.StepDone, "plan %+v", s)
	three := p.spawn("dye it")
	testkit.Same(t, "the step's agent", three, p.s.Task.Plan[1].Agent)

	p = begin(t, nil)
	p.call("arbiter", "set_plan", `{"steps":[{"text":"weave"},{"text":"dye"},{"text":"look on","mode":"tester"}]}`)
	p.verdict("arbiter", ruling("SELECT_MODE", "Weave it.", "mode", "developer"))
	p.spawned("orch-1")
	p.verdict("orch-1", report("question", "Which loom?", true))
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"look on","mode":"tester"}`)
	if s := p.s.Task.Plan; s[0].Agent != "orch-1" || s[1].Agent != "" || s[2].Agent != "orch-2" {
		t.Errorf("one waits for an answer, and another is summoned beside it: %+v", s)
	}
	p.call("arbiter", "set_plan", `{"steps":[{"text":"spin","status":"done"},{"text":"weave","status":"active"}]}`)
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "The old one.", "to", "orch-1"))
	p.verdict("orch-1", report("done", "it is woven", true))
	testkit.Same(t, "the step, which another plan has elsewhere", contract.StepDone, p.s.Task.Plan[1].Status)
}

// TestASuccessorTakesItsPredecessorsStep: whichever of two hands off first, and whose successor is summoned first.
func TestASuccessorTakesItsPredecessorsStep(t *testing.T) {
	p := begin(t, nil)
	p.call("arbiter", "set_plan", `{"steps":[{"text":"weave"},{"text":"dye"}]}`)
	one, two := p.spawn("weave it"), p.spawn("look on")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(two, report("handoff", "I looked", true))
	p.verdict(one, report("handoff", "half is woven", true))
	p.pass()
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"look on","successor_of":"`+two+`"}`)
	testkit.Same(t, "after the other's successor", one, p.s.Task.Plan[0].Agent)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"weave on","successor_of":"`+one+`"}`)
	testkit.Same(t, "after its successor", "orch-4", p.s.Task.Plan[0].Agent)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"help","successor_of":"none"}`)
	testkit.Same(t, "after one beside it", "orch-4", p.s.Task.Plan[0].Agent)

	p = begin(t, nil)
	p.call("arbiter", "set_plan", `{"steps":[{"text":"weave"}]}`)
	one = p.spawn("weave it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("handoff", "half is woven", true))
	p.pass()
	p.verdict("arbiter", ruling("SELECT_MODE", "Weave on.", "mode", "developer"))
	testkit.Same(t, "after its successor, by a verdict", "orch-2", p.s.Task.Plan[0].Agent)
}

func TestAFailedToolIsAFailedExecution(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.breaksOff(id)
	testkit.Check(t, p.s.Task.Failures == 1 && p.s.Task.TotalFailures == 1 && p.s.Task.Phase == machine.Executing,
		"%d failures in a row, %d in all, %s", p.s.Task.Failures, p.s.Task.TotalFailures, p.s.Task.Phase)
	e := last[contract.Error](p)
	testkit.Check(t, e.Category == bridge.CatTool && slices.Contains(e.RecoveryOptions, "retry") &&
		slices.Contains(e.RecoveryOptions, "fallback"), "error %+v", e)
	in := decider.SelectInput(p.s.Record())
	testkit.Check(t, in.LastError != nil && in.LastError.Category == decider.ToolFailure &&
		in.LastError.Attempted == "npm install jsonwebtoken" && in.LastError.Tool == "Bash", "error context %+v",
		in.LastError)
	p.verdict("arbiter", ruling("RETRY", "Mend the package manager first.", "to", id))
	p.contains("the retry", p.lastSent(id), "kind: retry", "Mend")
	p.verdict(id, report("done", "it installs", true))
	testkit.Check(t, p.s.Task.Failures == 0 && p.s.Task.LastError == nil && p.s.Task.History.Len() == 2,
		"after the success: %d failures, %+v, %d executions", p.s.Task.Failures, p.s.Task.LastError,
		p.s.Task.History.Len())
	perf := p.s.Task.History.Performance(AnyMode)
	testkit.Check(t, perf != nil && perf.SuccessRate == 50, "performance %+v", perf)
}

// TestARetryTooMany: the limit of failures is checked when a retry is ruled; it prevents no other ruling of the
// Arbiter.
func TestARetryTooMany(t *testing.T) {
	for _, other := range []bool{false, true} {
		p, id := oneWorks(t, func(o *runconfig.Options) { o.MaxFailures = 2 })
		p.stumble(id)
		p.verdict("arbiter", ruling("RETRY", "Again.", "to", id))
		p.stumble(id)
		if other {
			p.verdict("arbiter", ruling("CONTINUE", "Leave it out.", "to", id))
			p.goesOn("ended")
			continue
		}
		p.verdict("arbiter", ruling("RETRY", "Again.", "to", id))
		p.endsAs(contract.StatusFailed, contract.ExitFailed, "2 executions in a row failed", "exit code 1")
	}
}

// TestLimitsComeBeforeRetryAndContinue: a limit ends the run before RETRY and CONTINUE, and the result says
// what was achieved.
func TestLimitsComeBeforeRetryAndContinue(t *testing.T) {
	for _, decision := range []string{"RETRY", "CONTINUE"} {
		t.Run(decision, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.MaxIterations = 1 })
			id := p.spawn("work")
			p.call("arbiter", "set_plan", `{"steps":[{"text":"one","status":"done"},{"text":"two"}]}`)
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.verdict(id, report("done", "half of it", true))
			p.verdict("arbiter", ruling(decision, "More.", "to", id))
			p.endsAs(contract.StatusLimit, contract.ExitLimit, "--max-iterations", "1 of 2 steps", "half of it")
			got := phases(p)
			testkit.Check(t, got[len(got)-1] == "complete", "states %v", got)
		})
	}
}

func TestTotalFailuresEndATask(t *testing.T) {
	p, one := oneWorks(t, func(o *runconfig.Options) { o.MaxFailures, o.MaxTotalFailures = 10, 2 })
	p.stumble(one)
	p.verdict("arbiter", ruling("CONTINUE", "Go on without it.", "to", one))
	p.verdict(one, report("done", "without it", true))
	p.verdict("arbiter", ruling("SELECT_MODE", "Test it.", "mode", "tester"))
	two := p.working()
	p.crash(two, 5)
	p.endsAs(contract.StatusFailed, contract.ExitFailed, "--max-total-failures")

	o := p.s.Options
	o.MaxCostPerAgent, p.s.Agents = 1, slices.Clone(p.s.Agents)
	p.s.Edit(one).CostUSD = 1 // nothing is said any more of a limit that it has reached
	p.out = nil
	out := p.do(input.Resumed{Options: o, Word: "Go on.", Salt: "/2"})
	p.endsAs(contract.StatusFailed, contract.ExitFailed, "--max-total-failures")
	testkit.Same(t, "timers", []input.SetTimer{{Key: timeoutKey}}, ofType[input.SetTimer](out))
}

// TestTheArbiterIsDown: the run continues by the rules and announces it; when the Arbiter is back, it reads
// what was decided.
func TestTheArbiterIsDown(t *testing.T) {
	p := begin(t, nil)
	p.crash("arbiter", 5)
	testkit.Need(t, p.s.Rulings.FallbackReason != "", "no decider is asked")
	p.contains("what is said", last[contract.Decision](p).Warnings[0], "parked")
	n := p.lastNote().Decision
	testkit.Check(t, n.Prompt == "" && n.Source == decider.ByFallback, "by %s, read:\n%s", n.Source, n.Prompt)
	planner := p.working()
	testkit.Check(t, p.agent(planner).Mode == "planner" && p.s.Question.Open == nil,
		"%s is a %s, and the human is asked %+v", planner, p.agent(planner).Mode, p.s.Question.Open)
	p.verdict(planner, report("question", "May I?", true))
	p.contains("the planner", p.lastSent(planner), "Decide yourself")
	p.verdict(planner, report("done", "a plan", true))
	developer := p.working()
	testkit.Check(t, p.agent(developer).Mode == "developer" && p.agent(planner).Status != AgentReady,
		"%s is a %s; the planner is %s", developer, p.agent(developer).Mode, p.agent(planner).Status)
	p.mustCommand(contract.Choose{Option: "retry"})
	testkit.Same(t, "the rules still decide", "", p.s.Rulings.FallbackReason)
	p.settles()
	p.verdict(developer, report("done", "it is built", true))
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "it is built", "Build it", "a plan", "Decided by fallback")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	p.endsAs(contract.StatusComplete, contract.ExitComplete)
}

// TestNoRulingAndNoHuman: the rules lead the run to its end, or to a limit; it never runs for ever.
func TestNoRulingAndNoHuman(t *testing.T) {
	for _, works := range []bool{true, false} {
		p := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
		turns := 0
		for ; turns < 200 && p.s.Ending == nil; turns++ {
			p.settles()
			if p.agent("arbiter").Status == AgentBusy {
				p.turn("arbiter", bridge.Turn{Text: "hm"})
				continue
			}
			id := p.working()
			if works {
				p.verdict(id, report("done", "the "+p.agent(id).Mode+" is done", true))
			} else {
				p.stumble(id)
			}
		}
		want := contract.StatusFailed
		if works {
			want = contract.StatusComplete
		}
		if r, _ := p.finished(); r.Status != want || turns > 60 {
			t.Errorf("agents that work %v: %s after %d turns: %s", works, r.Status, turns, r.Summary)
		}
	}
}

// TestTheDeciderFails: the rules decide, and say why.
func TestTheDeciderFails(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless })
	q := effects[input.Decide](p)[0].Question
	q.Failed = "no answer within 2m0s"
	p.do(input.Decided(q))
	d := last[contract.Decision](p)
	testkit.Check(t, d.Source == "fallback" && strings.Contains(strings.Join(d.Warnings, " "), "no answer within"),
		"decision %+v", d)
	for _, n := range effects[input.Note](p) {
		p.do(input.Decided(n.Decision))
	}
	// A late or repeated answer changes nothing.
	before := fingerprint(t, &p.s)
	p.do(input.Decided(q))
	testkit.Same(t, "the second answer counted", before, fingerprint(t, &p.s))
}

// TestHumansMessageSupersedesTheDecider: the Arbiter's ruling in the meantime counts.
func TestHumansMessageSupersedesTheDecider(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless })
	q := effects[input.Decide](p)[0].Question
	p.say("Use the tester.")
	p.verdict("arbiter", ruling("SELECT_MODE", "Test it.", "mode", "tester"))
	q.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "planner", Reason: "r", Source: decider.ByModel,
		Usage: decider.Usage{Input: 10, CostUSD: 0.25}}
	p.do(input.Decided(q))
	testkit.Same(t, "agents", 2, len(p.s.Agents))
	testkit.Same(t, "p.agent(\"orch-1\").Mode", "tester", p.agent("orch-1").Mode)
	testkit.Check(t, p.s.Budget.CostUSD == 0.25 && p.s.Budget.Usage.Input == 10,
		"the bill is $%v, %+v: the answer was paid for", p.s.Budget.CostUSD, p.s.Budget.Usage)
	// The cost of an answer that comes while the run ends is counted, too.
	p.do(input.Signal{Signal: "INT"})
	p.do(input.Decided(q))
	r, _ := p.finished()
	testkit.Check(t, r.CostUSD == 0.5, "the result says $%v", r.CostUSD)
}

// TestRulesTire: an agent that always fails, and another that always succeeds, would reset each other's count
// of failures up to the limit of iterations.
func TestRulesTire(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider, o.MaxFailures = runconfig.DeciderRules, 2 })
	for turns := 0; p.s.Ending == nil && turns < 100; turns++ {
		if p.s.Rulings.DeciderRequest != nil {
			p.decides(decider.Rules{})
			continue
		}
		if id := p.working(); p.agent(id).Mode == "developer" {
			p.stumble(id)
		} else {
			p.verdict(id, report("handoff", "looked at it", true)) // its step stays open
		}
	}
	r, exit := p.finished()
	testkit.Check(t, r.Status == contract.StatusFailed && exit == contract.ExitFailed &&
		p.s.Task.TotalFailures <= p.s.Options.FailureLimit(false)+1, "result %+v, exit %d after %d failures", r, exit,
		p.s.Task.TotalFailures)
}

// selecting is a run whose task needs an agent.
func selecting(mail ...Mail) *step {
	st := readyRun(runconfig.Options{Decider: runconfig.DeciderRules})
	st.Task.Text, st.Task.Phase, st.Conversation.Mail = "Build it", machine.Selecting, mail
	return st
}

var done = Mail{ID: "m1", From: "orch-1", To: contract.Arbiter, Kind: verdict.KindDone}

// TestWithholds: messages that another decider decides on are kept from the Arbiter; while the rules decide,
// all messages are.
func TestWithholds(t *testing.T) {
	w := selecting()
	s, c := &w.Rulings, &w.out
	notice := Mail{To: contract.Arbiter, Kind: KindNotice}
	testkit.Check(t, w.withholds(&done) && !w.withholds(&notice), "only what ends an execution is withheld")
	s.DeciderYielded = true
	testkit.Check(t, !w.withholds(&done), "the decider left it to the Arbiter")
	s.EnterFallback(c, "it is parked.")
	testkit.Check(t, w.withholds(&notice) && s.DeciderText() == "; the rules decide in your place: it is parked.",
		"the rules decide")
	s.EnterFallback(c, "it is gone")
	if s.LeaveFallback(c); s.FallbackReason != "" || len(c.Effects()) != 2 {
		t.Errorf("%q, %d effects", s.FallbackReason, len(c.Effects()))
	}
}

// lastNote is the last recorded decision.
func (p *play) lastNote() input.Decided {
	p.t.Helper()
	notes := effects[input.Note](p)
	testkit.Need(p.t, len(notes) != 0, "no decision is recorded")
	return input.Decided(notes[len(notes)-1].Decision)
}

// TestWhatTheArbiterReadIsRecorded: a decision is recorded with each message of its turn, and of earlier turns
// without a ruling, as it was sent.
func TestWhatTheArbiterReadIsRecorded(t *testing.T) {
	p := begin(t, nil)
	p.careful = true
	task := p.lastSent("arbiter")
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	if got := p.lastNote().Decision.Prompt; got != task || !strings.Contains(got, "Build it") {
		t.Errorf("recorded as read:\n%s\nand sent was:\n%s", got, task)
	}
	p.verdict(id, report("done", "all of it", true))
	document := p.lastSent("arbiter")
	p.turn("arbiter", bridge.Turn{Text: "Hm."}) // no verdict: the run asks again
	correction := p.lastSent("arbiter")
	p.say("Be quick.", "steer", "arbiter")
	word := p.lastSent("arbiter")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	got := p.lastNote().Decision.Prompt
	testkit.Same(t, "recorded as read", document+"\n"+correction+"\n"+word, got)
	p.contains("what was read", got, "where the task stands", "the second half", "Be quick.")
}

// TestRepeatedMessageIsReadOnce: a message that was sent twice, to another process or another session, is
// recorded as read once.
func TestRepeatedMessageIsReadOnce(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.verdict(id, report("done", "all of it", true))
	a := p.agent("arbiter")
	p.happen("arbiter", bridge.Delivered{MessageID: a.Turn[0], Proof: "lifecycle"})
	p.rebirth("arbiter", bridge.DeliveryAbsent)
	p.verdict("arbiter", ruling("CONTINUE", "More.", "to", id))
	got := p.lastNote().Decision.Prompt
	testkit.Check(t, strings.Count(got, "kind: done") == 1, "recorded as read:\n%s", got)
	testkit.Same(t, fmt.Sprintf("still there: %+v", p.s.Rulings.Readings), 0, len(p.s.Rulings.Readings))
}

// TestStepsNameTheirAgents: a planner states as data which agent does each step, so that rules alone choose the next
// one. An unknown name is ignored; then a name at the head of the text counts.
func TestStepsNameTheirAgents(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderHybrid })
	p.decides(decider.Hybrid{})
	v := report("handoff", "the plan", true)
	d := v["handoff"].(verdict.Document)
	d.Remaining = []string{}
	d.Steps = []verdict.Step{{Text: "Build it", Mode: "developer"}, {Text: "Prove it", Mode: " Tester "},
		{Text: " "}, {Text: "reviewer: look at it", Mode: "wizard"}, {Text: "Rest"}}
	v["handoff"] = d
	p.verdict(p.working(), v)
	want := []contract.Step{{Text: "Build it", Mode: "developer"}, {Text: "Prove it", Mode: "tester"},
		{Text: "reviewer: look at it", Mode: "reviewer"}, {Text: "Rest"}}
	for i := range want {
		want[i].Status = contract.StepPending
	}
	testkit.Same(t, "plan", want, p.s.Task.Plan)
	q := p.decides(decider.Hybrid{})
	testkit.Check(t, q.Failed == "" && q.Decision.Mode == "developer" && q.Decision.Source == decider.ByRules,
		"decided %+v", q)
	p.contains("the brief", p.lastSent(p.working()), "Build it (for developer)")
}

// leaving is a report of work that leaves something open.
func leaving(remaining ...string) map[string]any {
	v := report("done", "see the document", true)
	d := v["handoff"].(verdict.Document)
	d.Remaining = remaining
	v["handoff"] = d
	return v
}

// TestABlockerBeforeTheNextStep: what a tester leaves open in the middle of a plan is fixed by a developer and
// tested again. The next step stays unchanged until then.
func TestABlockerBeforeTheNextStep(t *testing.T) {
	for _, alone := range []bool{false, true} { // the rules in the Arbiter's place
		p := begin(t, func(o *runconfig.Options) {
			if !alone {
				o.Decider = runconfig.DeciderRules
			}
		})
		if alone {
			p.crash("arbiter", 5)
		}
		tested, modes := 0, []string{}
		for turns := 0; p.s.Ending == nil && turns < 20; turns++ {
			if p.s.Rulings.DeciderRequest != nil {
				p.decides(decider.Rules{})
				continue
			}
			id := p.working()
			mode := p.agent(id).Mode
			modes = append(modes, mode)
			switch {
			case mode == "planner":
				p.verdict(id, leaving("developer: build it", "tester: try it", "developer: polish it"))
			case mode == "tester" && tested == 0:
				tested++
				p.verdict(id, leaving("BLOCKER: it loses data"))
				testkit.Same(t, fmt.Sprintf("alone %v: the next step", alone), contract.StepPending,
					p.s.Task.Plan[2].Status)
			default:
				if tested == 1 && mode == "developer" {
					tested++
					p.contains("the brief", p.lastSent(id), "BLOCKER: it loses data", "none of its steps")
					testkit.Same(t, fmt.Sprintf("alone %v: the next step", alone), contract.StepPending,
						p.s.Task.Plan[2].Status)
				}
				p.verdict(id, leaving())
			}
		}
		testkit.Same(t, fmt.Sprintf("alone %v: worked", alone), []string{"planner", "developer", "tester", "developer",
			"tester", "developer", "tester"}, modes)
		p.endsAs(contract.StatusComplete, contract.ExitComplete)
	}
}

// TestReceiptsReachTheDecider: the decider's input contains what the supervisor found when it ran the checks,
// and not what the author says about them.
func TestReceiptsReachTheDecider(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless })
	p.answers(p.asked(), "SELECT_MODE", "developer")
	id := p.working()
	p.verdict(id, proven("handoff", "make test", "make lint"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	p.do(input.Checked{Serial: p.check().Serial, Number: 2, Failed: "not permitted"})
	in, ok := decider.EvaluateInput(p.s.Record()), p.s.Task.History.Len() > 0
	d := in.LastExecution.Document
	testkit.Need(t, ok && d != nil && len(d.Checks) == 2 && d.Checks[0].Result == verdict.CheckPassed &&
		d.Checks[1].Result == verdict.CheckUnrun && d.Checks[1].Why == "not permitted",
		"the document in the input: %+v", d)
	testkit.Check(t, d.Claims[0].Proof == verdict.Verified && d.Claims[1].Proof == verdict.Unverified &&
		d.KeyContext == "port 8080", "claims %+v, context %q", d.Claims, d.KeyContext)
}

// TestTheArbiterDoesNotWaitForWhatIsWithheld: a task that waits for the decider is no message that the Arbiter reads
// next, so it cannot wait for it.
func TestTheArbiterDoesNotWaitForWhatIsWithheld(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Task, o.Decider = "", runconfig.DeciderRules })
	p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "a", Status: contract.StepPending}}})
	p.say("Build it") // the Arbiter is busy
	one := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.turn(one, bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.contains("the correction", p.lastSent("arbiter"), "none is at work")
}

// TestNoTaskIsCompletedUnread: while a task waits for the decider, a COMPLETE that ends an earlier turn of the Arbiter
// is not about it. If no decision is due, because an Orchestrator waits, the Arbiter reads the task.
func TestNoTaskIsCompletedUnread(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless })
	p.decides(decider.Rules{})
	p.mustCommand(contract.Reset{})
	p.say("Build the other one.") // the Arbiter is busy
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	p.goesOn("complete without a look at the task")
	p.contains("the notice", last[contract.Notice](p).Text, "has not read your last message")
	q := effects[input.Decide](p)
	p.contains("the question to the decider", string(q[len(q)-1].Question.Input), "Build the other one.")

	p = begin(t, func(o *runconfig.Options) { o.Task, o.Decider = "", runconfig.DeciderRules })
	p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "a", Status: contract.StepPending}}})
	p.say("Build it.") // the Arbiter is busy
	p.verdict(p.spawn("work"), report("question", "Which port?", true))
	p.lacks("what waits for the decider", p.sentTo("arbiter"), "Build it.")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "Build it.", "kind: task")
}
