package supervisor

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestASuccessorsHistoryIsLost: what its predecessor left was in the lost session, and is sent again.
func TestASuccessorsHistoryIsLost(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("question", "Which port?", true))
	p.renewNow("the human hates yellow")
	p.contains("its first message", p.lastSent("arbiter"), "kind: inheritance", "the human hates yellow")
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", one))

	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: 1}})
	p.do(input.Timer{Key: RestartPrefix + RunOf(p.agent("arbiter").AgentRef)})
	p.do(input.Spawned{Agent: p.agent("arbiter").AgentRef, Result: bridge.SpawnResult{Window: 200_000, Resumed: false}})
	p.contains("the record", p.lastSent("arbiter"), "history is lost", "the human hates yellow", "## The ledger of decisions", "HANDOFF: because", "Which port?")
}

// TestDocumentsKeepTheirOrder: of two documents of the same author, the Arbiter gets the first one first,
// however long its checks take.
func TestDocumentsKeepTheirOrder(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, lasting("handoff", "the first", "make"))
	slow := p.check()
	p.say("More of it.", contract.Note, one)
	p.verdict(one, lasting("done", "the second", "ls"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Request: p.check().Request, Result: ok("ok")})
	if !p.s.Handoff.IsDue() || len(told[contract.Handoff](p)) != 0 {
		t.Error("the second overtook the first")
	}
	p.do(input.Checked{Serial: slow.Serial, Number: 1, Request: slow.Request, Result: ok("ok")})
	var heard []string
	for _, m := range told[contract.Message](p) {
		if m.From == one {
			heard = append(heard, m.Kind)
		}
	}
	if !slices.Equal(heard, []string{"handoff", "done"}) || p.s.Handoff.IsDue() {
		t.Errorf("heard %v, documents under way: %v", heard, p.s.Handoff.Documents)
	}
}
