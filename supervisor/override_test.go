package supervisor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// mustCommand gives a command that has to be accepted.
func (p *play) mustCommand(b contract.CommandBody) {
	p.t.Helper()
	if ok, why := p.command(b); !ok {
		p.t.Fatalf("%T: %s", b, why)
	}
}

// TestAChoiceIsAboutTheOneThatFailed: the choice is about the failed agent, even if another was spawned
// later, and counts once.
func TestAChoiceIsAboutTheOneThatFailed(t *testing.T) {
	for _, option := range []string{"retry", "skip", "fallback"} {
		p := begin(t, nil)
		one, two := p.spawn("one"), p.spawn("two")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "a", Status: contract.StepPending}, {Text: "b", Status: contract.StepPending}}})
		p.breaksOff(one)
		p.mustCommand(contract.Choose{Option: option})
		if a := p.agent(two); !a.Works() {
			t.Errorf("%s: %s is %s, and was at work", option, two, a.Status)
		}
		a := p.agent(one)
		switch option {
		case "retry":
			if !a.Works() {
				t.Errorf("retry: %s is %s %s", one, a.Status, a.Standing)
			}
		case "fallback":
			if a.Alive() {
				t.Errorf("fallback: %s is %s", one, a.Status)
			}
		}
		if ok, why := p.command(contract.Choose{Option: option}); ok || !strings.Contains(why, "there is nothing to choose now") {
			t.Errorf("%s, a second time: %v %q", option, ok, why)
		}
		p.folds()
	}
}

// TestTheArbiterLearnsOfARetry: otherwise it would rule the same again.
func TestTheArbiterLearnsOfARetry(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("one")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
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
			if p.s.Rulings.DeciderRequest == nil || p.s.Task.Phase != machine.Evaluating {
				t.Fatalf("in %s nothing is asked", p.s.Task.Phase)
			}
			asked := effects[input.Decide](p)
			late := asked[len(asked)-1].Question
			p.mustCommand(c.body)
			p.settles()
			if p.s.Rulings.DeciderRequest != nil || p.s.Task.Phase != machine.Executing {
				t.Errorf("in %s it is asked again: %+v", p.s.Task.Phase, p.s.Rulings.DeciderRequest)
			}
			late.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "tester", Reason: "late", Source: decider.ByModel}
			summoned := p.s.Spawned
			p.do(input.Decided(late))
			if p.s.Spawned != summoned {
				t.Error("what came too late was carried out")
			}
			at := p.working()
			p.verdict(at, report("done", "that, too", true))
			if p.s.Rulings.DeciderRequest == nil || p.s.Rulings.DeciderRequest.About != at {
				t.Errorf("then it is asked: %+v", p.s.Rulings.DeciderRequest)
			}
			p.do(input.Decided(late)) // with the same number and point
			if p.s.Spawned != summoned || p.s.Rulings.DeciderRequest == nil {
				t.Error("an answer to another question was taken")
			}
			p.folds()
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
	p.contains("the notice", read, "ended by the human", "was at Bash `make thread`", "1m", "step 1 of the plan: Spin the thread")
}

// TestAnswerAfterAResetIsTheNextTask: after a reset the answer to an open question is the next task.
func TestAnswerAfterAResetIsTheNextTask(t *testing.T) {
	p := begin(t, nil)
	p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.mustCommand(contract.Reset{})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What is wanted now?"))
	p.say("Build another")
	if p.s.Task.Text != "Build another" || p.s.Question.Open != nil {
		t.Errorf("the task is %q, the question %v", p.s.Task.Text, p.s.Question.Open)
	}
	p.contains("what the Arbiter reads", p.lastSent(contract.Arbiter), "kind: task", "Build another")
	p.mustCommand(contract.ForceAgent{Mode: "tester"})
	if p.s.Task.Phase != machine.Executing || p.s.Task.Iterations != 1 {
		t.Errorf("%s, iteration %d", p.s.Task.Phase, p.s.Task.Iterations)
	}
	p.folds()
}

// TestAnOverrideAnswersAQuestion: nothing waits for the human who has just ruled.
func TestAnOverrideAnswersAQuestion(t *testing.T) {
	for _, body := range []contract.CommandBody{contract.RetryLast{}, contract.ForceAgent{Mode: "reviewer"}, contract.Choose{Option: "fallback"}} {
		p := begin(t, nil)
		id := p.spawn("work")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.breaksOff(id)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "What now?"))
		if p.s.Question.Open == nil {
			t.Fatal("no question")
		}
		p.mustCommand(body)
		if p.s.Question.Open != nil {
			t.Errorf("%T: %q waits for an answer", body, p.s.Question.Open.Text)
		}
		p.folds()
	}
}

// TestAKillLeavesTheEvaluation: the Arbiter still has to judge what another agent has done.
func TestAKillLeavesTheEvaluation(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("done", "all of it", true))
	p.proven("arbiter") // it reads
	p.mustCommand(contract.ForceAgent{Mode: "reviewer"})
	p.settles()
	p.mustCommand(contract.Kill{ID: "orch-2"})
	if p.s.Task.Phase != machine.Evaluating {
		t.Errorf("%s: %v", p.s.Task.Phase, phases(p))
	}
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
	if len(n) != 1 || n[0].Decision.Number != 1 || n[0].Decision.Point != "select" || len(n[0].Decision.Input) == 0 {
		t.Errorf("recorded: %+v", n)
	}
	p.folds()
}

// TestAToolOfAnEarlierProcess: a tool call of an earlier process is no longer shown as current.
func TestAToolOfAnEarlierProcess(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.proven(id)
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t1", Input: []byte(`{"command":"make thread"}`)})
	p.resume("")
	if a := p.agent(id); a.ToolCall != nil {
		t.Errorf("at %+v", a.ToolCall)
	}
}
