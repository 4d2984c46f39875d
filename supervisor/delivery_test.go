package supervisor

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ready is a run whose Arbiter waits for a message.
func ready() *DeliveryContext {
	r, h := &Roster{}, &HandoffState{}
	r.Add(&Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1},
			Role: RoleArbiter, Name: "The Arbiter"},
		AgentProcess: AgentProcess{Status: AgentReady},
	})
	options := runconfig.Options{Delimiter: "d"}.WithDefaults()
	return &DeliveryContext{
		RulingStanding: RulingStanding{Options: &options, Task: &TaskState{}, Roster: r,
			Conversation: &ConversationState{}, Handoff: h},
		Rulings: &RulingState{}, Out: &effect.Collector{Now: time.Unix(1, 0)},
		Senders: SenderRun{Roster: r, Handoff: h, Permission: &input.PermissionState{}},
	}
}

// sends are the messages that were written, by their wire IDs.
func sends(c *DeliveryContext) (wires []string) {
	for _, e := range c.Out.Effects() {
		if s, ok := e.(effect.Send); ok {
			wires = append(wires, s.Params.MessageID)
		}
	}
	return wires
}

// TestClosed: a run that is ending queues no message.
func TestClosed(t *testing.T) {
	c := ready()
	c.Closed = true
	c.Notify(contract.Arbiter, KindNotice, "too late")
	if len(c.Conversation.Mail) != 0 || len(c.Out.Effects()) != 0 {
		t.Errorf("queued %v, did %v", c.Conversation.Mail, c.Out.Effects())
	}
}

// TestProofOverdue: a message without proof is written once more under its ID, and then its agent is restarted.
func TestProofOverdue(t *testing.T) {
	c := ready()
	c.Notify(contract.Arbiter, KindNotice, "a word")
	c.Send(0, false)
	wire := c.Conversation.Mail[0].Wire
	if id, restart := c.ProofOverdue(wire); restart != "" {
		t.Errorf("%s is started again: %s", id, restart)
	}
	if w := sends(c); len(w) != 2 || w[0] != wire || w[1] != wire {
		t.Errorf("written as %v, want %s twice", w, wire)
	}
	if id, restart := c.ProofOverdue(wire); id != contract.Arbiter || restart == "" {
		t.Errorf("after that %q is started again: %q", id, restart)
	}
}

// TestDelivered: a message with proof leaves the queue, and its timer is stopped.
func TestDelivered(t *testing.T) {
	c := ready()
	c.Notify(contract.Arbiter, KindNotice, "a word")
	c.Send(0, false)
	wire := c.Conversation.Mail[0].Wire
	c.Delivered(wire)
	if len(c.Conversation.Mail) != 0 {
		t.Errorf("still queued: %v", c.Conversation.Mail)
	}
	var stopped, told bool
	for _, e := range c.Out.Effects() {
		switch e := e.(type) {
		case effect.SetTimer:
			stopped = stopped || e.Key == DeliveryTimerKey(wire) && e.After == 0
		case effect.Emit:
			_, delivered := e.Event.Body.(contract.Delivered)
			told = told || delivered
		}
	}
	if !stopped || !told {
		t.Errorf("timer stopped %v, told %v", stopped, told)
	}
}

// TestSendFailed: a message that could not be written is queued again, and after a few times its agent is
// restarted.
func TestSendFailed(t *testing.T) {
	c := ready()
	c.Notify(contract.Arbiter, KindNotice, "a word")
	agent := bridge.AgentRef{ID: contract.Arbiter, Generation: 1}
	for n := 1; n <= maxSends; n++ {
		c.Send(0, false)
		restart := c.NotSent(input.NotSent{Agent: agent, MessageID: c.Conversation.Mail[0].Wire})
		if (restart != "") != (n == maxSends) {
			t.Errorf("after %d failures: %q", n, restart)
		}
	}
}
