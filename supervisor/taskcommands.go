package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// retry makes an Orchestrator try again, or restarts a parked one; a parked Arbiter comes first. It reports
// whether there was anything to retry.
func (st *step) retry(ref string, a Agent) bool {
	if arbiter, _ := st.Agent(contract.Arbiter); arbiter.Status == AgentParked {
		a = arbiter
	}
	told := fmt.Sprintf("The human told %s (%s) to try again. It is at work.", a.Name, a.ID)
	switch {
	case a.Status == AgentParked:
		st.out.Accept(ref, "started again: "+a.ID)
		if st.unpark(st.Edit(a.ID)); a.Role == RoleArbiter {
			return true
		}
		told = fmt.Sprintf("The human had %s (%s) started again. It goes on with its work.", a.Name, a.ID)
	case a.ID == "" || !a.Alive():
		st.out.Reject(ref, "there is no living Orchestrator to try again: summon one with force_agent, or send a message")
		return false
	case a.Works():
		st.out.Reject(ref, "%s is already at work", a.ID)
		return false
	default:
		st.out.Accept(ref, "retry: "+a.ID)
		st.post(Mail{From: contract.Human, To: a.ID, Kind: KindRetry,
			Text: "Try again, another way if the first one failed."})
	}
	st.goesOn(st.Edit(a.ID))
	st.Question.Recovery.Overcome(&st.Roster, a.ID)
	st.overrule()
	st.tell(told)
	// The human has decided, so the Arbiter does not have to.
	st.moveToWorkLog(func(m *Mail) bool {
		return m.From == a.ID && m.EndsExecution() && st.withholds(m)
	})
	st.fire(machine.Retry, triggerData{agent: a.ID})
	return true
}

// reset drops the task; the run waits for another.
func (st *step) reset(ref string) {
	st.out.Accept(ref, "reset")
	half := st.Task.Interrupted(&st.Roster, st.at)
	if a, ok := st.Agent(contract.Arbiter); ok && a.Status == AgentBusy {
		st.do(input.Interrupt{Agent: a.AgentRef})
	}
	st.Question.Open, st.Handoff.SuccessorQueue, st.Task.Text, st.Task.Images = nil, nil, "", nil
	st.Question.Recovery.Overcome(&st.Roster, st.Question.Recovery.Agent)
	st.forgetDocuments()
	st.Handoff.ForgetProofs()
	st.Rulings.Ledger = nil // the rulings were about another task
	st.setPlan([]contract.Step{})
	notice := "The human reset the task: every Orchestrator is released and the plan is empty. Ask what is wanted now."
	st.fire(machine.Reset, triggerData{})
	st.takeBack(func(m Mail) bool {
		return m.To == contract.Arbiter && !m.Sent && (m.Kind == KindTask || st.IsOrchestrator(m.From))
	})
	if len(half) > 0 {
		notice += "\nLeft half-done:\n- " + strings.Join(half, "\n- ")
	}
	st.tell(notice)
}

// overrule drops the questions to the human or another decider: the human has ruled. It keeps a question that
// an Orchestrator waits with. What was to be judged goes into the Arbiter's work log.
func (st *step) overrule() {
	if !st.Conversation.Held {
		st.Question.Drop(func(p QuestionPart) bool { return !p.IsWaitedFor(&st.Roster) })
	}
	if st.Rulings.DeciderRequest == nil {
		return
	}
	st.Rulings.DeciderRequest = nil
	st.moveToWorkLog(func(m *Mail) bool {
		return st.withholds(m) && (m.Kind == KindTask || m.EndsExecution())
	})
}

// forceAgent spawns an Orchestrator of a mode that a human chose.
func (st *step) forceAgent(ref, mode string) {
	if _, ok := st.Options.ModeNamed(mode); !ok {
		st.out.Reject(ref, "there is no mode %q; modes: %s", mode, strings.Join(st.Options.ModeNames(), ", "))
		return
	}
	if st.Task.Text == "" {
		st.out.Reject(ref, "there is no task yet: send a message first")
		return
	}
	problem := st.spawnOrchestrator(SpawningRequest{Brief: st.Task.Text, Mode: mode, By: contract.Human})
	if problem != "" {
		st.out.Reject(ref, "%s", problem)
		return
	}
	st.overrule()
	st.Question.Recovery.Overcome(&st.Roster, st.Question.Recovery.Agent)
	last, _ := st.Last()
	st.out.Accept(ref, "summoned "+last.ID+" as "+mode)
	forced := contract.Decision{Decision: verdict.SelectMode, Mode: mode, To: last.ID, Reason: "forced by the human",
		Source: string(decider.ByHuman)}
	st.Rulings.Decisions++
	forced.Number, forced.Point = st.Rulings.Decisions, string(decider.PointTalk)
	st.Rulings.Note(&st.out, input.Decided{
		Number: st.Rulings.Decisions, Point: decider.PointTalk, About: last.ID,
		Decision: decider.Decision{
			Decision: forced.Decision, Mode: mode, Reason: forced.Reason, Source: decider.ByHuman,
		},
	})
	st.emit(contract.Human, forced)
	st.tell(fmt.Sprintf("The human summoned %s (%s) as %s, with the task as its brief.", last.Name, last.ID, mode))
}

// skipStep skips the step that an agent works on, or the current one, and reports whether there is one.
func (st *step) skipStep(ref, agent string) bool {
	i := st.Task.StepToSkip(&st.Roster, agent)
	if i < 0 && agent != "" && st.Task.StepAtHand() >= 0 {
		st.out.Reject(ref, "the current step does not belong to %s: skip_step skips it anyway", st.DisplayName(agent))
		return false
	}
	if i < 0 {
		st.out.Reject(ref, "the plan has no step to skip: set one with set_plan")
		return false
	}
	st.out.Accept(ref, fmt.Sprintf("skipped step %d: %s", i+1, st.Task.Plan[i].Text))
	st.Question.Recovery.Overcome(&st.Roster, st.Question.Recovery.Agent)
	st.fire(machine.SkipStep, triggerData{agent: agent})
	return true
}

// fallBackFrom lets another agent try what one has failed at, and reports whether there is such an
// Orchestrator.
func (st *step) fallBackFrom(ref string, a Agent) bool {
	if a.ID == "" {
		st.out.Reject(ref, "there is no Orchestrator to replace")
		return false
	}
	st.out.Accept(ref, "another agent takes over")
	st.overrule()
	if a.Alive() {
		st.release(a.ID, "another takes its place", false)
		st.fire(machine.AgentStopped, triggerData{agent: a.ID, stopped: true})
	}
	st.tell(fmt.Sprintf("The human chose that another agent takes up what %s (%s) failed at. Summon one, under "+
		"another mode or with another way.", a.Name, a.ID))
	return true
}
