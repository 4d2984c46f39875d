package supervisor

import (
	"encoding/json"
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
	if cents(p.s.Spent()) != 125 || p.s.Used().Output != 500 || p.s.Budget.CostUSD != 0 {
		t.Errorf("spent $%v, %+v, booked $%v", p.s.Spent(), p.s.Used(), p.s.Budget.CostUSD)
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
			if cents(p.s.Budget.CostUSD) != 50 || cents(a.CostUSD) != 50 || p.s.Budget.Usage.Output != 7 || a.Live != (bridge.Spent{}) {
				t.Errorf("booked $%v, by it $%v, %+v, live %+v", p.s.Budget.CostUSD, a.CostUSD, p.s.Budget.Usage, a.Live)
			}
		})
	}
}

// TestBudgetIsTold at 80 % and at the limit: the Arbiter reads of it, and no further agent starts but a successor.
func TestBudgetIsTold(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD = 1 })
	one := p.summon("one")
	p.happen(one, bridge.Spent{CostUSD: 0.79})
	if list := told[contract.Budget](p); len(list) != 0 {
		t.Errorf("told %+v", list)
	}
	p.happen(one, bridge.Spent{CostUSD: 0.81})
	p.happen(one, bridge.Spent{CostUSD: 0.82})
	if list := told[contract.Budget](p); len(list) != 1 || cents(list[0].SpentUSD) != 81 ||
		list[0] != (contract.Budget{Scope: "run", SpentUSD: list[0].SpentUSD, LimitUSD: 1, Level: "warn"}) {
		t.Errorf("told %+v", list)
	}
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"two"}`); !a.IsError ||
		!strings.Contains(a.Text, "$0.8200 of the $1.0000") {
		t.Errorf("another agent starts: %+v", a)
	}
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.turn(one, bridge.Turn{CostUSD: 0.85, Outcome: bridge.TurnInterrupted})
	p.contains("the Arbiter", p.lastSent("arbiter"), "$0.8100 of the $1.0000", "no further Orchestrator starts")
	p.happen("arbiter", bridge.Spent{CostUSD: 0.2})
	if list := told[contract.Budget](p); len(list) != 2 || list[1].Level != "limit" || cents(list[1].SpentUSD) != 105 {
		t.Errorf("told %+v", list)
	}
	p.folds()
}

// TestASuccessorMayStart when 80 % are spent: it takes the place of one that goes.
func TestASuccessorMayStart(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD = 1 })
	one := p.summon("one")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.happen(one, bridge.Spent{CostUSD: 0.85})
	p.verdict(one, report("handoff", "half", true))
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`); a.IsError {
		t.Errorf("no successor starts: %s", a.Text)
	}
}

// TestLimitOfOneAgent: it is told of, its turn ends, and then it has to hand off, whatever its mode.
func TestLimitOfOneAgent(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostPerAgent = 0.5 })
	one := p.summon("one")
	p.happen("arbiter", bridge.Spent{CostUSD: 9}) // it has no limit of its own
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.happen(one, bridge.Spent{CostUSD: 0.45})
	p.happen(one, bridge.Spent{CostUSD: 0.6})
	var levels []string
	for _, b := range told[contract.Budget](p) {
		if b.Scope != "agent" || b.LimitUSD != 0.5 {
			t.Errorf("told %+v", b)
		}
		levels = append(levels, b.Level)
	}
	if len(levels) != 2 || levels[0] != "warn" || levels[1] != "limit" {
		t.Errorf("levels %q", levels)
	}
	raw, err := json.Marshal(report("question", "which?", true))
	if err != nil {
		t.Fatal(err)
	}
	p.turn(one, bridge.Turn{CostUSD: 0.6, Verdict: raw})
	p.contains("the Arbiter", p.lastSent("arbiter"), "$0.4500 of the $0.5000", "has reached a limit",
		"told to hand off")
	p.verdict("arbiter", ruling("CONTINUE", "This one.", "to", one))
	p.contains("the agent", p.lastSent(one), "reached a limit", "--max-cost-per-agent", "kind handoff")
	p.folds()
}

// TestLimitOfADay counts what the other runs have cost, and of this one only what it has cost since the day began.
func TestLimitOfADay(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostPerDay = 10 })
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 5})
	one := p.summon("one")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.turn(one, bridge.Turn{CostUSD: 2, Outcome: bridge.TurnInterrupted})
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 5.5})
	if list := told[contract.Budget](p); len(list) != 0 {
		t.Errorf("told at $7.50: %+v", list)
	}
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 6.5})
	if b := last[contract.Budget](p); b != (contract.Budget{Scope: "day", SpentUSD: 8.5, LimitUSD: 10, Level: "warn"}) {
		t.Errorf("told %+v", b)
	}
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"two"}`); !a.IsError ||
		!strings.Contains(a.Text, "--max-cost-per-day") {
		t.Errorf("another agent starts: %+v", a)
	}
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) // on the same day
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 6.5, OwnUSD: 2})
	if usd := p.s.Budget.Day.Spent(p.s.Spent()); cents(usd) != 850 {
		t.Errorf("after the resume $%v", usd)
	}
	p.do(input.DaySpent{Day: "2026-03-15", OthersUSD: 1})
	if usd := p.s.Budget.Day.Spent(p.s.Spent()); cents(usd) != 100 || p.s.Budget.Day.Level != "" {
		t.Errorf("on the next day $%v", usd)
	}
	p.do(input.DaySpent{Day: "2026-03-15", OthersUSD: 10})
	if p.s.Ending == nil || !strings.Contains(p.s.Ending.Summary, "all runs of this day reached $10.0000") ||
		p.s.Ending.Exit != contract.ExitLimit {
		t.Errorf("ending %+v", p.s.Ending)
	}
	p.folds()
}
