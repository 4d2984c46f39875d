package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// proofWait is how long a message may go without proof that the agent took it up.
// The CLI proves it at once (observed with CLI 2.1.329: 0.0 s), so that this is
// generous; while it retries the API, or is stopped, it is no sign of anything.
const proofWait = 30 * time.Second

// proofWait in a run that is looked at more often, or less.
func (s *State) proofWait() time.Duration { return s.scaled(proofWait) }

// awaitProof looks at a message again when its proof is overdue.
func (st *step) awaitProof(m conversation.Mail) {
	st.do(effect.SetTimer{Key: proofKey(m.Wire), After: st.proofWait()})
}

const saidEarlier = "Said before the word that you read last, which stopped you before you had this one:\n"

// unread queues a message again that an interrupt overtook: it was delivered, but the
// session does not have it. Behind a word that the human stopped the turn with it goes into
// that one's turn, and says that it is older.
func (st *step) unread(id, wire string) {
	public := st.Conversation.PublicIDs([]string{wire})[0]
	st.requeue(wire)
	st.emit(id, contract.Notice{Text: "message " + public + " was interrupted before it was read; it is sent again"})
	st.Conversation.Overtake(public, saidEarlier)
}

// provenLater starts the wait for words that were sent into a turn and did not end
// with it: the CLI makes them its next turn.
func (st *step) provenLater(a *roster.Agent) {
	for _, wire := range a.Turn {
		if m, ok := st.Conversation.SentAs(wire); ok {
			st.awaitProof(m)
		}
	}
}

// proofOverdue deals with a message nobody proved to have: it is written once more
// under the same id, which the CLI drops if it has it, and then to another process,
// whose history tells.
func (st *step) proofOverdue(wire string) {
	sent, ok := st.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := st.Edit(sent.To)
	if a == nil || a.Status != roster.Busy || !slices.Contains(a.Turn, wire) {
		return
	}
	if a.Backoff != nil || a.Watch.Stopped {
		st.awaitProof(sent)
		return
	}
	m, again := st.Conversation.Resend(wire)
	if !again {
		st.emit(a.ID, contract.Notice{Text: "message " + m.ID + " was swallowed twice; " + a.Name + " is started again"})
		st.relaunch(a.ID, restart.Hung, "swallows its messages")
		return
	}
	st.emit(a.ID, contract.Notice{Text: "message " + m.ID + " was not taken up within " + st.proofWait().String() + "; it is sent again"})
	st.do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content, Steer: len(a.Turn) > 1}})
	st.awaitProof(m)
}

// modelAnswered reports whether a model answered in a turn: then it has read what was delivered
// before.
func modelAnswered(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnDone || t.Usage != (bridge.Usage{})
}

// maybeUnanswered reports whether a model may never have read a message of a turn that ended: none answered
// in the turn, or the message went into a running one, of which a later request may have failed.
func maybeUnanswered(a *roster.Agent, t bridge.Turn, m conversation.Mail) bool {
	return a.Role == roster.RoleOrchestrator && t.Outcome == bridge.TurnFailed && t.Category != bridge.CatVerdict &&
		(!modelAnswered(t) || m.Strength == contract.Steer)
}

// shelve puts what was decided on into the Arbiter's work log, shortened: it reads of it
// when it is next spoken to.
func (st *step) shelve(p *DecisionRequest, d decider.Decision) {
	moves := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // and what others have done is behind it
	st.shelveAll(func(m *conversation.Mail) bool {
		return st.withheld(m) && (m.Kind == conversation.KindTask || m.EndsExecution() && m.From == p.About ||
			moves && m.Kind == verdict.KindDone && slices.Contains(p.Heard, m.ID))
	})
	// The `decision` event tells everybody else.
	st.Conversation.AddEntry(conversation.Entry{
		ID: st.newMessageID(), From: contract.Supervisor, Kind: conversation.KindNotice, At: st.at, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode), words.Head(d.Reason, 500)),
	})
}

// shelveAll has messages become reports of the work log: they were ruled on without their reader.
func (st *step) shelveAll(taken func(*conversation.Mail) bool) {
	st.Conversation.Shelve(taken)
	st.boundLog()
}

// boundLog drops the oldest entries of the work log where the Arbiter is not spoken to at
// each point of decision, and may never read them.
func (st *step) boundLog() {
	if st.FallbackReason != "" || st.asksOther() {
		st.Conversation.BoundLog()
	}
}

// exchange counts a message between agents, and stops talk that no human hears.
func (st *step) exchange() {
	st.Conversation.Exchanges++
	limit := st.Options.MaxExchanges
	switch {
	case st.Conversation.ExchangeLimitHits == 0 && st.Conversation.Exchanges >= limit:
		st.Conversation.ExchangeLimitHits = 1
		st.tell(contract.Arbiter, conversation.KindNotice, words.Count(st.Conversation.Exchanges, "message")+
			" passed between you and the Orchestrators without a human. Judge whether the work truly advances. If it does not, COMPLETE with what there is, or ADDRESS_HUMAN.")
	case st.Conversation.ExchangeLimitHits == 1 && st.Conversation.Exchanges >= limit+limit/2+1:
		st.Conversation.ExchangeLimitHits = 2
		if !st.HumanPresent {
			st.limitReached("the agents exchanged " + words.Count(st.Conversation.Exchanges, "message") + " and no human is present")
			return
		}
		st.Conversation.Held = true
		st.ask("The agents have exchanged " + words.Count(st.Conversation.Exchanges, "message") + " without you. Speak, and they go on.")
	}
}
