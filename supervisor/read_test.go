package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestDeliveredMeansRead: the CLI accepts a message before hooks and the API may refuse it. It is delivered when a
// model has answered a request that contains it, and then once, whatever happened in between.
func TestDeliveredMeansRead(t *testing.T) {
	failed := func(c bridge.Category) bridge.Turn {
		return bridge.Turn{Outcome: bridge.TurnFailed, Category: c, Error: "refused"}
	}
	for name, c := range map[string]struct {
		before, then func(p *play, id string) // before and after the model has read it
	}{
		"an answer that is measured": {nil, (*play).speaks},
		"an answer of which only the end is": {nil,
			func(p *play, id string) { p.verdict(id, report("progress", "half", false)) }},
		"what the journal may drop is not enough": {func(p *play, id string) {
			p.happen(id, bridge.Delta{Text: "I"})
			p.happen(id, bridge.Assistant{Text: "I look"})
			p.happen(id, bridge.ToolUse{Tool: "Read", ToolUse: "t", Input: []byte(`{}`)})
		}, (*play).speaks},
		"what others say is no answer": {func(p *play, id string) {
			p.happen(id, bridge.Context{Tokens: 1000, Window: 200_000, Source: "cli"})
			p.speaks(contract.Arbiter)
		}, (*play).speaks},
		"the API refuses the turn": {func(p *play, id string) {
			p.turn(id, failed(bridge.CatUsageLimit))
			p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
			p.proven(id)
		}, (*play).speaks},
		"the API refuses the history": {func(p *play, id string) {
			p.afresh(id, bridge.CatInvalidRequest)
			p.proven(id)
		}, (*play).speaks},
		"a hook refuses it": {func(p *play, id string) {
			a := p.agent(id)
			p.proven(id)
			refused := failed(bridge.CatHook)
			refused.MessageIDs, refused.Unread = a.Turn, a.Turn
			p.happen(id, refused)
		}, nil},
		"its process ends before an answer": {func(p *play, id string) {
			p.rebirth(id, bridge.DeliverySeen)
			p.proven(id)
		}, (*play).speaks},
		"the run is resumed before an answer": {func(p *play, id string) {
			p.resume("")
			p.back(bridge.DeliverySeen)
			p.proven(id)
		}, (*play).speaks},
		"its process ends, and had begun to answer": {nil, func(p *play, id string) {
			p.rebirth(id, bridge.DeliveryBegun)
		}},
		"its process ends, and had ruled": {nil, func(p *play, id string) {
			p.dies(id)
			p.comes(id, bridge.SpawnResult{Resumed: true, Deliveries: []bridge.DeliveryStatus{
				ruledStatus(report("progress", "half", false), p.agent(id).Turn[0])}})
		}},
		"its session does not have it": {func(p *play, id string) {
			p.rebirth(id, bridge.DeliveryAbsent)
			p.speaks(id) // of what was there before
		}, func(p *play, id string) { p.proven(id); p.speaks(id) }},
		"its reader is released": {func(p *play, id string) {
			p.say("let it go")
			p.call(contract.Arbiter, "release_orchestrator", `{"id":"`+id+`","reason":"enough"}`)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, id, m := openTurn(t, RoleOrchestrator)
			p.proven(id)
			if c.before != nil {
				c.before(p, id)
			}
			if n := p.saidDelivered()[m.MessageID]; n != 0 {
				t.Errorf("delivered %d times before a model has read it", n)
			}
			if c.then == nil {
				p.folds()
				return
			}
			c.then(p, id)
			p.speaks(id)
			if n := p.saidDelivered()[m.MessageID]; n != 1 {
				t.Errorf("delivered %d times", n)
			}
			if len(p.s.Conversation.Accepted) > 1 { // what follows a resume may not be read yet
				t.Errorf("kept: %v", p.s.Conversation.Accepted)
			}
			p.folds()
		})
	}
}

// TestSteeredIsDeliveredWhenRead: a message into a running turn is not read by what the model says before the CLI has
// accepted it, nor by a turn that fails after that.
func TestSteeredIsDeliveredWhenRead(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	p.proven(id)
	p.speaks(id)
	p.say("mind the tests", contract.Steer, id)
	word := last[contract.Message](p).MessageID
	p.speaks(id)
	p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatServer, Error: "500"})
	if n := p.saidDelivered()[word]; n != 0 {
		t.Errorf("delivered %d times, and the request that contained it failed", n)
	}
	p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
	p.proven(id)
	p.speaks(id)
	if n := p.saidDelivered()[word]; n != 1 {
		t.Errorf("delivered %d times", n)
	}
	p.folds()
}
