package supervisor

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// What scripts/chaos found, told again without chance.

// overtaken is a bridge that a kill reaches before the start it is to undo.
type overtaken struct{ *fakePort }

func (o overtaken) Kill(_ context.Context, p bridge.KillParams) error {
	o.mu.Lock()
	_, lives := o.live[p.ID]
	o.mu.Unlock()
	if !lives {
		return &bridge.RPCError{Code: bridge.CodeUnknownAgent, Message: "there is no agent"}
	}
	o.end(p.AgentRef)
	return nil
}

// TestAKillOvertakesTheStart: who is let go while its start is under way does not live on,
// although the first word of it found nobody.
func TestAKillOvertakesTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := silentPort()
		n := newLife(t, &fakeJournal{}, port)
		n.beginOn(overtaken{port}, func(o *Options) { o.Task = "build" })
		time.Sleep(time.Second)
		n.loop.Put(Commanded{Channel: ChannelStdin, Command: contract.Command{Ref: "f", Body: contract.ForceAgent{Mode: "developer"}}})
		synctest.Wait() // its start takes 300 ms
		n.loop.Put(Commanded{Channel: ChannelStdin, Command: contract.Command{Ref: "k", Body: contract.Kill{ID: "orch-1"}}})
		time.Sleep(5 * time.Second)
		if a, _ := n.loop.Snapshot().agent("orch-1"); a.Status != Ended || port.alive() != 1 {
			t.Errorf("it is %s, and %d processes are alive", a.Status, port.alive())
		}
		if len(n.loop.starts) > 1 {
			t.Errorf("%d starts are remembered", len(n.loop.starts))
		}
		n.loop.Put(Signalled{Signal: "INT"})
		n.over()
	})
}

// TestAnHeirsHistoryIsLost: what its predecessor left was told to the session that is
// gone, and is told again.
func TestAnHeirsHistoryIsLost(t *testing.T) {
	p := begin(t, nil)
	one := p.summon("build it")
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("question", "Which port?", true))
	p.renewNow("the human hates yellow")
	p.contains("its first message", p.lastSent("arbiter"), "kind: inheritance", "the human hates yellow")
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", one))

	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: 1}})
	p.do(Rang{Key: restartKey(p.agent("arbiter").AgentRef)})
	p.do(Spawned{Agent: p.agent("arbiter").AgentRef, Result: bridge.SpawnResult{Window: 200_000, Resumed: false}})
	p.contains("the record", p.lastSent("arbiter"), "history is lost", "the human hates yellow", "## The ledger of decisions", "HANDOFF: because", "Which port?")
}

// TestDocumentsKeepTheirOrder: of two that one gave, the Arbiter hears the first one first,
// however long its checks take.
func TestDocumentsKeepTheirOrder(t *testing.T) {
	p := begin(t, nil)
	one := p.summon("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, lasting("handoff", "the first", "make"))
	slow := p.check()
	p.say("More of it.", contract.Note, one)
	p.verdict(one, lasting("done", "the second", "ls"))
	p.do(Checked{Serial: p.check().Serial, Number: 1, Request: p.check().Request, Result: ok("ok")})
	if !p.s.documentDue() || len(told[contract.Handoff](p)) != 0 {
		t.Error("the second overtook the first")
	}
	p.do(Checked{Serial: slow.Serial, Number: 1, Request: slow.Request, Result: ok("ok")})
	var heard []string
	for _, m := range told[contract.Message](p) {
		if m.From == one {
			heard = append(heard, m.Kind)
		}
	}
	if !slices.Equal(heard, []string{"handoff", "done"}) || p.s.documentDue() {
		t.Errorf("heard %v, documents under way: %v", heard, p.s.PendingHandoffs)
	}
}
