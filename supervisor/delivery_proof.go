package supervisor

// This part of the package delivers the messages of a run.
//
// [DeliveryContext.Post] queues and announces a message, [DeliveryContext.Send] writes one to an agent,
// [DeliveryContext.Delivered] handles the proof that an agent has read it. A message without proof is written again
// ([DeliveryContext.ProofOverdue]); one that was lost with a process goes back to its queue
// ([DeliveryContext.Requeue]). Reports that expect no answer go to the work log ([DeliveryContext.Log]). Package
// conversation keeps the queues.
//
// The package changes the parts of the state that a [DeliveryContext] points to, and collects effects. Package
// supervisor decides when a message is sent, and restarts an agent's process when a method asks for it.
//
// Events: message, delivered, withdrawn. Effects: Send, AskAgent, AnswerTool, timers.

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// ProofWait is how long a message may go without proof that the agent has processed it. The CLI gives the proof
// at once (observed with CLI 2.1.329: 0.0 s), so this is generous. While the CLI retries the API, or is
// stopped, a missing proof means nothing.
const ProofWait = 30 * time.Second

// awaitProof sets the timer for the proof of a message.
func (c *DeliveryContext) awaitProof(m Mail) {
	c.Out.Do(effect.SetTimer{Key: DeliveryTimerKey(m.Wire), After: c.Options.Scaled(ProofWait)})
}

// AwaitNextTurn starts the timers for messages that were sent into a turn and did not end with it: the CLI puts
// them into its next turn.
func (c *DeliveryContext) AwaitNextTurn(a *Agent) {
	for _, wire := range a.Turn {
		if m, ok := c.Conversation.SentAs(wire); ok {
			c.awaitProof(m)
		}
	}
}

// ProofOverdue handles a message without proof of delivery: it is written once more under the same id, which
// the CLI ignores if it has the message. After that, another process is started, whose history shows what
// happened.
func (c *DeliveryContext) ProofOverdue(wire string) (agent, restart string) {
	sent, ok := c.Conversation.SentAs(wire)
	if !ok {
		return "", ""
	}
	a := c.Roster.Edit(sent.To)
	if a == nil || a.Status != AgentBusy || !slices.Contains(a.Turn, wire) {
		return "", ""
	}
	if a.Backoff != nil || a.Watch.Stopped {
		c.awaitProof(sent)
		return "", ""
	}
	m, again := c.Conversation.Resend(wire)
	if !again {
		c.Out.Emit(a.ID, contract.Notice{Text: "message " + m.ID + " was sent twice and not received; " + a.Name +
			" is being restarted"})
		return a.ID, "swallows its messages"
	}
	c.Out.Emit(a.ID, contract.Notice{Text: "message " + m.ID + " was not received within " +
		c.Options.Scaled(ProofWait).String() +
		"; it is sent again"})
	c.Out.Do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: len(a.Turn) > 1}, Images: m.Images})
	c.awaitProof(m)
	return "", ""
}

// Delivered removes a message from the queue, with the reports it carried.
func (c *DeliveryContext) Delivered(wire string) {
	sent, ok := c.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := c.Roster.Edit(sent.To)
	m, _ := c.Conversation.Deliver(wire, a != nil && slices.Contains(a.Turn, wire))
	c.Out.StopTimer(DeliveryTimerKey(wire))
	c.Rulings.Read(m)
	if a != nil {
		a.HasHistory, a.ReturnNotice = true, ""
		if m.CarriesBrief {
			a.HandoffBrief = ""
		}
	}
	if m.Reported {
		return
	}
	c.announceDelivery(m.To, m.From, m.ID)
	if len(m.Carries) == 0 {
		return
	}
	for _, e := range c.Conversation.TakeCarried(m.ID) {
		if !e.Quiet {
			c.announceDelivery(m.To, e.From, e.ID)
		}
	}
}

// announceDelivery reports that an agent has proven that it read a message.
func (c *DeliveryContext) announceDelivery(to, from, id string) {
	d := contract.Delivered{MessageID: id}
	if a := c.Roster.Edit(to); a != nil {
		a.Delivered++
		d.From, d.SessionID, d.Generation, d.Sequence = from, a.SessionID, a.Generation, a.Delivered
	}
	c.Out.Emit(to, d)
}

// ModelAnswered reports whether a model answered in a turn: then it has read what was delivered before.
func ModelAnswered(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnDone || t.Usage != (bridge.Usage{})
}

// MaybeUnanswered reports whether a model may never have read a message of a turn that ended: no model answered
// in the turn, or the message went into a running turn, in which a later request may have failed.
func MaybeUnanswered(a *Agent, t bridge.Turn, m Mail) bool {
	return a.Role == RoleOrchestrator && t.Outcome == bridge.TurnFailed && t.Category != bridge.CatVerdict &&
		(!ModelAnswered(t) || m.Strength == contract.Steer)
}

// Unreadable reports whether a turn failed because its message was too large: the model said nothing before the
// prompt was too long, although its context had space.
func Unreadable(a *Agent, t bridge.Turn, m Mail) bool {
	ours := m.From == contract.Supervisor && m.OfSession() || m.Kind == KindTask &&
		len(m.Content) < BeginningKept
	return a.Role == RoleArbiter && t.Outcome == bridge.TurnFailed && t.Category == bridge.CatPromptTooLong &&
		t.Usage == (bridge.Usage{}) && t.Tools == 0 && !a.ContextLow() && !ours
}
