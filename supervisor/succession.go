package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// classRenewal is why an Arbiter's process is ended for its successor's. It is no
// failure, and restarts are not counted for it.
const classRenewal restart.Class = "renewed"

// renewed ends the Arbiter's process so that its successor's is started: another
// session, under the same id, in the next generation.
func (st *step) renewed(h handoff.Handover) {
	a := st.Edit(contract.Arbiter)
	st.emit(a.ID, h.Event(a.ID, a.ID))
	a.HandoffBrief = st.RenewalBrief(h)
	a.Document, a.Receipts, a.GeneratedWhy = h.Document, h.Receipts, h.Why // should its heir's history be lost
	a.NewSession, a.HasHistory = true, false
	a.Corrections, a.Fallbacks, a.Troubles, a.APIFailures = 0, 0, 0, 0
	st.Renewal.Renew()
	st.forSuccessor()
	if a.Up() {
		a.Status, a.Since = roster.Restarting, st.at
		a.RestartClass, a.RestartCause = classRenewal, "its context was at its end"
		st.Permission.TurnOver(&st.out, a.ID)
		st.do(effect.Kill{Agent: a.AgentRef})
	}
}

// RenewalBrief is what an Arbiter receives with the first message it reads.
func (s *State) RenewalBrief(h handoff.Handover) string {
	return renewal.Brief(renewal.Legacy{
		Document: handoff.DocumentText(h.Document, h.Receipts, h.Why), Task: &s.Task, Roster: &s.Roster,
		Question: s.Question.Text(), Ledger: s.Rulings.LedgerText(), Talk: &s.Conversation,
	})
}

// forSuccessor makes what waits for the Arbiter fit for another session: what was about
// the old one is left out, and so is what that one inherited.
func (st *step) forSuccessor() {
	unruled := st.Conversation.ForSuccessor()
	st.mail().TakeBack(func(m conversation.Mail) bool { return m.To == contract.Arbiter && m.OfSession() })
	if unruled {
		st.mail().Tell(contract.Arbiter, conversation.KindNotice, "The Arbiter before you ended before it had ruled on what "+
			"was said to it last. Look what that was, and rule how it goes on.")
	}
}
