package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestAChoiceIsAboutTheOneThatFailed: the choice is about the failed agent, even if another was spawned
// later, and counts once.
func TestAChoiceIsAboutTheOneThatFailed(t *testing.T) {
	for _, option := range []string{"retry", "skip", "fallback"} {
		p := begin(t, nil)
		one, two := p.spawn("one"), p.spawn("two")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "a", Status: contract.StepPending},
			{Text: "b", Status: contract.StepPending}}})
		p.breaksOff(one)
		p.mustCommand(contract.Choose{Option: option})
		if a := p.agent(two); !a.Works() {
			t.Errorf("%s: %s is %s, and was at work", option, two, a.Status)
		}
		a := p.agent(one)
		switch option {
		case "retry":
			testkit.Check(t, a.Works(), "retry: %s is %s %s", one, a.Status, a.Standing)
		case "fallback":
			testkit.Check(t, !a.Alive(), "fallback: %s is %s", one, a.Status)
		}
		p.refuses(contract.Choose{Option: option}, "there is nothing to choose now")
	}
}

// TestTheArbiterLearnsOfARetry: otherwise it would rule the same again.
func TestTheArbiterLearnsOfARetry(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.stumble(id)
	p.mustCommand(contract.RetryLast{})
	if !slices.ContainsFunc(p.s.Conversation.Mail, func(m Mail) bool {
		return m.To == contract.Arbiter && strings.Contains(m.Text, "try again")
	}) {
		t.Errorf("its mail: %+v", p.s.Conversation.Mail)
	}
}

// TestAnOverrideTakesTheDecision: when a human rules, the open question to another decider is not carried out,
// and not asked again.
func TestAnOverrideTakesTheDecision(t *testing.T) {
	for _, c := range []struct {
		name string
		body contract.CommandBody
	}{
		{"retry", contract.RetryLast{}}, {"force", contract.ForceAgent{Mode: "reviewer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderHybrid })
			p.decides(decider.Rules{})
			first := p.working()
			p.verdict(first, report("done", "all of it", true))
			testkit.Need(t, p.s.Rulings.DeciderRequest != nil && p.s.Task.Phase == machine.Evaluating,
				"in %s nothing is asked", p.s.Task.Phase)
			asked := effects[input.Decide](p)
			late := asked[len(asked)-1].Question
			p.mustCommand(c.body)
			p.settles()
			testkit.Check(t, p.s.Rulings.DeciderRequest == nil && p.s.Task.Phase == machine.Executing,
				"in %s it is asked again: %+v", p.s.Task.Phase, p.s.Rulings.DeciderRequest)
			late.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "tester", Reason: "late", Source: decider.ByModel}
			summoned := p.s.Spawned
			p.do(input.Decided(late))
			testkit.Same(t, "what came too late was carried out", summoned, p.s.Spawned)
			at := p.working()
			p.verdict(at, report("done", "that, too", true))
			testkit.Check(t, p.s.Rulings.DeciderRequest != nil && p.s.Rulings.DeciderRequest.About == at,
				"then it is asked: %+v", p.s.Rulings.DeciderRequest)
			p.do(input.Decided(late)) // with the same number and point
			testkit.Check(t, p.s.Spawned == summoned && p.s.Rulings.DeciderRequest != nil,
				"an answer to another question was taken")
		})
	}
}

// TestKillReportsInterruptedWork: the Arbiter learns which work the kill interrupted.
func TestKillReportsInterruptedWork(t *testing.T) {
	p := begin(t, nil)
	p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "Spin the thread", Status: contract.StepPending}}})
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.proven(id)
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t1", Input: []byte(`{"command":"make thread"}`)})
	p.at = p.at.Add(time.Minute)
	p.mustCommand(contract.Kill{ID: id})
	p.folds() // also without the reports that only show what it was doing
	p.do(input.Inspected{Serial: p.s.Handoff.DocumentSerial, Result: bridge.InspectResult{}})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "?"))
	read := p.lastSent(contract.Arbiter)
	p.contains("the notice", read, "ended by the human", "was at Bash `make thread`", "1m",
		"step 1 of the plan: Spin the thread")
}

// TestAnswerAfterAResetIsTheNextTask: after a reset the answer to an open question is the next task.
func TestAnswerAfterAResetIsTheNextTask(t *testing.T) {
	p, _ := oneWorks(t, nil)
	p.mustCommand(contract.Reset{})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted now?"))
	p.say("Build another")
	testkit.Check(t, p.s.Task.Text == "Build another" && p.s.Question.Open == nil, "the task is %q, the question %v",
		p.s.Task.Text, p.s.Question.Open)
	p.contains("what the Arbiter reads", p.lastSent(contract.Arbiter), "kind: task", "Build another")
	p.mustCommand(contract.ForceAgent{Mode: "tester"})
	testkit.Same(t, "iteration", machine.Executing, p.s.Task.Phase)
	testkit.Same(t, "p.s.Task.Iterations", 1, p.s.Task.Iterations)
}

// TestAnOverrideAnswersAQuestion: nothing waits for the human who has just ruled.
func TestAnOverrideAnswersAQuestion(t *testing.T) {
	for _, body := range []contract.CommandBody{contract.RetryLast{}, contract.ForceAgent{Mode: "reviewer"},
		contract.Choose{Option: "fallback"}} {
		p, id := oneWorks(t, nil)
		p.breaksOff(id)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What now?"))
		testkit.Need(t, p.s.Question.Open != nil, "no question")
		p.mustCommand(body)
		testkit.Check(t, p.s.Question.Open == nil, "%T: %q waits for an answer", body, p.s.Question.Text())
	}
}

// TestAKillLeavesTheEvaluation: the Arbiter still has to judge what another agent has done.
func TestAKillLeavesTheEvaluation(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, report("done", "all of it", true))
	p.proven("arbiter") // it reads
	p.mustCommand(contract.ForceAgent{Mode: "reviewer"})
	p.settles()
	p.mustCommand(contract.Kill{ID: "orch-2"})
	testkit.Same(t, fmt.Sprintf("phase after %v", phases(p)), machine.Evaluating, p.s.Task.Phase)
}

// TestADecisionOverAResume: a decision is recorded with the request to the Arbiter, although the run was killed
// while the Arbiter's turn ran.
func TestADecisionOverAResume(t *testing.T) {
	p := begin(t, nil)
	p.proven("arbiter")
	p.resume("")
	p.back(bridge.DeliverySeen)
	p.verdict("arbiter", ruling("SELECT_MODE", "Do it.", "mode", "developer"))
	n := effects[input.Note](p)
	testkit.Check(t, len(n) == 1 && n[0].Decision.Number == 1 && n[0].Decision.Point == "select" &&
		len(n[0].Decision.Input) != 0, "recorded: %+v", n)
}

// TestAToolOfAnEarlierProcess: a tool call of an earlier process is no longer shown as current.
func TestAToolOfAnEarlierProcess(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.proven(id)
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t1", Input: []byte(`{"command":"make thread"}`)})
	p.resume("")
	a := p.agent(id)
	testkit.Check(t, a.ToolCall == nil, "at %+v", a.ToolCall)
}

// TestTakenBackInAPause: a message that other agents relied on cannot be withdrawn if no agent
// would continue without it.
func TestTakenBackInAPause(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.Pause{})
	p.say("No, another way.", contract.Stop)
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
	word := p.s.Conversation.Mail[len(p.s.Conversation.Mail)-1]
	ok, why := p.command(contract.WithdrawMessage{MessageID: word.ID})
	testkit.Check(t, !ok, "taken back: %s", why)
	p.command(contract.Continue{})
	testkit.Same(t, "the Arbiter", AgentBusy, p.agent("arbiter").Status)
}

// TestABriefIsEdited: later records contain the new text.
func TestABriefIsEdited(t *testing.T) {
	p := begin(t, nil)
	p.command(contract.ForceAgent{Mode: "tester"})
	i := slices.IndexFunc(p.s.Conversation.Mail, func(m Mail) bool { return m.Kind == KindBrief })
	p.mustCommand(contract.EditMessage{MessageID: p.s.Conversation.Mail[i].ID, Text: "Test it twice"})
	testkit.Same(t, "brief", "Test it twice", p.agent("orch-1").Brief)
	p.spawned("orch-1")
	p.contains("what it receives", p.lastSent("orch-1"), "Test it twice")
}

// TestTheTaskIsEditedWhileItIsDecidedOn: the answer about the old text comes too late.
func TestTheTaskIsEditedWhileItIsDecidedOn(t *testing.T) {
	p := begin(t, stateless)
	q := p.asked()
	testkit.Same(t, "the first mail", KindTask, p.s.Conversation.Mail[0].Kind)
	p.mustCommand(contract.EditMessage{MessageID: p.s.Conversation.Mail[0].ID, Text: "Build another"})
	again := p.asked()
	testkit.Need(t, again.Serial != q.Serial, "the new words are not asked about")
	p.answers(q, "SELECT_MODE", "planner")
	testkit.Same(t, "the answer about the old words counts", 0, p.s.Spawned)
	p.answers(again, "SELECT_MODE", "tester")
	testkit.Same(t, "mode", "tester", p.agent("orch-1").Mode)
	p.contains("the brief", p.agent("orch-1").Brief, "Build another")
}

// TestHaltAtTheEnd: a halt does not wait for an orderly end.
func TestHaltAtTheEnd(t *testing.T) {
	p := begin(t, nil)
	p.do(input.Signal{Signal: "INT"})
	p.mustCommand(contract.Halt{})
	list := effects[input.Shutdown](p)
	testkit.Check(t, len(list) == 2 && list[1].Fast, "%+v", list)
	_, exit := p.finished()
	testkit.Check(t, exit == contract.ExitInterrupted, "exit %d", exit)
}

// checking is a run in which the first check of a document is running.
func checking(t *testing.T) *play {
	t.Helper()
	p, one := oneWorks(t, nil)
	p.verdict(one, proven("done", "make"))
	testkit.Same(t, "no check is run", 1, len(effects[input.RunCheck](p)))
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
	p.bridgeReturns()
	testkit.Need(t, p.s.Task.Phase == machine.Evaluating && len(p.s.Handoff.Documents) == 1 &&
		len(p.s.Handoff.Documents[0].Receipts) == 0 && len(effects[input.RunCheck](p)) == 0, "%s: %+v", p.s.Task.Phase,
		p.s.Handoff.Documents)
	p.command(contract.Continue{})
	again := effects[input.RunCheck](p)
	testkit.Need(t, len(again) == 1 && again[0].Request != first.Request &&
		timer(p.out, fmt.Sprint(HandoffTimerPrefix, first.Serial)) == HandoverPatience, "%+v", again)
	p.do(input.Checked{Serial: first.Serial, Number: 1, Request: again[0].Request,
		Result: bridge.CheckResult{SHA256: "s", Output: "ok"}})
	run := p.s.Handoff.ChecksRun()
	testkit.Check(t, run != nil && run.Passed == 1, "%+v", run)
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
				testkit.Need(t, p.s.Halted && p.s.Paused, "the loss says that it was a halt, and nothing is halted")
				p.command(contract.Halt{})
			default:
				p.do(input.BridgeLost{Message: "gone"})
				p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
				p.do(lost)
				p.do(input.BridgeBack{})
				p.command(contract.Halt{})
				p.s.Lifecycle.Restarts, p.s.Lifecycle.Crashes = nil, 0 // of the first, which is one
			}
			testkit.Need(t, p.s.Halted && p.s.Lifecycle.Crashes == 0 && len(p.s.Lifecycle.Restarts) == 0 &&
				p.s.Ending == nil, "%s: halted %v, %d crashes, %v, %+v", first, p.s.Halted, p.s.Lifecycle.Crashes,
				p.s.Lifecycle.Restarts, p.s.Ending)
			testkit.Same(t, fmt.Sprintf("%s: told times", first), 1, len(told[contract.Halted](p)))
			p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
			p.do(input.BridgeBack{})
			testkit.Same(t, fmt.Sprintf("%s: an agent is started", first), 0, len(effects[input.Spawn](p)))
			p.command(contract.Continue{})
			testkit.Same(t, fmt.Sprintf("%s: are started", first), 2, len(effects[input.Spawn](p)))
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
	testkit.Need(t, p.s.Spawned == 0 && p.s.Rulings.Decisions == 0, "the rules decided: %s", p.s.LivingText())
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Signal: "killed", Expected: true}})
	p.command(contract.Continue{})
	testkit.Check(t, p.asked().Serial != q.Serial, "it is not asked again")
}

// TestLateRequestsOfOneThatIsStopped: a late request of a stopped agent reaches no human and starts nothing.
func TestLateRequestsOfOneThatIsStopped(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverStopping)
	p.do(asked(p, "orch-1", "p1", "ask"))
	testkit.Check(t, len(p.s.Permission.Open) == 0 && last[contract.Permission](p).By == contract.ByShutdown, "%+v",
		p.s.Permission.Open)
	p.ends("orch-1")
	p.do(asked(p, "orch-1", "p2", "ask"))
	testkit.Same(t, fmt.Sprintf("of one whose session a human has: %+v", p.s.Permission.Open), 0,
		len(p.s.Permission.Open))
	p = begin(t, nil)
	p.command(contract.Halt{})
	r := p.call("arbiter", "spawn_orchestrator", `{"prompt":"x"}`)
	testkit.Check(t, r.IsError && p.s.Spawned == 0, "halted: %+v", r)
}

// TestAWayOutOfATerminalThatIsNotClosed: the human can ask again to close it.
func TestAWayOutOfATerminalThatIsNotClosed(t *testing.T) {
	p := working(t)
	p.take("orch-1", TakeoverOpen)
	p.command(contract.Detach{ID: "orch-1"})
	p.command(contract.Detach{ID: "orch-1"})
	testkit.Same(t, "closed times", 2, len(effects[input.ClosePTY](p)))
}

// TestEditBeforeItIsSent: a waiting message can be changed and withdrawn; a sent one cannot.
func TestEditBeforeItIsSent(t *testing.T) {
	p, _ := oneWorks(t, nil)
	p.say("First.") // is sent
	p.say("Use port 80.")
	waiting := p.s.Conversation.Mail[len(p.s.Conversation.Mail)-1].ID
	sent := ""
	for _, m := range p.s.Conversation.Mail {
		if m.Text == "First." {
			sent = m.ID
		}
	}
	p.refuses(contract.EditMessage{MessageID: sent, Text: "x"}, "sent already")
	p.out = nil
	p.mustCommand(contract.EditMessage{MessageID: waiting, Text: "Use port 8080."})
	m := told[contract.Message](p)
	testkit.Check(t, len(m) == 1 && m[0].Edited && m[0].MessageID == waiting && m[0].Text == "Use port 8080.", "%+v", m)
	p.out = nil
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	s := effects[input.Send](p)
	testkit.Check(t, len(s) == 1 && strings.Contains(s[0].Params.Content, "Use port 8080.") &&
		!strings.Contains(s[0].Params.Content, "port 80."), "%+v", s)
	p.say("No, wait.")
	waiting = p.s.Conversation.Mail[len(p.s.Conversation.Mail)-1].ID
	p.mustCommand(contract.WithdrawMessage{MessageID: waiting})
	p.out = nil
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	testkit.Empty(t, "sent all the same", effects[input.Send](p))
	for _, m := range p.s.Conversation.RecentMessages {
		testkit.Check(t, m.MessageID != waiting && m.Text != "Use port 80.", "it is remembered: %+v", m)
	}
}

// TestMessagesThatCannotBeWithdrawn: the dialogue would stop without it, or it is not the human's.
func TestMessagesThatCannotBeWithdrawn(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("Build it.")
	p.verdict(one, report("question", "Which port?", true))
	p.command(contract.Pause{})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
	p.say("8080.")
	p.say("Go on.", contract.Note, one)
	for _, tt := range []struct{ text, why string }{
		{"8080.", "waits for this answer"},
		{"Go on.", "brought to work"},
		{"Which port?", "not yours"},
		{"", "no message"},
	} {
		id := "m-none"
		for _, m := range p.s.Conversation.Mail {
			if m.Text == tt.text {
				id = m.ID
			}
		}
		before := len(p.s.Conversation.Mail)
		ok, why := p.command(contract.WithdrawMessage{MessageID: id})
		testkit.Check(t, !ok && strings.Contains(why, tt.why) && len(p.s.Conversation.Mail) == before, "%q: %v %s",
			tt.text, ok, why)
	}
}

// TestWithdrawnDuringARenewal: the Arbiter has given no valid verdict, and writes its document. Nothing but the human's
// message makes its successor go on.
func TestWithdrawnDuringARenewal(t *testing.T) {
	p := begin(t, nil)
	p.happen("arbiter", bridge.Compact{Trigger: "auto", Blocked: true})
	p.say("Use port 80.")
	waiting := p.s.Conversation.Mail[len(p.s.Conversation.Mail)-1].ID
	p.verdict("arbiter", map[string]any{"x": 1})
	testkit.Same(t, "renewal", RenewalAsked, p.s.Renewal.Stage)
	p.refuses(contract.WithdrawMessage{MessageID: waiting}, "no other message to continue with")
}

// TestTheTaskIsEdited: a task that has not begun can be changed.
func TestTheTaskIsEdited(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Task = "" })
	p.command(contract.Pause{})
	p.say("Build a boat.")
	id := p.s.Conversation.Mail[0].ID
	p.refuses(contract.WithdrawMessage{MessageID: id}, "it is the task")
	p.mustCommand(contract.EditMessage{MessageID: id, Text: "Build a bridge."})
	p.out = nil
	p.command(contract.Continue{})
	s := effects[input.Send](p)
	testkit.Check(t, p.s.Task.Text == "Build a bridge." && len(s) == 1 &&
		strings.Contains(s[0].Params.Content, "Build a bridge."), "task %q, %+v", p.s.Task.Text, s)

	p.mustCommand(contract.Reset{}) // the answer to what is wanted now is the task
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted?"))
	p.command(contract.Pause{})
	p.say("Build a boat.")
	p.mustCommand(contract.EditMessage{MessageID: p.s.Conversation.Mail[0].ID, Text: "Build a ship."})
	testkit.Same(t, "task", "Build a ship.", p.s.Task.Text)
}

// TestNothingBeginsAfterAReset: nothing begins before the human has given another task: the Arbiter's ruling is
// still about the dropped task.
func TestNothingBeginsAfterAReset(t *testing.T) {
	for _, of := range []string{runconfig.DeciderSession, runconfig.DeciderRules} {
		p := begin(t, func(o *runconfig.Options) { o.Decider = of })
		if of == runconfig.DeciderSession {
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What shall it be?"))
		}
		p.mustCommand(contract.Reset{})
		a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"weave"}`)
		testkit.Check(t, a.IsError && strings.Contains(a.Text, "the human reset it"), "%s: spawn_orchestrator: %q", of,
			a.Text)
		for _, v := range []map[string]any{
			ruling("SELECT_MODE", "Weave.", "mode", "developer"), ruling("CONTINUE", "Patience."),
			ruling("COMPLETE", "Done.", "summary", "Done."),
		} {
			p.verdict("arbiter", v)
			if m := last[contract.Message](p); m.Kind != KindCorrection || !strings.Contains(m.Text, "ADDRESS_HUMAN") {
				t.Errorf("%s: %s: %s: %q", of, v["decision"], m.Kind, m.Text)
			}
			testkit.Need(t, p.s.Task.Phase == machine.Idle && p.s.Spawned <= 0 && p.s.Ending == nil,
				"%s: %s: %s, %d summoned, ending %+v", of, v["decision"], p.s.Task.Phase, p.s.Spawned, p.s.Ending)
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted?"))
			p.mustCommand(contract.Reset{})
		}
		p.say("A loom")
		testkit.Check(t, p.s.Task.Text == "A loom" && (of != runconfig.DeciderRules || p.s.Task.Phase == machine.Selecting),
			"%s: %q in %s", of, p.s.Task.Text, p.s.Task.Phase)
	}
}

// TestTheFirstChoiceHasAnInput: the first choice has an input, even if the human sends the task as a message:
// in a run that began without one, and after a reset.
func TestTheFirstChoiceHasAnInput(t *testing.T) {
	for _, way := range []string{"a word", "a reset"} {
		for _, by := range []string{"verdict", "tool"} {
			p := begin(t, untasked)
			p.say("Weave")
			if way == "a reset" {
				p.mustCommand(contract.Reset{})
				p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted?")) // about the dropped task
				p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted?"))
				p.say("Weave")
			}
			v := ruling("SELECT_MODE", "Weave.", "mode", "developer")
			if by == "tool" {
				p.spawn("Weave")
				v = ruling("CONTINUE", "Patience.")
			}
			p.verdict("arbiter", v)
			notes := effects[input.Note](p)
			testkit.Need(t, len(notes) != 0, "%s, by its %s: nothing is recorded", way, by)
			d := notes[len(notes)-1].Decision
			testkit.Check(t, d.Point == decider.PointSelect && strings.Contains(string(d.Input), `"task":"Weave"`),
				"%s, by its %s: decided at %q on %s", way, by, d.Point, d.Input)
		}
	}
}

// TestThePlanTellsWhoEachStepIsFor: a renewed Arbiter knows it from the plan.
func TestThePlanTellsWhoEachStepIsFor(t *testing.T) {
	p := begin(t, nil)
	p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "Weave", Status: contract.StepPending,
		Mode: "developer"}, {Text: "Rest", Status: contract.StepPending}}})
	p.contains("the Arbiter is given", last[contract.Message](p).Text,
		"1. [pending] Weave (for developer)\n2. [pending] Rest\n")
}

// TestWhatBecomesOfWordsWithoutAVerdict: text without a verdict is reported correctly: an Orchestrator's goes
// to the Arbiter.
func TestWhatBecomesOfWordsWithoutAVerdict(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.rambles(id, "I am done.")
	e := last[contract.Error](p)
	testkit.Check(t, !strings.Contains(e.Message, "rules") &&
		strings.Contains(e.Message, "go to the Arbiter as a question"), "error %q", e.Message)
	p.contains("the Arbiter's mail", p.lastSent("arbiter"), "I am done.", "kind: question")
}
