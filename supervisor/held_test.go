package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestHeldStaysHeld: the agents had exchanged too many messages without a human.
func TestHeldStaysHeld(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxExchanges = 4 })
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	for !p.s.Conversation.Held {
		p.verdict(id, report("question", "And now?", true))
		p.verdict("arbiter", ruling("CONTINUE", "I read that."))
		if p.agent("arbiter").Status == AgentBusy {
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", id))
		}
	}
	exchanges := p.s.Conversation.Exchanges
	p.stopped()
	p.resume("")
	p.back(bridge.DeliverySeen)
	if !p.s.Conversation.Held || p.s.Conversation.Exchanges != exchanges || p.s.Question.Open == nil {
		t.Errorf("held %v, %d exchanges (%d before), question %v", p.s.Conversation.Held, p.s.Conversation.Exchanges, exchanges, p.s.Question.Open)
	}
	p.say("go on")
	if p.s.Conversation.Held {
		t.Error("a human's word does not release it")
	}
	p.folds()
}
