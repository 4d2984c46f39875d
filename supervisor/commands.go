package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// commanded carries out a command of a face.
func (st *step) commanded(c contract.Command) {
	switch b := c.Body.(type) {
	case contract.Say:
		st.say(c.Ref, b)
	case contract.Permit:
		st.permit(c.Ref, b)
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
		st.interruptCommand(c.Ref, b.ID)
	case contract.Kill:
		st.killCommand(c.Ref, b.ID)
	case contract.Pause:
		st.Paused = true
		st.accept(c.Ref, "paused: running turns end, nothing more is sent")
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
		if i := slices.IndexFunc(b.Steps, func(s contract.Step) bool { _, ok := st.ModeNamed(s.Mode); return s.Mode != "" && !ok }); i >= 0 {
			st.reject(c.Ref, "step %d: there is no mode %q; modes: %s", i+1, b.Steps[i].Mode, strings.Join(st.modeNames(), ", "))
			return
		}
		st.accept(c.Ref, "plan set")
		st.setPlan(b.Steps)
		st.tell(contract.Arbiter, conversation.KindNotice, "The human set the plan:\n"+task.PlanText(st.Task.Plan))
	case contract.SetAcceptance:
		st.setAcceptance(c.Ref, b)
	case contract.Choose:
		st.choose(c.Ref, b.Option)
	case contract.Configure:
		st.configureCommand(c.Ref, b)
	case contract.Cancel:
		st.accept(c.Ref, "cancelled")
		st.end(contract.StatusCancelled, "cancelled by the human", contract.ExitFailed, machine.Cancel)
	case contract.Malformed:
		st.reject(c.Ref, "%s", b.Problem)
	default:
		panic("supervisor: unknown command")
	}
}

func (st *step) interruptCommand(ref, id string) {
	n := 0
	for i := range st.Agents {
		if a := st.Agents[i]; (id == "" || a.ID == id) && a.Status == roster.Busy {
			st.do(effect.Interrupt{Agent: a.AgentRef})
			n++
		}
	}
	if n == 0 {
		st.reject(ref, "no turn runs%s", forAgent(id))
		return
	}
	st.accept(ref, fmt.Sprintf("interrupted: %d", n))
}

func forAgent(id string) string {
	if id == "" {
		return ""
	}
	return " in " + id
}

func (st *step) killCommand(ref, id string) {
	a, ok := st.Agent(id)
	switch {
	case !ok || !a.Alive():
		st.reject(ref, "there is no living agent %q; alive: %s", id, st.AddresseesText())
		return
	case a.Role == roster.RoleArbiter:
		st.reject(ref, "without the Arbiter there is no run: use cancel")
		return
	}
	st.accept(ref, "killed "+id)
	notice := a.Name + " (" + id + ") was ended by the human. Its files remain."
	if left := st.halfDoneBy(&a); left != "" {
		notice += "\nLeft half-done: " + left + "."
	}
	if st.release(id, "killed by the human", true); st.unfinished(&a) {
		st.handOver(handoff.Handover{Agent: a.AgentRef, Kind: handoff.KindKilled, Why: "the human ended it", Message: notice})
	} else {
		st.tell(contract.Arbiter, conversation.KindNotice, notice)
	}
	st.fire(machine.AgentStopped, occasion{agent: id, stopped: true})
}

func (st *step) forceAgent(ref, mode string) {
	if _, ok := st.ModeNamed(mode); !ok {
		st.reject(ref, "there is no mode %q; modes: %s", mode, strings.Join(st.modeNames(), ", "))
		return
	}
	if st.Task.Text == "" {
		st.reject(ref, "there is no task yet: send a message first")
		return
	}
	if problem := st.summon(st.Task.Text, mode, "", contract.Human); problem != "" {
		st.reject(ref, "%s", problem)
		return
	}
	st.overrule()
	last, _ := st.Last()
	st.accept(ref, "summoned "+last.ID+" as "+mode)
	forced := contract.Decision{Decision: verdict.SelectMode, Mode: mode, To: last.ID, Reason: "forced by the human", Source: sourceHuman}
	st.Decisions++
	forced.Number, forced.Point = st.Decisions, string(decision.PointTalk)
	st.note(input.Decided{Number: st.Decisions, Point: decision.PointTalk, About: last.ID, Decision: decider.Decision{
		Decision: forced.Decision, Mode: mode, Reason: forced.Reason, Source: decider.ByHuman,
	}})
	st.emit(contract.Human, forced)
	st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human summoned %s (%s) as %s, with the task as its brief.", last.Name, last.ID, mode))
}

// overrule lets go of what the human or another decider is asked: the human has ruled.
// What was to be judged goes into the Arbiter's work log.
func (st *step) overrule() {
	if !st.Conversation.Held {
		st.Question = nil
	}
	if st.DeciderRequest == nil {
		return
	}
	st.DeciderRequest = nil
	st.shelveAll(func(m *conversation.Mail) bool {
		return st.withheld(m) && (m.Kind == conversation.KindTask || m.EndsExecution())
	})
}

// retry has an Orchestrator try again, or starts one again that is parked; the Arbiter
// goes first. It reports whether there was anything to try.
func (st *step) retry(ref string, a roster.Agent) bool {
	if arbiter, _ := st.Agent(contract.Arbiter); arbiter.Status == roster.Parked {
		a = arbiter
	}
	switch {
	case a.Status == roster.Parked:
		st.accept(ref, "started again: "+a.ID)
		st.unpark(a.ID)
		return true
	case a.ID == "" || !a.Alive():
		st.reject(ref, "there is no living Orchestrator to try again: summon one with force_agent, or send a message")
		return false
	case a.Works():
		st.reject(ref, "%s is at work already", a.ID)
		return false
	}
	st.accept(ref, "retry: "+a.ID)
	st.Edit(a.ID).Standing = roster.Working
	st.post(conversation.Mail{From: contract.Human, To: a.ID, Kind: conversation.KindRetry, Text: "Try again, another way if the first one failed."})
	st.overrule()
	st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human told %s (%s) to try again. It is at work.", a.Name, a.ID))
	st.shelveAll(func(m *conversation.Mail) bool { return m.From == a.ID && m.EndsExecution() && st.withheld(m) }) // the human has judged
	st.beginWork(a.ID)
	st.fire(machine.Retry, occasion{agent: a.ID})
	return true
}

func (st *step) reset(ref string) {
	st.accept(ref, "reset")
	half := st.halfDone()
	if a, ok := st.Agent(contract.Arbiter); ok && a.Status == roster.Busy {
		st.do(effect.Interrupt{Agent: a.AgentRef})
	}
	st.Question, st.Handoff.SuccessorQueue, st.Task.Text = nil, nil, ""
	st.forgetHandovers()
	st.Handoff.ForgetProofs()
	st.Rulings = nil // what was ruled was about another task
	st.Task.Failures, st.Conversation.Exchanges, st.Conversation.ExchangeLimitHits, st.Conversation.Held = 0, 0, 0, false
	st.setPlan([]contract.Step{})
	notice := "The human reset the task: every Orchestrator is released and the plan is empty. Ask what is wanted now."
	st.fire(machine.Reset, occasion{})
	st.takeBack(func(m conversation.Mail) bool {
		return m.To == contract.Arbiter && !m.Sent && (m.Kind == conversation.KindTask || st.IsOrchestrator(m.From))
	})
	if len(half) > 0 {
		notice += "\nLeft half-done:\n- " + strings.Join(half, "\n- ")
	}
	st.tell(contract.Arbiter, conversation.KindNotice, notice)
}

// stopWorkers lets every Orchestrator go.
func (st *step) stopWorkers() {
	for i := range st.Agents {
		if a := *st.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() {
			st.release(a.ID, "reset by the human", false)
		}
	}
}

// choose takes one of the recovery options last offered.
func (st *step) choose(ref, option string) {
	if st.chooseAboutTrust(ref, option) {
		return
	}
	arbiter, _ := st.Agent(contract.Arbiter)
	parked := arbiter.Status == roster.Parked && (option == "retry" || option == "cancel")
	if !parked && !slices.Contains(st.RecoveryOptions, option) {
		st.reject(ref, "no such option; offered: %s", cmp.Or(strings.Join(st.RecoveryOptions, ", "), "none"))
		return
	}
	a, ok := st.Agent(st.FailedAgent)
	if !ok || a.Role != roster.RoleOrchestrator {
		a, _ = st.Last()
	}
	taken := false
	switch option {
	case "retry":
		taken = st.retry(ref, a)
	case "skip":
		taken = st.skipStep(ref, a.ID)
	case string(decision.Fallback):
		taken = st.fallBackFrom(ref, a)
	case "cancel", string(decision.Abort):
		st.commanded(contract.Command{Ref: ref, Body: contract.Cancel{}})
	default:
		st.reject(ref, "that is for you to do, outside of the run: %s", option)
	}
	if taken {
		st.RecoveryOptions, st.FailedAgent = nil, ""
	}
}

// fallBackFrom has another agent try what one has failed at, and reports whether there is
// such a one.
func (st *step) fallBackFrom(ref string, a roster.Agent) bool {
	if a.ID == "" {
		st.reject(ref, "there is no Orchestrator to take the place of")
		return false
	}
	st.accept(ref, "another agent takes it up")
	st.overrule()
	if a.Alive() {
		st.release(a.ID, "another takes its place", false)
		st.fire(machine.AgentStopped, occasion{agent: a.ID, stopped: true})
	}
	st.tell(contract.Arbiter, conversation.KindNotice, fmt.Sprintf("The human chose that another agent takes up what %s (%s) failed at. Summon one, under another mode or with another way.", a.Name, a.ID))
	return true
}
