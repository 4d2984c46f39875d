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
	text := "COMPLETE did not take effect: meanwhile "
	switch taken := st.TakenOver(); {
	case st.AnyWorks():
		text += "Orchestrators work (" + st.LivingText() + ")."
	case taken != "":
		text += "the human has a session in a terminal (" + taken + ")."
	case st.Handoff.ReportIsDue():
		text += "another document was handed over."
	case len(st.unreadWords(false)) > 0 && (st.Rulings.FallbackReason == "" || st.HumanPresent):
		text += "the human said more to the Arbiter."
	case st.awaitsHuman() && st.Question.Text() != c.Asked:
		text += "the Arbiter asked the human."
	case st.Rulings.FallbackReason == "" && st.Agents[0].Status == AgentBusy:
		text += "something else was said to the Arbiter."
	default:
		return false
	}
	st.Handoff.Completing = nil
	st.notice(contract.Supervisor, text)
	st.logNotice(text + " Decide again.")
	return true
}

// sendBack reports to the decider which checks no longer hold.
func (st *step) sendBack() {
	broken := st.Handoff.proofsThat((*Proved).Broken)
	st.Handoff.CompletionsSentBack++
	st.Handoff.PointsTold = append(slices.Clip(st.Handoff.PointsTold), st.Handoff.failedKind())
	what := fmt.Sprintf("COMPLETE did not take effect: of the checks of the task's documents, which the supervisor "+
		"ran once more, %d no longer hold", len(broken))
	list := "\n- " + strings.Join(broken, "\n- ")
	st.notice(contract.Supervisor, what+":"+list)
	if st.Handoff.CompletionsSentBack > maxSentBack {
		st.completesInVain(fmt.Sprintf("COMPLETE was decided %d times over checks that no longer hold: %s",
			st.Handoff.CompletionsSentBack, strings.Join(broken, "; ")))
		return
	}
	st.notifyDecider(what+"."+list, "\nHave them fixed. If such a check no longer matters, use COMPLETE again and say in "+
		"`summary` why.")
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
	st.tell(text)
	return true
}

// notifyDecider reports to the decider why a COMPLETE did not take effect. The Arbiter's session also reads a hint; if
// another decides next, it finds the report in its work log.
func (st *step) notifyDecider(text, hint string) {
	if _, _, due := st.dueDecision(); due && (st.Rulings.FallbackReason != "" || st.asksOther()) {
		st.logNotice(text)
		return
	}
	st.tell(text + hint)
}

// completesInVain asks a human what else to do about a task that was completed too often in vain.
func (st *step) completesInVain(why string) {
	st.leaveToHuman(why, QuestionPart{Kind: KindAcceptance, Text: why + "\nSend a message, and the Arbiter decides."})
}

// leaveToHuman holds the dialogue and asks a human, or ends the run if no human is present.
func (st *step) leaveToHuman(why string, p QuestionPart) {
	if !st.HumanPresent {
		st.giveUp(bridge.CatVerdict, why)
		return
	}
	st.fail(contract.Supervisor, bridge.CatVerdict, why, []string{})
	st.Conversation.Held = true
	st.question(p)
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
		v.Summary = strings.TrimPrefix(words.Sentence(v.Summary)+" Open at the end: ", " ") + strings.Join(open, ". ") + "."
	}
	if st.awaitsHuman() {
		st.notice(contract.Supervisor, "The Arbiter completes the task although you have not answered: "+
			words.Head(st.Question.Text(), 1000))
	}
	st.Task.Lessons = v.Lessons
	st.tellHuman(KindComplete, v.Message)
	status, exit := contract.StatusComplete, contract.ExitComplete
	lastFails := func(p Proved) bool { // when it ran last
		return p.Author.ID == st.Handoff.LastDocument.Agent && p.Receipt.Result == verdict.CheckFailed
	}
	if slices.ContainsFunc(st.Handoff.Proofs, lastFails) {
		status, exit = contract.StatusIncomplete, contract.ExitFailed
	}
	st.endWith(Ending{Status: status, Summary: v.Summary, Exit: exit, Open: open}, machine.Decision)
}
