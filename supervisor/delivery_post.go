package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Post queues a message and announces it. A run that is ending accepts none, even if it began to end in the
// same step.
func (c *DeliveryContext) Post(m Mail) {
	if c.Closed {
		return
	}
	if !c.Senders.MayWrite(m.From, m.To) {
		c.Out.Emit(contract.Supervisor, contract.Notice{Text: "a message is not passed on: " + m.From +
			" may not write to " + m.To})
		return
	}
	m.ID, m.At = c.NewID(), c.Out.Now
	c.speak(m.From, contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Whole(),
		Images: m.Images})
	if m.Strength == contract.Stop || m.From == contract.Supervisor &&
		(m.Kind == KindRetry || m.Kind == KindRenewal) {
		// It goes first: no other message may follow the turn that it interrupts or resumes.
		c.Conversation.PostAhead(m)
		return
	}
	c.Conversation.Post(m)
}

// speak announces a message, with its sender's session, and records it as part of the conversation.
func (c *DeliveryContext) speak(from string, m contract.Message) {
	if a, ok := c.Roster.Agent(m.From); ok {
		m.SessionID, m.Generation = a.SessionID, a.Generation
	}
	c.Out.Emit(from, m)
	c.Conversation.Remember(&m)
}

// Notify posts a message of the supervisor to an agent.
func (c *DeliveryContext) Notify(to, kind, text string) {
	c.Post(Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
}

// NotifyWith posts a message of the supervisor to the Arbiter, with attachments.
func (c *DeliveryContext) NotifyWith(text string, attached []ConversationAttached) {
	c.Post(Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: KindNotice,
		Text: text, Attached: attached})
}

// ToHuman announces a message that no agent receives.
func (c *DeliveryContext) ToHuman(kind, text string) {
	c.speak(contract.Arbiter, contract.Message{
		MessageID: c.NewID(), From: contract.Arbiter, To: contract.Human, Kind: kind, Text: text,
	})
}

// Log queues a report that expects no answer.
func (c *DeliveryContext) Log(from, kind, text string) {
	e := ConversationEntry{ID: c.NewID(), From: from, Kind: kind, Text: text, At: c.Out.Now}
	c.speak(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	c.Conversation.AddEntry(e)
	c.boundLog()
}

// boundLog drops the oldest entries of the work log if the Arbiter does not get a message at each point of
// decision, and may never read them.
func (c *DeliveryContext) boundLog() {
	if c.Rulings.FallbackReason != "" || c.Rulings.AsksOther(c.Options) {
		c.Conversation.BoundLog()
	}
}

// MoveDecided puts what was decided into the Arbiter's work log, shortened: the Arbiter reads about it with its
// next message.
func (c *DeliveryContext) MoveDecided(p *RulingRequest, d decider.Decision) {
	othersToo := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // their results are decided, too
	decided := func(m *Mail) bool {
		if m.Kind == KindTask || m.EndsExecution() && m.From == p.About {
			return true
		}
		return othersToo && m.Kind == verdict.KindDone && slices.Contains(p.EndedExecutions, m.ID)
	}
	c.MoveToWorkLog(func(m *Mail) bool {
		return c.Rulings.Withholds(c.Options, c.Task, m) && decided(m)
	})
	// The `decision` event informs everyone else.
	c.Conversation.AddEntry(ConversationEntry{
		ID: c.NewID(), From: contract.Supervisor, Kind: KindNotice, At: c.Out.Now, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode),
			words.Head(d.Reason, 500)),
	})
}

// MoveToWorkLog turns messages into reports of the work log: they were ruled on without their reader.
func (c *DeliveryContext) MoveToWorkLog(taken func(*Mail) bool) {
	c.Conversation.MoveToWorkLog(taken)
	c.boundLog()
}
