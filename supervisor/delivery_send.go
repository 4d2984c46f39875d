package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Send writes one message to its agent. The work log is sent with the first message to the Arbiter that can
// carry it.
func (c *DeliveryContext) Send(i int, steer bool) {
	m := &c.Conversation.EditMail()[i]
	m.Sent = true
	if m.Wire == "" {
		m.Wire = m.ID
	}
	if m.Content == "" {
		m.Carries = nil
	}
	if m.Content == "" && m.To == contract.Arbiter && m.Kind != KindCorrection {
		c.Conversation.Attach(m)
	}
	a := c.Roster.Edit(m.To)
	if a.Role == RoleOrchestrator && a.ContextLow() && m.Content == "" {
		a.HandoffDemands++ // Render adds the demand
	}
	if !steer {
		a.Status, a.Since, a.Turn, a.Backoff, a.Stopped = AgentBusy, c.Out.Now, nil, nil, false
	}
	a.Turn = append(slices.Clip(a.Turn), m.Wire)
	if m.Content == "" {
		if a.Role == RoleArbiter {
			c.Rulings.ShowArbiter(c.RulingStanding, *m)
		}
		m.Content = c.Conversation.Render(*m, c.reading(m))
	}
	if a.HandoffBrief != "" && !m.CarriesBrief && !c.Conversation.CarriesBriefTo(m.To) {
		brief := HandoffBrief(c.Options.Delimiter, c.Roster.DisplayName(contract.Supervisor), a.HandoffBrief) +
			"\n"
		m.CarriesBrief, m.BriefBytes, m.Content = true, len(brief), brief+m.Content
	}
	c.Conversation.Ledger.Sent++
	c.Out.Do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: steer}, Images: m.Images})
	if !steer {
		c.awaitProof(*m)
	}
}

// reading is what a message is rendered with.
func (c *DeliveryContext) reading(m *Mail) ConversationReading {
	to, _ := c.Roster.Agent(m.To)
	r := ConversationReading{Delimiter: c.Options.Delimiter, Sender: c.Roster.DisplayName(m.From),
		Untrusted: c.Roster.IsOrchestrator(m.From), Returned: to.ReturnNotice}
	switch {
	case m.To == contract.Arbiter:
		r.Standing = c.Rulings.ArbiterRequest.Text(c.Options.Templates)
	case to.Role == RoleOrchestrator && to.ContextLow():
		r.Demand = to.HandoffDemand()
	}
	return r
}

// NotSent handles a message that the bridge could not write. If the CLI has meanwhile proven that it has the
// message, only the answer about it was lost.
func (c *DeliveryContext) NotSent(f input.NotSent) (restart string) {
	a := c.Roster.Edit(f.Agent.ID)
	_, sent := c.Conversation.SentAs(f.MessageID)
	if a == nil || a.Generation != f.Agent.Generation || !sent || !a.Up() {
		return ""
	}
	exhausted := c.Conversation.SendFailed(f.MessageID, maxSends)
	c.Out.StopTimer(DeliveryTimerKey(f.MessageID))
	a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(id string) bool { return id == f.MessageID })
	if a.Status == AgentBusy && len(a.Turn) == 0 {
		a.Status, a.Since = AgentReady, c.Out.Now
	}
	if !exhausted {
		return "" // pump sends it again
	}
	// Its stdin is stuck or closed: the message stays in the queue, and another process reads it.
	return "a message could not be written: " + f.Message
}

// maxSends is how often a message is written to one process before the process counts as one that cannot be
// written to.
const maxSends = 3
