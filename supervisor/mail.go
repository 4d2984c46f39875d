package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/rulings"
	"github.com/arbiter-cli/arbiter/supervisor/toolset"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// post queues a message and announces it. A run that is ending, perhaps since a
// moment ago in the same step, takes none.
func (st *step) post(m conversation.Mail) {
	if st.Ending != nil {
		return
	}
	if !st.Senders().MayWrite(m.From, m.To) {
		st.emit(contract.Supervisor, contract.Notice{Text: "a message is not passed on: " + m.From +
			" may not write to " + m.To})
		return
	}
	m.ID, m.At = st.newMessageID(), st.at
	st.speak(m.From, contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Whole()})
	if m.Strength == contract.Stop || m.From == contract.Supervisor &&
		(m.Kind == conversation.KindRetry || m.Kind == conversation.KindRenewal) {
		// It goes first: the turn it interrupts, or takes up again, must not be
		// followed by another.
		st.Conversation.PostAhead(m)
		return
	}
	st.Conversation.Post(m)
}

// speak announces a message, with the process that it is of, and remembers it as part of the conversation.
func (st *step) speak(from string, m contract.Message) {
	if a, ok := st.Agent(m.From); ok {
		m.SessionID, m.Generation = a.SessionID, a.Generation
	}
	st.emit(from, m)
	st.Conversation.Said(&m)
}

// tell posts the supervisor's own word to an agent.
func (st *step) tell(to, kind, text string) {
	st.post(conversation.Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
}

// toHuman announces a message that no agent receives.
func (st *step) toHuman(kind, text string) {
	st.speak(contract.Arbiter, contract.Message{
		MessageID: st.newMessageID(), From: contract.Arbiter, To: contract.Human, Kind: kind, Text: text,
	})
}

// drop takes all mail to an agent that can no longer read it, and returns it.
func (st *step) drop(to string) []conversation.Mail {
	st.putAsked(to)
	lost, refused := st.Conversation.Release(to)
	for _, m := range lost {
		if m.Sent {
			st.out.StopTimer(proofKey(m.Wire))
		}
	}
	for _, m := range refused {
		if m.From == contract.Human {
			st.emit(to, contract.Notice{Text: "message " + m.ID + " was not answered: the API refused the turn, and " +
				st.DisplayName(to) + " was let go before another"})
		}
	}
	return append(lost, refused...)
}

// takeBack takes mail off the queue that nobody is to read any more.
func (st *step) takeBack(unwanted func(conversation.Mail) bool) {
	for _, m := range st.Conversation.TakeBack(unwanted) {
		if m.Sent {
			st.out.StopTimer(proofKey(m.Wire))
		}
	}
}

// log queues a report that expects no answer.
func (st *step) log(from, kind, text string) {
	e := conversation.Entry{ID: st.newMessageID(), From: from, Kind: kind, Text: text, At: st.at}
	st.speak(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	st.Conversation.AddEntry(e)
	st.boundLog()
}

// boundLog drops the oldest entries of the work log where the Arbiter is not spoken to at
// each point of decision, and may never read them.
func (st *step) boundLog() {
	if st.Rulings.FallbackReason != "" || st.Rulings.AsksOther(&st.Options) {
		st.Conversation.BoundLog()
	}
}

// moveToWorkLog puts what was decided on into the Arbiter's work log, shortened: it reads of it
// when it is next spoken to.
func (st *step) moveToWorkLog(p *rulings.Request, d decider.Decision) {
	moves := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // and what others have done is behind it
	st.moveAllToWorkLog(func(m *conversation.Mail) bool {
		return st.Rulings.Withholds(&st.Options, &st.Task, m) && (m.Kind == conversation.KindTask ||
			m.EndsExecution() && m.From == p.About || moves && m.Kind == verdict.KindDone && slices.Contains(p.Heard, m.ID))
	})
	// The `decision` event tells everybody else.
	st.Conversation.AddEntry(conversation.Entry{
		ID: st.newMessageID(), From: contract.Supervisor, Kind: conversation.KindNotice, At: st.at, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode),
			words.Head(d.Reason, 500)),
	})
}

// moveAllToWorkLog has messages become reports of the work log: they were ruled on without their reader.
func (st *step) moveAllToWorkLog(taken func(*conversation.Mail) bool) {
	st.Conversation.MoveToWorkLog(taken)
	st.boundLog()
}

// askPredecessor passes a question on; the loop answers the call when the
// predecessor has.
func (st *step) askPredecessor(f input.ToolCalled, a roster.Agent) {
	var in toolset.AskInput
	fail := func(text string) { st.do(effect.AnswerTool{Call: f.Call, Text: text, IsError: true}) }
	if err := json.Unmarshal(f.Params.Input, &in); err != nil || strings.TrimSpace(in.Question) == "" {
		fail("A question is needed.")
		return
	}
	old, ok := st.Agent(a.Predecessor)
	switch {
	case a.Predecessor == "" || !ok:
		fail("You have no predecessor. Ask the Arbiter.")
	case !old.Alive():
		fail(old.Name + " is gone. What it knew is in its document; for the rest ask the Arbiter.")
	case old.Status != roster.Ready && old.Status != roster.Busy:
		st.Handoff.WaitingQuestions = append(slices.Clip(st.Handoff.WaitingQuestions),
			handoff.Asked{Call: f.Call, By: a.ID, Of: old.ID, Question: in.Question})
	default:
		st.do(effect.AskAgent{Call: f.Call, Agent: old.AgentRef, Question: in.Question})
	}
}

// putAsked puts the questions that waited for an agent, or says that it is gone.
func (st *step) putAsked(id string) {
	if !slices.ContainsFunc(st.Handoff.WaitingQuestions, func(q handoff.Asked) bool { return q.Of == id }) {
		return
	}
	a, _ := st.Agent(id)
	var rest []handoff.Asked
	for _, q := range st.Handoff.WaitingQuestions {
		switch {
		case q.Of != id:
			rest = append(rest, q)
		case a.Up():
			st.do(effect.AskAgent{Call: q.Call, Agent: a.AgentRef, Question: q.Question})
		default:
			st.do(effect.AnswerTool{Call: q.Call, Text: a.Name +
				" is gone. What it knew is in its document; for the rest ask the Arbiter.", IsError: true})
		}
	}
	st.Handoff.WaitingQuestions = rest
}
