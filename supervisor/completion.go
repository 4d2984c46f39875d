package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxSentBack is how often a COMPLETE of one task is sent back because of its checks.
const maxSentBack = 3

// overtaken drops a COMPLETE if something happened meanwhile that prevents it, and reports whether it did.
func (st *step) overtaken(c *Completing) bool {
	why := st.notYet(c)
	if why == "" {
		return false
	}
	st.Handoff.Completing = nil
	text := "COMPLETE did not take effect: " + why + "."
	st.emit(contract.Supervisor, contract.Notice{Text: text})
	st.log(contract.Supervisor, KindNotice, text+" Decide again.")
	return true
}

// notYet says why a COMPLETE whose checks were repeated cannot take effect: what happened meanwhile. Empty: it
// can.
func (st *step) notYet(c *Completing) string {
	switch taken := st.TakenOver(); {
	case st.AnyWorks():
		return "meanwhile Orchestrators work (" + st.LivingText() + ")"
	case taken != "":
		return "meanwhile the human has a session in a terminal (" + taken + ")"
	case st.Handoff.ReportIsDue():
		return "meanwhile another document was handed over"
	case len(st.unreadWords()) > 0 && (st.Rulings.FallbackReason == "" || st.HumanPresent):
		return "meanwhile the human said more to the Arbiter"
	case st.awaitsHuman() && st.Question.Text() != c.Asked:
		return "meanwhile the Arbiter asked the human"
	case st.Rulings.FallbackReason == "" && st.Agents[0].Status == AgentBusy:
		return "meanwhile something else was said to the Arbiter"
	}
	return ""
}

// sendBack reports to the decider which checks no longer hold.
func (st *step) sendBack() {
	broken := st.Handoff.proofsThat((*Proved).Broken)
	st.Handoff.CompletionsSentBack++
	st.Handoff.PointsTold = append(slices.Clip(st.Handoff.PointsTold), st.Handoff.failedKind())
	what := fmt.Sprintf("COMPLETE did not take effect: of the checks of the task's documents, which the supervisor "+
		"ran once more, %d no longer hold", len(broken))
	list := "\n- " + strings.Join(broken, "\n- ")
	st.emit(contract.Supervisor, contract.Notice{Text: what + ":" + list})
	if st.Handoff.CompletionsSentBack > maxSentBack {
		st.leaveToHuman(fmt.Sprintf("COMPLETE was decided %d times over checks that no longer hold: %s",
			st.Handoff.CompletionsSentBack, strings.Join(broken, "; ")))
		return
	}
	if st.decidedByOther() {
		st.log(contract.Supervisor, KindNotice, what+"."+list)
		return
	}
	st.notify(contract.Arbiter, KindNotice, what+"."+list+"\nHave them fixed. If such a check no longer matters, "+
		"use COMPLETE again and say in `summary` why.")
}

// sendBackOpen sends a COMPLETE back to the Arbiter because of open points that it was not told of yet, and reports
// whether it did.
func (st *step) sendBackOpen() bool {
	if st.Rulings.FallbackReason != "" || st.Renewal.Stage != RenewalNone || len(st.spentLimits()) > 0 {
		return false // there is no turn of the Arbiter that could settle them
	}
	told, news := st.Handoff.PointsTold, false
	text := "COMPLETE did not take effect yet. The supervisor finds these points open:\n"
	for _, p := range st.openPoints(false) {
		text += "- " + p.text + "\n"
		if !slices.Contains(told, p.kind) {
			told, news = append(slices.Clip(told), p.kind), true
		}
	}
	how := st.Task.Acceptance.AskHow()
	if !news && how == "" {
		return false
	}
	if !news {
		text = "COMPLETE did not take effect yet.\n"
	}
	st.Handoff.PointsTold, st.Handoff.Completing = told, nil
	text += how + "\nHave them settled, or use COMPLETE again and say in `summary` why each does not matter. The human " +
		"reads in the result which points are open at the end."
	if st.asksOther() {
		st.Rulings.DeciderYielded = true
	}
	st.notify(contract.Arbiter, KindNotice, text)
	return true
}

// decidedByOther reports whether the next decision is made by someone other than the Arbiter's session.
func (st *step) decidedByOther() bool {
	if st.Rulings.FallbackReason == "" && !st.asksOther() {
		return false
	}
	_, _, due := st.dueDecision()
	return due
}

// notifyDecider reports to the decider why a COMPLETE did not take effect.
func (st *step) notifyDecider(text string) {
	if st.decidedByOther() {
		st.log(contract.Supervisor, KindNotice, text)
		return
	}
	st.notify(contract.Arbiter, KindNotice, text)
}

// leaveToHuman asks a human what else to do, or ends the run if no human is present.
func (st *step) leaveToHuman(why string) {
	if !st.HumanPresent {
		st.giveUp(bridge.CatVerdict, why)
		return
	}
	st.fail(contract.Supervisor, bridge.CatVerdict, why, []string{})
	st.Conversation.Held = true
	st.question(QuestionPart{Kind: KindAcceptance, Text: why + "\nSend a message, and the Arbiter decides."})
}

// concludeRuling ends the run with the current COMPLETE.
func (st *step) concludeRuling() {
	c := st.Handoff.Completing
	st.Handoff.Completing = nil
	st.concluded(c.Ruling)
}

// concluded ends the run with COMPLETE.
func (st *step) concluded(v verdict.Arbiter) {
	open := st.openTexts()
	if len(open) > 0 {
		v.Summary = strings.TrimSuffix(v.Summary, ".") + ". Open at the end: " + strings.Join(open, ". ") + "."
	}
	if st.awaitsHuman() {
		st.emit(contract.Supervisor, contract.Notice{Text: "The Arbiter completes the task although you have not " +
			"answered: " + words.Head(st.Question.Open.Text, 1000)})
	}
	st.Task.Lessons = v.Lessons
	st.tellHuman(KindComplete, v.Message)
	status, exit := contract.StatusComplete, contract.ExitComplete
	if st.Handoff.lastFails() {
		status, exit = contract.StatusIncomplete, contract.ExitFailed
	}
	st.endWith(Ending{Status: status, Summary: v.Summary, Exit: exit, Open: open}, machine.Decision)
}
