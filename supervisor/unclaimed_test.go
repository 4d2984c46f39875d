package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestEveryRequestEndsAfterACrash: a request is open when Arbiter is killed. Whatever becomes of its agent then, the
// request is asked again under its id, or answered; it is never dropped in silence, and never answered twice.
func TestEveryRequestEndsAfterACrash(t *testing.T) {
	asksAgain := func(p *play, id string) { p.do(asked(p, id, "p2", "ask")) }
	for name, c := range map[string]struct {
		then  func(p *play, id string)
		opens bool   // it is open again
		by    string // who answered it; empty: nobody
	}{
		"its agent asks again": {func(p *play, id string) {
			p.back(bridge.DeliveryBegun)
			asksAgain(p, id)
		}, true, ""},
		"killed once more before its agent is back": {func(p *play, id string) {
			p.resume("")
			p.back(bridge.DeliveryBegun)
			asksAgain(p, id)
		}, true, ""},
		"killed once more after it was asked again": {func(p *play, id string) {
			p.back(bridge.DeliveryBegun)
			asksAgain(p, id)
			p.resume("")
			p.back(bridge.DeliveryBegun)
			asksAgain(p, id)
		}, true, ""},
		"its agent's process is lost before it asks": {func(p *play, id string) {
			p.back(bridge.DeliveryBegun)
			p.dies(id)
		}, false, contract.ByWithdrawn},
		"its agent does not start": {func(p *play, id string) {
			p.restartDue(id)
			p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: bridge.CatStart, Message: "exit code 1"})
		}, false, contract.ByWithdrawn},
		"its turn ends without it": {func(p *play, id string) {
			p.back(bridge.DeliveryBegun)
			p.verdict(id, report("progress", "another way", false))
		}, false, contract.ByWithdrawn},
		"its turn is interrupted": {func(p *play, id string) {
			p.back(bridge.DeliveryBegun)
			p.turn(id, bridge.Turn{Outcome: bridge.TurnInterrupted})
		}, false, contract.ByWithdrawn},
		"its history is lost": {func(p *play, id string) {
			p.comes("arbiter", p.remembers("arbiter", bridge.DeliveryBegun))
			p.comes(id, bridge.SpawnResult{})
			p.verdict(id, report("progress", "I know again", false))
		}, false, contract.ByWithdrawn},
		"its agent is released before it is back": {func(p *play, id string) {
			p.comes("arbiter", p.remembers("arbiter", bridge.DeliveryBegun))
			p.call("arbiter", "release_orchestrator", `{"id":"`+id+`","reason":"enough"}`)
		}, false, contract.ByWithdrawn},
		"its agent is killed by the human": {func(p *play, id string) { p.mustCommand(contract.Kill{ID: id}) },
			false, contract.ByWithdrawn},
		"the bridge is lost": {func(p *play, _ string) {
			p.back(bridge.DeliveryBegun)
			p.do(input.BridgeLost{Message: "gone"})
		}, false, contract.ByWithdrawn},
		"its session is taken over": {func(p *play, id string) {
			p.back(bridge.DeliveryBegun)
			p.take(id, TakeoverStopping)
		}, false, contract.ByWithdrawn},
		"everything is halted": {func(p *play, _ string) { p.mustCommand(contract.Halt{}) }, false, contract.ByHalt},
		"the human answers before it is asked again": {func(p *play, _ string) {
			p.mustCommand(contract.Permit{Request: "p1", Behavior: "allow"})
		}, false, contract.Human},
		"the rules decide": {func(p *play, id string) {
			p.back(bridge.DeliveryBegun)
			p.do(asked(p, id, "p2", "allow"))
		}, false, "rule"},
		"the run ends": {func(p *play, _ string) { p.stopped() }, false, contract.ByShutdown},
		"the run is reset": {func(p *play, _ string) { p.mustCommand(contract.Reset{}) },
			false, contract.ByWithdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, nil)
			id := p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.proven(id)
			p.do(asked(p, id, "p1", "ask"))
			p.resume("") // the process was killed: nothing was written of its end
			c.then(p, id)
			checkEnds(t, p, c.opens, c.by)
			p.folds()
		})
	}
	t.Run("no human is there any more", func(t *testing.T) {
		p := begin(t, nil)
		id := p.spawn("work")
		p.do(asked(p, id, "p1", "ask"))
		p.out = nil
		o := p.s.Options
		o.HumanPresent = false
		p.do(input.Resumed{Options: o, Claude: p.s.Lifecycle.Claude(), Stay: true})
		checkEnds(t, p, false, contract.ByNobody)
	})
	t.Run("a check whose author is gone", func(t *testing.T) {
		p := begin(t, nil)
		id := p.spawn("work")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.verdict(id, proven("done", "make test"))
		q := asked(p, id, p.check().Request, "ask")
		q.Params.Tool = "Check"
		p.do(q)
		p.call("arbiter", "release_orchestrator", `{"id":"`+id+`","reason":"enough"}`)
		if !p.agent(id).Dismissed || len(p.s.Permission.Open) != 1 {
			t.Fatalf("the check is over with its author: %+v", p.s.Permission)
		}
		p.resume("")
		if said := told[contract.Permission](p); len(said) != 1 || said[0].Request != q.Params.Request {
			t.Errorf("answered: %+v", said)
		}
	})
}

// checkEnds checks what became of the request p1.
func checkEnds(t *testing.T, p *play, opens bool, by string) {
	t.Helper()
	for _, b := range told[contract.Permission](p) {
		if b.Request == "p1" && by == "" || b.Request == "p1" && b.By != by {
			t.Errorf("answered by %s (%s), want %q", b.By, b.Reason, by)
		}
		if b.Request == "p1" {
			by = ""
		}
	}
	if by != "" && p.s.Ending == nil {
		t.Errorf("not answered by %s: %+v", by, p.s.Permission)
	}
	open := len(p.s.Permission.Open) == 1 && p.s.Permission.Open[0].ID == "p1"
	if open != opens || !opens && len(p.s.Permission.Unclaimed) > 0 {
		t.Errorf("open again: %v, want %v: %+v", open, opens, p.s.Permission)
	}
	if responds := effects[input.PermissionRespond](p); by == contract.Human && len(responds) > 0 {
		t.Errorf("a process was answered that does not wait: %+v", responds)
	}
}
