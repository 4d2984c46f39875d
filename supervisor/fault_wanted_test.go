package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// A word steered into a turn whose verdict was given already begins a turn of its own.
func TestWantedWordAfterTheVerdict(t *testing.T) {
	for _, fate := range []string{bridge.FateSeen, bridge.FateBegun} {
		p, id, _ := openTurn(t, RoleOrchestrator)
		p.proven(id)
		p.say("mind the tests", contract.Steer, id)
		p.dies(id)
		turn := p.agent(id).Turn
		n := len(p.sends(id))
		p.comes(id, bridge.SpawnResult{Resumed: true, Fates: []bridge.Fate{
			ruledFate(report("done", "all of it", true), turn[0]), {MessageID: turn[1], Fate: fate},
		}})
		if len(p.sends(id)) == n {
			t.Errorf("%s: nobody takes up the word that followed the verdict; standing %s", fate, p.agent(id).Standing)
		}
	}
}

// let go, then the bridge is lost, then arbiter dies.
func TestWantedReleasedStaysAway(t *testing.T) {
	for _, c := range []struct{ name, reason string; after func(p *play) }{
		{"bridge lost", "released", func(p *play) { p.do(BridgeLost{Message: "x"}) }},
		{"end before its done", "released", func(p *play) { p.do(Signalled{Signal: "INT"}); p.do(Stopped{}) }},
		{"crash, reason looks like a status", "complete", func(p *play) {}},
		{"crash", "released", func(p *play) {}},
		{"end, reason looks like the status", "cancelled", func(p *play) { p.stopped() }},
	} {
		p := begin(t, nil)
		id := p.summon("work")
		p.call("arbiter", "release_orchestrator", `{"id":"orch-1","reason":"`+c.reason+`"}`)
		c.after(p)
		p.resume("")
		if a := p.agent(id); a.Status != Ended {
			t.Errorf("%s: it is %s", c.name, a.Status)
		}
	}
}

func TestWantedQuestionSurvivesNoBridge(t *testing.T) {
	p := begin(t, nil)
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
	p.stopped()
	p.out = nil
	p.do(NoBridge{Options: p.s.Options, Category: bridge.CatClaudeMissing, Message: "no claude"})
	if n := len(effects[Finish](p)); n != 1 {
		t.Errorf("%d ends", n)
	}
	p.resume("")
	if p.s.Question == nil {
		t.Error("the question is lost")
	}
}

func TestWantedCompleteSurvivesNoBridge(t *testing.T) {
	p := begin(t, nil)
	id := p.summon("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(id, report("done", "all", true))
	p.verdict("arbiter", ruling("COMPLETE", "done", "summary", "s"))
	p.do(Stopped{})
	p.do(NoBridge{Options: p.s.Options, Category: bridge.CatClaudeMissing, Message: "no claude"})
	p.resume("")
	if a := p.agent(id); a.Status != Ended {
		t.Errorf("%s of a complete run is %s", id, a.Status)
	}
}

func TestWantedParkedArbiterKeepsTheQuestion(t *testing.T) {
	p := begin(t, nil)
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
	p.crash("arbiter", 5)
	if p.agent("arbiter").Status != Parked {
		t.Fatal("not parked")
	}
	if ok, why := p.command(contract.Choose{Option: "retry"}); !ok {
		t.Fatal(why)
	}
	p.comes("arbiter", bridge.SpawnResult{Resumed: true})
	if p.s.Question == nil && p.agent("arbiter").Status == Ready {
		t.Error("stalled")
	}
}

func TestWantedParkedArbiterOffersRetryStill(t *testing.T) {
	p := begin(t, nil)
	id := p.summon("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.crash("arbiter", 5)
	for range 3 {
		p.turn(id, bridge.Turn{Text: "hm"})
	}
	if ok, why := p.command(contract.Choose{Option: "retry"}); !ok {
		t.Error(why)
	}
}
