package delivery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/rulings"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Post queues a message and announces it. A run that is ending, perhaps since a
// moment ago in the same step, takes none.
func (c *Context) Post(m conversation.Mail) {
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
		(m.Kind == conversation.KindRetry || m.Kind == conversation.KindRenewal) {
		// It goes first: the turn it interrupts, or takes up again, must not be
		// followed by another.
		c.Conversation.PostAhead(m)
		return
	}
	c.Conversation.Post(m)
}

// speak announces a message, with the process that it is of, and remembers it as part of the conversation.
func (c *Context) speak(from string, m contract.Message) {
	if a, ok := c.Roster.Agent(m.From); ok {
		m.SessionID, m.Generation = a.SessionID, a.Generation
	}
	c.Out.Emit(from, m)
	c.Conversation.Said(&m)
}

// Tell posts the supervisor's own word to an agent.
func (c *Context) Tell(to, kind, text string) {
	c.Post(conversation.Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
}

// TellWith posts the supervisor's own word to the Arbiter, with what is attached to it.
func (c *Context) TellWith(text string, attached []conversation.Attached) {
	c.Post(conversation.Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: conversation.KindNotice,
		Text: text, Attached: attached})
}

// ToHuman announces a message that no agent receives.
func (c *Context) ToHuman(kind, text string) {
	c.speak(contract.Arbiter, contract.Message{
		MessageID: c.NewID(), From: contract.Arbiter, To: contract.Human, Kind: kind, Text: text,
	})
}

// Log queues a report that expects no answer.
func (c *Context) Log(from, kind, text string) {
	e := conversation.Entry{ID: c.NewID(), From: from, Kind: kind, Text: text, At: c.Out.Now}
	c.speak(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	c.Conversation.AddEntry(e)
	c.boundLog()
}

// boundLog drops the oldest entries of the work log where the Arbiter is not spoken to at
// each point of decision, and may never read them.
func (c *Context) boundLog() {
	if c.Rulings.FallbackReason != "" || c.Rulings.AsksOther(c.Options) {
		c.Conversation.BoundLog()
	}
}

// MoveDecided puts what was decided on into the Arbiter's work log, shortened: it reads of it
// when it is next spoken to.
func (c *Context) MoveDecided(p *rulings.Request, d decider.Decision) {
	moves := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // and what others have done is behind it
	c.MoveToWorkLog(func(m *conversation.Mail) bool {
		return c.Rulings.Withholds(c.Options, c.Task, m) && (m.Kind == conversation.KindTask ||
			m.EndsExecution() && m.From == p.About || moves && m.Kind == verdict.KindDone && slices.Contains(p.Heard, m.ID))
	})
	// The `decision` event notifies everyone else.
	c.Conversation.AddEntry(conversation.Entry{
		ID: c.NewID(), From: contract.Supervisor, Kind: conversation.KindNotice, At: c.Out.Now, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode),
			words.Head(d.Reason, 500)),
	})
}

// MoveToWorkLog has messages become reports of the work log: they were ruled on without their reader.
func (c *Context) MoveToWorkLog(taken func(*conversation.Mail) bool) {
	c.Conversation.MoveToWorkLog(taken)
	c.boundLog()
}
