package supervisor

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// cents are dollars without rounding errors.
func cents(usd float64) int { return int(math.Round(usd * 100)) }

// TestCostOfARunningTurn: it is reported and counted while the turn runs, and replaced by what the turn reports
// at its end.
func TestCostOfARunningTurn(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
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

// begins4 brings four agents to work under the limit of a run that has cost nothing yet.
func begins4(t *testing.T, limit float64, human bool) (*play, []string) {
	p := begin(t, func(o *runconfig.Options) { o.HumanPresent, o.MaxOrchestrators = human, 4 })
	ids := []string{p.spawn("one"), p.spawn("two"), p.spawn("three"), p.spawn("four")}
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.limits(limit, ids[0])
	return p, ids
}

// limits sets the cost limit of a run, after the cost of an Orchestrator's turn is known.
func (p *play) limits(usd float64, one string) {
	p.t.Helper()
	p.happen(one, bridge.Spent{CostUSD: 0.001})
	p.mustCommand(contract.Configure{MaxCost: &usd})
}

// TestLimitIsShared: agents that work at the same time may spend the rest of the limit once, not each. The run
// stops the agents that exceed it; one turn runs to its end, and then the run ends if no human can raise the
// limit.
func TestLimitIsShared(t *testing.T) {
	p, ids := begins4(t, 1, false)
	spent, interrupted, peak := map[string]float64{}, map[string]bool{}, 0.0
	work := func(id string, usd float64) {
		t.Helper()
		spent[id] += usd
		for _, e := range p.happen(id, bridge.Spent{CostUSD: spent[id]}) {
			if i, ok := e.(input.Interrupt); ok {
				interrupted[i.Agent.ID] = true
			}
		}
		peak = max(peak, p.s.Spent())
	}
	for len(interrupted) < 3 {
		for i, id := range ids {
			if !interrupted[id] {
				work(id, 0.05+0.01*float64(i))
			}
		}
	}
	if interrupted[ids[3]] || p.s.Ending != nil || p.s.Spent() > 1.08 {
		t.Fatalf("at $%v interrupted %v, ending %+v", p.s.Spent(), interrupted, p.s.Ending)
	}
	for _, id := range ids[:3] { // what was running when it was stopped
		p.happen(id, bridge.Turn{MessageIDs: p.agent(id).Turn, Outcome: bridge.TurnInterrupted, CostUSD: spent[id] + 0.05})
	}
	for range 4 {
		work(ids[3], 0.08)
	}
	if len(p.s.spentLimits()) == 0 || p.s.Ending != nil {
		t.Fatalf("at $%v a turn that runs does not finish: %+v", p.s.Spent(), p.s.Ending)
	}
	sends := len(effects[input.Send](p))
	p.costs(ids[3], spent[ids[3]], report("progress", "done", true))
	r, exit := p.finished()
	if exit != contract.ExitLimit || !strings.Contains(r.Summary, "the cost reached $") ||
		len(effects[input.Send](p)) != sends {
		t.Errorf("%+v, exit code %d, %d messages sent", r, exit, len(effects[input.Send](p))-sends)
	}
	if over, turn := r.CostUSD-1, spent[ids[3]]; over > turn {
		t.Errorf("four agents exceed the limit by $%v, a turn cost $%v", over, turn)
	}
	p.folds()
}

// TestTheFirstTurnIsAlone: under a small limit, because the cost of an Orchestrator is not known yet. Under a
// large limit, all begin.
func TestTheFirstTurnIsAlone(t *testing.T) {
	for limit, want := range map[float64]int{0: 4, 2: 1, 12: 3, 100: 4} {
		p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD, o.MaxOrchestrators = limit, 4 })
		ids := []string{p.spawn("one"), p.spawn("two"), p.spawn("three"), p.spawn("four")}
		p.verdict("arbiter", ruling("CONTINUE", "Wait."))
		if n := p.s.busyCount(); n != want {
			t.Errorf("limit $%v: %d turns run, want %d", limit, n, want)
		}
		p.happen(ids[0], bridge.Spent{CostUSD: 0.01})
		if n := p.s.busyCount(); n != 4 {
			t.Errorf("limit $%v: %d turns run when costs are known", limit, n)
		}
		p.folds()
	}
}

// costs ends a turn with a verdict and its cost.
func (p *play) costs(id string, usd float64, verdict map[string]any) {
	p.t.Helper()
	raw, err := json.Marshal(verdict)
	if err != nil {
		p.t.Fatal(err)
	}
	p.turn(id, bridge.Turn{CostUSD: usd, Verdict: raw})
}

// TestTurnsTakeTurns: if little is left, a turn begins when another has ended.
func TestTurnsTakeTurns(t *testing.T) {
	p, ids := begins4(t, 1, true)
	p.happen(ids[0], bridge.Spent{CostUSD: 0.3})
	p.happen(ids[1], bridge.Spent{CostUSD: 0.3})
	p.happen(ids[2], bridge.Spent{CostUSD: 0.25}) // 0.15 is left, and a report may add 0.3
	stopped := effects[input.Interrupt](p)
	for _, id := range ids[1:] {
		if !slices.ContainsFunc(stopped, func(i input.Interrupt) bool { return i.Agent.ID == id }) {
			t.Errorf("%s goes on", id)
		}
		p.turn(id, bridge.Turn{CostUSD: p.agent(id).Live.CostUSD, Outcome: bridge.TurnInterrupted})
	}
	for _, id := range ids[1:] {
		if a := p.agent(id); a.Status != AgentReady || a.Standing != AgentWorking || !p.s.pendingFor(id) {
			t.Errorf("%s: %s, %s, %v", id, a.Status, a.Standing, p.s.pendingFor(id))
		}
	}
	p.costs(ids[0], 0.3, report("progress", "so far", false))
	if n := p.s.busyCount(); n != 1 {
		t.Errorf("%d turns run", n)
	}
	p.folds()
}

// spends lets a turn reach the limit of a run.
func spends(t *testing.T, human bool) (*play, string) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD, o.HumanPresent, o.FuseUSD = 1, human, 99 })
	one := p.spawn("one")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.happen(one, bridge.Spent{CostUSD: 1.2})
	if len(effects[input.Interrupt](p)) != 0 || p.s.Ending != nil {
		t.Fatal("the only turn that runs does not finish")
	}
	p.costs(one, 1.2, report("question", "which?", true))
	return p, one
}

// TestLimitIsAskedAbout: the human is asked once, when no turn runs any more. Nothing is sent until the human
// raises the limit; messages given meanwhile are sent then.
func TestLimitIsAskedAbout(t *testing.T) {
	for name, raise := range map[string]struct {
		body  contract.CommandBody
		limit float64
	}{
		"raise":              {contract.Choose{Option: "raise"}, 1.7},
		"max_cost":           {contract.Configure{MaxCost: new(5.0)}, 5},
		"max_cost, no limit": {contract.Configure{MaxCost: new(0.0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := spends(t, true)
			q := told[contract.Question](p)
			if len(q) != 1 || q[0].Question != LimitQuestion || !slices.Equal(q[0].Options, []string{"raise", "finish"}) ||
				!strings.Contains(q[0].Text, "$1.2000 of the $1.0000") || !strings.Contains(q[0].Text, "$1.70") {
				t.Fatalf("asked %+v", q)
			}
			sends := len(effects[input.Send](p))
			p.say("hurry")
			if ok, why := p.command(contract.Continue{}); !ok || !strings.Contains(why, "choose raise") {
				t.Errorf("continue: %v, %s", ok, why)
			}
			p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) // killed while it waits
			p.back(bridge.DeliverySeen)
			if n := len(effects[input.Send](p)); n != sends || len(told[contract.Question](p)) != 2 {
				t.Fatalf("%d messages were sent, asked %+v", n-sends, told[contract.Question](p))
			}
			p.mustCommand(raise.body)
			if p.s.Options.MaxCostUSD != raise.limit || p.s.LimitOptions() != nil || len(effects[input.Send](p)) == sends {
				t.Errorf("limit $%v, options %v, %d messages", p.s.Options.MaxCostUSD, p.s.LimitOptions(),
					len(effects[input.Send](p))-sends)
			}
			p.folds()
		})
	}
}

// TestLimitEndsTheRun: at the human's choice, when the human leaves, and when the run is resumed without a
// human.
func TestLimitEndsTheRun(t *testing.T) {
	for name, end := range map[string]func(p *play){
		"finish":  func(p *play) { p.mustCommand(contract.Choose{Option: "finish"}) },
		"leaving": func(p *play) { p.do(input.InputEnded{}) },
		"resumed": func(p *play) {
			o := p.s.Options
			o.HumanPresent = false
			p.do(input.Resumed{Options: o, Salt: "/2"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, one := spends(t, true)
			end(p)
			if r, exit := p.finished(); exit != contract.ExitLimit || !strings.Contains(r.Summary, "raise --max-cost") {
				t.Fatalf("%+v, exit code %d", r, exit)
			}
			o := p.s.Options
			o.MaxCostUSD, o.HumanPresent = 10, true
			p.do(input.Resumed{Options: o, Salt: "/3"})
			p.back(bridge.DeliverySeen)
			if a := p.agent(one); p.s.Ending != nil || a.Status != AgentReady && a.Status != AgentBusy ||
				p.agent("arbiter").Status != AgentBusy {
				t.Errorf("it does not go on: %s, the Arbiter %s", a.Status, p.agent("arbiter").Status)
			}
		})
	}
}

// TestCompleteAtTheLimit: the turn that reaches the limit may complete the task.
func TestCompleteAtTheLimit(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD, o.HumanPresent = 1, false })
	p.happen("arbiter", bridge.Spent{CostUSD: 1.1})
	p.costs("arbiter", 1.1, ruling("COMPLETE", "Done.", "summary", "all of it"))
	if r, exit := p.finished(); exit != contract.ExitComplete {
		t.Errorf("%+v, exit code %d", r, exit)
	}
}

// TestProcessThatOverspent: a process that reached the limit it was started with is replaced when the run may
// continue.
func TestProcessThatOverspent(t *testing.T) {
	p, one := spends(t, true)
	p.mustCommand(contract.Configure{MaxCost: new(50.0)})
	p.verdict("arbiter", ruling("CONTINUE", "That one.", "to", one))
	p.turn(one, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatBudget, Error: "Reached maximum budget", CostUSD: 1})
	if a := p.agent(one); p.s.Ending != nil || a.Status != AgentRestarting {
		t.Fatalf("%s, ending %+v", a.Status, p.s.Ending)
	}
	p.dies(one)
	p.comes(one, bridge.SpawnResult{Resumed: true})
	if c := p.spawns(one); len(c) < 2 || c[len(c)-1].Config.MaxBudgetUSD < 50 {
		t.Errorf("started with %+v", c[len(c)-1].Config.MaxBudgetUSD)
	}
}

// TestCostOfATurnThatIsLost: the cost of a turn that is lost with its process, with the bridge, or with Arbiter
// itself is kept.
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

// TestBudgetIsReported: at 80 % and at the limit the Arbiter is notified, and no further agent starts except a
// successor.
func TestBudgetIsReported(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("one")
	p.limits(1, one)
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
	p.contains("the levels", fmt.Sprint(told[contract.Budget](p)), "limit")
	if list := told[contract.Budget](p); len(list) != 2 || list[1].Level != "limit" || cents(list[1].SpentUSD) != 105 {
		t.Errorf("told %+v", list)
	}
	p.folds()
}

// TestASuccessorMayStart: when 80 % are spent a successor may start, because it replaces another agent.
func TestASuccessorMayStart(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD, o.FuseUSD = 1, 9 })
	one := p.spawn("one")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.happen(one, bridge.Spent{CostUSD: 0.85})
	p.verdict(one, report("handoff", "half", true))
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`); a.IsError {
		t.Errorf("no successor starts: %s", a.Text)
	}
}

// TestLimitOfOneAgent: the limit is reported, the agent's turn ends, and then it has to hand off, in every mode.
func TestLimitOfOneAgent(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostPerAgent = 0.5 })
	one := p.spawn("one")
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
	p.costs(one, 0.6, report("question", "which?", true))
	p.contains("the Arbiter", p.lastSent("arbiter"), "$0.4500 of the $0.5000", "has reached a limit",
		"told to hand off")
	p.verdict("arbiter", ruling("CONTINUE", "This one.", "to", one))
	p.contains("the agent", p.lastSent(one), "reached a limit", "--max-cost-per-agent", "kind handoff")
	p.folds()
}

// TestLimitOfADay: it counts what the other runs have cost, and of this run only the cost since the day began.
func TestLimitOfADay(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostPerDay = 10 })
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 5})
	one := p.spawn("one")
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
	if q := told[contract.Question](p); len(q) != 1 || !strings.Contains(q[0].Text, "--max-cost-per-day") {
		t.Errorf("asked %+v", q)
	}
	p.do(input.InputEnded{})
	if p.s.Ending == nil || !strings.Contains(p.s.Ending.Summary, "all runs of this day reached $10.0000") ||
		p.s.Ending.Exit != contract.ExitLimit {
		t.Errorf("ending %+v", p.s.Ending)
	}
	p.folds()
}
