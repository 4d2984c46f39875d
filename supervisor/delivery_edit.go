package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Edit changes a message of the human that no agent has received yet.
func (c *DeliveryContext) Edit(ref string, given contract.EditMessage) {
	i, why := c.findUnsent(given.MessageID)
	if why != "" {
		c.Out.Reject(ref, "%s", why)
		return
	}
	m := &c.Conversation.EditMail()[i]
	if m.Kind == KindTask && c.Task.Text == m.Text {
		c.Task.Text = given.Text
		c.Rulings.DeciderRequest = nil // the question is about the old text: it is asked again
	}
	if a := c.Roster.Edit(m.To); m.Kind == KindBrief && a != nil {
		a.Brief = given.Text
	}
	m.Text = given.Text
	said := contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Text,
		Images: m.Images, Edited: true}
	c.Out.Accept(ref, "message "+m.ID+" says something else now")
	c.Out.Emit(m.From, said)
	c.Conversation.Correct(m.ID, func(x *contract.Message) { *x = said })
}

// Withdraw takes a message of the human back, unless something waits for it.
func (c *DeliveryContext) Withdraw(ref string, given contract.WithdrawMessage) {
	i, why := c.findUnsent(given.MessageID)
	if why == "" {
		why = c.awaited(c.Conversation.Mail[i])
	}
	if why != "" {
		c.Out.Reject(ref, "%s", why)
		return
	}
	m := c.Conversation.Mail[i]
	c.Out.Accept(ref, "message "+m.ID+" is taken back")
	c.TakeBack(func(x Mail) bool { return x.ID == m.ID })
	c.Out.Emit(m.From, contract.Withdrawn{MessageID: m.ID})
	c.Conversation.Forget(m.ID)
}

// findUnsent finds a message of the human that was never sent, or says why it cannot be changed. A message that
// was sent and came back may have been read.
func (c *DeliveryContext) findUnsent(id string) (at int, why string) {
	at = c.Conversation.Waiting(id)
	switch {
	case at < 0:
		return at, "no message " + id + " waits: it was delivered, or never said"
	case c.Conversation.Mail[at].From != contract.Human:
		return at, "message " + id + " is " + c.Roster.DisplayName(c.Conversation.Mail[at].From) + "'s, not yours"
	case c.Conversation.Mail[at].Wire != "":
		return at, "message " + id + " was sent already: say another, or interrupt"
	}
	return at, ""
}

// awaited says why a message cannot be taken back: the dialogue would stop without it.
func (c *DeliveryContext) awaited(m Mail) string {
	a, _ := c.Roster.Agent(m.To)
	switch {
	case m.Kind == KindTask:
		return "it is the task: edit it, or reset"
	case m.Kind == KindAnswer:
		return "the Arbiter waits for this answer: edit it"
	case m.To != contract.Arbiter && a.Status != AgentBusy:
		return a.Name + " was brought to work by it: edit it, or kill " + a.ID
	case m.To == contract.Arbiter && a.Status != AgentBusy && !c.goesOnWithout(m):
		return "the Arbiter has no other message to continue with: edit this one"
	}
	return ""
}

// goesOnWithout reports whether the run continues, or waits for the human, without a message to the Arbiter.
func (c *DeliveryContext) goesOnWithout(m Mail) bool {
	return c.Task.Text == "" || c.QuestionOpen || c.Roster.AnyWorks() || c.Handoff.IsDue() ||
		slices.ContainsFunc(c.Conversation.Mail, func(x Mail) bool { return x.ID != m.ID && x.To == m.To })
}
