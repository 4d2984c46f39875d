package supervisor

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// commanded carries out a command of a frontend.
func (st *step) commanded(c contract.Command) {
	switch b := c.Body.(type) {
	case contract.Say:
		st.humanMessage(c.Ref, b)
	case contract.Permit:
		st.answerPermission(c.Ref, b)
	case contract.EditMessage:
		st.editMessage(c.Ref, b)
	case contract.WithdrawMessage:
		st.withdrawMessage(c.Ref, b)
	case contract.Attach:
		st.attach(c.Ref, b.ID)
	case contract.Detach:
		st.detach(c.Ref, b.ID)
	case contract.Halt:
		st.halt(c.Ref)
	case contract.Interrupt:
		st.interruptTurns(c.Ref, b.ID)
	case contract.Kill:
		st.killCommand(c.Ref, b.ID)
	case contract.Pause:
		st.Paused = true
		st.out.Accept(c.Ref, "paused: running turns end, nothing more is sent")
	case contract.Continue:
		st.carryOn(c.Ref)
	case contract.ForceAgent:
		st.forceAgent(c.Ref, b.Mode)
	case contract.SkipStep:
		st.skipStep(c.Ref, "")
	case contract.RetryLast:
		last, _ := st.Last()
		st.retry(c.Ref, last)
	case contract.Reset:
		st.reset(c.Ref)
	case contract.SetPlan:
		if err := planProblem(b.Steps, &st.Options); err != nil {
			st.out.Reject(c.Ref, "%s", err)
			return
		}
		st.out.Accept(c.Ref, "plan set")
		st.setPlan(b.Steps)
		st.tell("The human set the plan:\n" + PlanText(st.Task.Plan))
	case contract.SetAcceptance:
		st.setCriteria(c.Ref, b)
	case contract.Revert:
		st.revert(c.Ref, b)
	case contract.Choose:
		st.choose(c.Ref, b.Option)
	case contract.Configure:
		st.configure(c.Ref, b)
	case contract.Cancel:
		st.out.Accept(c.Ref, "cancelled")
		st.end(contract.StatusCancelled, "cancelled by the human", contract.ExitFailed, machine.Cancel)
	case contract.Malformed:
		st.out.Reject(c.Ref, "%s", b.Problem)
	default:
		panic("supervisor: unknown command")
	}
}

func (st *step) killCommand(ref, id string) {
	a, ok := st.Agent(id)
	switch {
	case !ok || !a.Alive():
		st.out.Reject(ref, "there is no living agent %q; alive: %s", id, st.AddresseesText())
		return
	case a.Role == RoleArbiter:
		st.out.Reject(ref, "the Arbiter cannot be killed: use cancel to end the run")
		return
	}
	st.out.Accept(ref, "killed "+id)
	notice := a.Name + " (" + id + ") was ended by the human. Its files remain."
	if left := st.Task.InterruptedOf(&st.Roster, &a, st.at); left != "" {
		notice += "\nLeft half-done: " + left + "."
	}
	if st.release(id, "killed by the human", true); a.Unfinished() {
		st.handOver(Handover{Agent: a.AgentRef, Kind: KindKilled, Why: "the human ended it",
			Message: notice})
	} else {
		st.tell(notice)
	}
	st.fire(machine.AgentStopped, triggerData{agent: id, stopped: true})
}

// choose takes one of the options that were offered last.
func (st *step) choose(ref, option string) {
	switch {
	case !slices.Contains(st.Lifecycle.TrustQuestion.Choices(), option):
		if st.retryHost(ref, option) || st.chooseAboutLimit(ref, option) {
			return
		}
	case option == "cancel":
		st.commanded(contract.Command{Ref: ref, Body: contract.Cancel{}})
		return
	default:
		st.chooseTrust(ref, option)
		return
	}
	arbiter, _ := st.Agent(contract.Arbiter)
	parked := arbiter.Status == AgentParked && slices.Contains(ParkedOptions(), option)
	if !parked && !slices.Contains(st.Question.Recovery.Options, option) {
		if len(st.Question.Recovery.Options) == 0 {
			st.out.Reject(ref, "no such option: there is nothing to choose now")
			return
		}
		st.out.Reject(ref, "no such option; offered: %s", strings.Join(st.Question.Recovery.Options, ", "))
		return
	}
	a, ok := st.Agent(st.Question.Recovery.Agent)
	if !ok || a.Role != RoleOrchestrator {
		a, _ = st.Last()
	}
	taken := false
	switch option {
	case "retry":
		taken = st.retry(ref, a)
	case "skip":
		taken = st.skipStep(ref, a.ID)
	case string(decider.DecisionFallback):
		taken = st.fallBackFrom(ref, a)
	case "cancel", string(decider.DecisionAbort):
		st.commanded(contract.Command{Ref: ref, Body: contract.Cancel{}})
	default:
		st.out.Reject(ref, "that is for you to do, outside of the run: %s", option)
	}
	if taken {
		st.Question.Recovery = QuestionRecovery{}
	}
}
