package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// BeginningKept is how many bytes are kept of a text that was too large to be read.
const BeginningKept = 16 << 10

const saidEarlier = "Said before the word that you read last, which stopped you before you had this one:\n"

// Drop takes all mail to an agent that can no longer read it, and returns it.
func (c *DeliveryContext) Drop(to string) []Mail {
	c.PutAsked(to)
	lost, refused := c.Conversation.Release(to)
	for _, m := range lost {
		if m.Sent {
			c.Out.StopTimer(DeliveryTimerKey(m.Wire))
		}
	}
	for _, m := range refused {
		if m.From == contract.Human {
			c.Out.Emit(to, contract.Notice{Text: "message " + m.ID + " was not answered: the API refused the turn, and " +
				c.Roster.DisplayName(to) + " was released before it could be sent again"})
		}
	}
	return append(lost, refused...)
}

// TakeBack removes unwanted mail from the queue.
func (c *DeliveryContext) TakeBack(unwanted func(Mail) bool) {
	for _, m := range c.Conversation.TakeBack(unwanted) {
		if m.Sent {
			c.Out.StopTimer(DeliveryTimerKey(m.Wire))
		}
	}
}

// Requeue puts back a message that was lost with a process.
func (c *DeliveryContext) Requeue(wire string) {
	if _, queued := c.Conversation.SentAs(wire); queued {
		c.Out.StopTimer(DeliveryTimerKey(wire))
	} else if !c.Conversation.IsInTurn(wire) {
		return
	}
	m, _ := c.Conversation.Requeue(wire, c.NewID())
	if m.Reported {
		c.Rulings.ForgetReading(m.ID)
	}
}

// Unread queues a message again that an interrupt overtook: it was written, but the session does not contain
// it. If the human stopped the turn with another message, it goes into that message's turn, and says that it is
// older.
func (c *DeliveryContext) Unread(id, wire string) {
	public := c.Conversation.PublicIDs([]string{wire})[0]
	c.Requeue(wire)
	c.Out.Emit(id, contract.Notice{Text: "message " + public + " was interrupted before it was read; it is sent again"})
	c.Conversation.Overtake(public, saidEarlier)
}

// Quote changes the recorded text of a message: the last messages are quoted to a successor, which must not
// fail on the same text again.
func (c *DeliveryContext) Quote(id, text string) {
	c.Conversation.Correct(id, func(m *contract.Message) { m.Text = text })
}

// Shorten queues a message again that was too large to be read: its reader gets only the beginning.
func (c *DeliveryContext) Shorten(m Mail) {
	c.Requeue(m.Wire)
	c.Quote(m.ID, words.Head(m.Text, BeginningKept))
	for i := range c.Conversation.EditMail() {
		if x := &c.Conversation.Mail[i]; x.ID == m.ID {
			c.shorten(x)
		}
	}
}

// shorten keeps only the beginnings of the parts of a message.
func (c *DeliveryContext) shorten(m *Mail) {
	attached := m.Attached
	left := len(m.Content)
	m.Text, m.Attached = words.Head(m.Text, BeginningKept), nil
	for _, a := range attached {
		a.Text = words.Head(a.Text, BeginningKept/4)
		m.Attached = append(m.Attached, a)
	}
	m.Carries, m.CarriesBrief, m.BriefBytes = nil, false, 0
	m.Content = c.Conversation.Render(*m, c.reading(m))
	m.Attached = append(m.Attached, ConversationAttached{Title: "cut", From: contract.Supervisor, Trusted: true,
		Text: fmt.Sprintf(
			"This message, with what came with it, had %s and was too large to be read. What you see is its beginning; "+
				"%s were left out, and the human was told. "+
				"If you need the rest, ask for it in a file.", words.Size(int64(left)), words.Size(int64(left-len(m.Content))))})
	m.Content = c.Conversation.Render(*m, c.reading(m))
}

// TakeFromArbiter takes back the messages that were sent to an Arbiter whose process has ended.
func (c *DeliveryContext) TakeFromArbiter() {
	if c.Roster.Agents[0].Up() {
		return
	}
	for _, m := range slices.Concat(c.Conversation.Mail, c.Conversation.InTurn) {
		if m.To == contract.Arbiter && m.Sent {
			c.Requeue(m.Wire)
		}
	}
}
