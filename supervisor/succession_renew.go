package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// Renew ends the Arbiter's process so that its successor can start: another session, under the same id, in the
// next generation. The successor reads the brief with its first message.
func Renew(c *ProcessContext, h Handover, brief string) {
	a := c.Roster.Edit(contract.Arbiter)
	c.Out.Emit(a.ID, h.Event(a.ID, a.ID))
	a.HandoffBrief = brief
	a.Document, a.Receipts, a.GeneratedWhy = h.Document, h.Receipts, h.Why // in case its successor's history is lost
	a.NewSession, a.HasHistory = true, false
	a.Corrections, a.Fallbacks, a.Troubles, a.APIFailures = 0, 0, 0, 0
	c.Renewal.Renew()
	forSuccessor(c)
	if a.Up() {
		a.Status, a.Since = AgentRestarting, c.Out.Now
		a.RestartClass, a.RestartCause = ClassRenewal, "its context was at its end"
		c.Permission.TurnOver(c.Out, a.ID)
		c.Out.Do(effect.Kill{Agent: a.AgentRef})
	}
}

// forSuccessor prepares what waits for the Arbiter for another session: messages about the old session are
// dropped, and so is what the old session got from its predecessor.
func forSuccessor(c *ProcessContext) {
	unruled := c.Conversation.ForSuccessor()
	c.TakeBack(func(m Mail) bool { return m.To == contract.Arbiter && m.OfSession() })
	if unruled {
		c.Notify(contract.Arbiter, KindNotice, "The Arbiter before you ended before it had ruled on what "+
			"was said to it last. Look what that was, and rule how it goes on.")
	}
}
