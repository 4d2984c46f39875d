package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const aloneText = "No human is present, and none will answer. Decide yourself, go on, and write into the summary " +
	"what you assumed. If the task cannot go on without an answer, ask once more: the run then ends with your question."

// ask puts a question of the supervisor to the human.
func (st *step) ask(text string) { st.question(QuestionPart{Text: text}) }

// question puts a question to the human, even while agents work. Without a human, the first question is
// answered with a message that no human is present; the next one ends the run.
func (st *step) question(p QuestionPart) {
	if p.Arbiter {
		p.For = st.WaitingAgents()
	}
	st.Question.Put(&st.out, p)
	if !st.HumanPresent {
		st.answerAlone()
	}
}

// answerAlone handles the open question when no human is present. While an agent works the run does not end:
// the agent's result may settle the question.
func (st *step) answerAlone() {
	switch {
	case st.Question.Open == nil, st.Conversation.Held: // a run that is held ends in [step.endUncontinued]
	case st.Rulings.FallbackReason != "":
		st.Question.Open = nil // it was the Arbiter's question, and the Arbiter cannot be told
	case !st.NotifiedAlone:
		st.NotifiedAlone = true
		st.Question.Open = nil
		st.notify(contract.Arbiter, KindAnswer, aloneText)
	case !st.AnyWorks():
		st.end(contract.StatusNeedsInput, st.Question.Text(), contract.ExitNeedsInput, machine.GiveUp)
	}
}

// inputEnded records that no human will answer from now on.
func (st *step) inputEnded() {
	st.HumanPresent = false
	st.Permission.NobodyAnswers(&st.out, st.whoAnswers())
	if q := st.Lifecycle.TrustQuestion; q != nil {
		st.goWithout(q.Host, nobodyLooks)
	}
	arbiter, _ := st.Agent(contract.Arbiter)
	switch {
	case arbiter.Status == AgentParked && st.Rulings.FallbackReason == "":
		st.giveUp(bridge.CatCrash, "the Arbiter is parked, and no human is present to choose")
	case st.Task.Text == "" && !st.HumanSpoke:
		st.end(contract.StatusFailed, "no task was given: use --task, a requirements file, or a message on stdin",
			contract.ExitUsage, machine.GiveUp)
	case st.Paused: // the run ends when its turns have ended, with the question open: see endUncontinued
	case st.Conversation.ExchangeLimitHits > 1:
		st.limitReached("the ceiling of exchanges was reached and no human is present")
	default:
		st.answerAlone()
	}
}

// endUncontinued ends a run that a human has paused, or that is held until a human says something, once its turns are
// over, if no human is present any more.
func (st *step) endUncontinued() {
	if !st.Paused && !st.Conversation.Held || st.HumanPresent || st.AnyTakenOver() || st.busyCount() > 0 {
		return
	}
	how := "paused"
	if st.Halted {
		how = "halted"
	}
	why := "the run was " + how + " by a human, and none is present to continue it: resume it, and continue it or give " +
		"it a message"
	if !st.Paused {
		why = st.Question.Text()
	}
	st.end(contract.StatusNeedsInput, why, contract.ExitNeedsInput, machine.GiveUp)
}

// unreadWords are messages of the human that were accepted, and that the Arbiter has not read or not answered
// yet. For a decision of another decider, they do not include the task that it handles.
func (s *State) unreadWords(ofDecider bool) []string {
	var texts []string
	for _, m := range slices.Concat(s.Conversation.Mail, s.Conversation.InTurn) {
		if m.From == contract.Human && m.To == contract.Arbiter &&
			!(ofDecider && m.Kind == KindTask && s.withholds(&m)) {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// readFirst makes sure that the human's messages are read before a COMPLETE of the Arbiter counts, and reports
// whether there are any. A task that waits for another decider is read there, or else by the Arbiter.
func (st *step) readFirst() bool {
	n := len(st.unreadWords(false))
	if n == 0 {
		return false
	}
	text := "The Arbiter ruled COMPLETE, and has not read your last message: that comes first."
	if n > 1 {
		text = fmt.Sprintf("The Arbiter ruled COMPLETE, and has not read %d messages of yours: they come first.", n)
	}
	st.notice(contract.Supervisor, text)
	waits := func(m Mail) bool { return m.Kind == KindTask && st.withholds(&m) }
	if _, _, due := st.dueDecision(); !due && slices.ContainsFunc(st.Conversation.Mail, waits) {
		st.Rulings.DeciderYielded = true
	}
	return true
}

// exchange counts a message between agents, and stops a dialogue that no human follows.
func (st *step) exchange() {
	st.Conversation.Exchanges++
	limit := st.Options.MaxExchanges
	switch {
	case st.Conversation.ExchangeLimitHits == 0 && st.Conversation.Exchanges >= limit:
		st.Conversation.ExchangeLimitHits = 1
		st.tell(words.Count(st.Conversation.Exchanges, "message") + " passed between you and the Orchestrators " +
			"without a human. Judge whether the work advances. If it does not, use ADDRESS_HUMAN, or COMPLETE and " +
			"say in `summary` what is missing.")
	case st.Conversation.ExchangeLimitHits == 1 && st.Conversation.Exchanges >= limit+limit/2+1:
		st.Conversation.ExchangeLimitHits = 2
		if !st.HumanPresent {
			st.limitReached("the agents exchanged " + words.Count(st.Conversation.Exchanges, "message") +
				" and no human is present")
			return
		}
		st.Conversation.Held = true
		st.ask("The agents have exchanged " + words.Count(st.Conversation.Exchanges, "message") +
			" without you. Write a message, and they continue.")
	}
}
