package supervisor

import (
	"math"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// cents are dollars without the noise of adding.
func cents(usd float64) int { return int(math.Round(usd * 100)) }

// TestCostOfARunningTurn is told and counted while it runs, and replaced by what the turn
// says of itself.
func TestCostOfARunningTurn(t *testing.T) {
	p := begin(t, nil)
	one := p.summon("build it")
	p.happen(one, bridge.Spent{CostUSD: 0.25, Usage: bridge.Usage{Output: 100}})
	p.happen("arbiter", bridge.Spent{CostUSD: 0.5, Usage: bridge.Usage{Output: 200}})
	p.happen(one, bridge.Spent{CostUSD: 0.75, Usage: bridge.Usage{Output: 300}})
	if c := last[contract.Cost](p); cents(c.CostUSD) != 75 || cents(c.RunCostUSD) != 125 || c.Usage.Output != 300 {
		t.Errorf("told %+v", c)
	}
	if cents(p.s.Spent()) != 125 || p.s.Used().Output != 500 || p.s.CostUSD != 0 {
		t.Errorf("spent $%v, %+v, booked $%v", p.s.Spent(), p.s.Used(), p.s.CostUSD)
	}
	p.turn(one, bridge.Turn{CostUSD: 1, Usage: bridge.Usage{Output: 400}, Outcome: bridge.TurnInterrupted})
	if a := p.agent(one); cents(p.s.Spent()) != 150 || cents(a.Spent()) != 100 || p.s.Used().Output != 600 {
		t.Errorf("spent $%v, by it $%v, %+v", p.s.Spent(), a.Spent(), p.s.Used())
	}
	before := len(told[contract.Cost](p))
	p.happen(one, bridge.Spent{CostUSD: 1}) // an answer that came late
	if n := len(told[contract.Cost](p)); n != before || p.agent(one).Live != (bridge.Spent{}) {
		t.Error("a turn that is over was counted twice")
	}
}

// TestLimitIsShared: agents at work together may spend what is left once, not each.
func TestLimitIsShared(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD = 1 })
	ids := []string{p.summon("one"), p.summon("two"), p.summon("three")}
	for i, id := range ids {
		if p.s.Ending != nil {
			t.Fatalf("it ended at $%v", p.s.Spent())
		}
		p.happen(id, bridge.Spent{CostUSD: 0.35})
		if ended := p.s.Ending != nil; ended != (i == 2) {
			t.Errorf("at $%v: ended %v", p.s.Spent(), ended)
		}
	}
	for _, id := range ids {
		p.happen(id, bridge.Turn{MessageIDs: p.agent(id).Turn, Outcome: bridge.TurnInterrupted, CostUSD: 0.4})
	}
	if r, exit := p.finished(); exit != contract.ExitLimit || cents(r.CostUSD) != 120 || !strings.Contains(r.Summary, "the cost reached $1.0500 of $1.0000") {
		t.Errorf("%+v, exit code %d", r, exit)
	}
}

// TestCostOfATurnThatIsLost with its process, with the bridge, or with arbiter itself is kept.
func TestCostOfATurnThatIsLost(t *testing.T) {
	for name, lose := range map[string]func(p *play){
		"the process": func(p *play) {
			p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed"}})
		},
		"the process, which was seen": func(p *play) {
			p.happen("arbiter", bridge.Turn{MessageIDs: p.agent("arbiter").Turn, Outcome: bridge.TurnLost, CostUSD: 0.5, Usage: bridge.Usage{Output: 7}})
			p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed"}})
		},
		"the bridge":     func(p *play) { p.do(input.BridgeLost{Message: "gone"}) },
		"arbiter itself": func(p *play) { p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, nil)
			p.happen("arbiter", bridge.Spent{CostUSD: 0.5, Usage: bridge.Usage{Output: 7}})
			lose(p)
			a := p.agent("arbiter")
			if cents(p.s.CostUSD) != 50 || cents(a.CostUSD) != 50 || p.s.Usage.Output != 7 || a.Live != (bridge.Spent{}) {
				t.Errorf("booked $%v, by it $%v, %+v, live %+v", p.s.CostUSD, a.CostUSD, p.s.Usage, a.Live)
			}
		})
	}
}
