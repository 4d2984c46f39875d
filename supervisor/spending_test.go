package supervisor

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
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
	c := last[contract.Cost](p)
	testkit.Check(t, cents(c.CostUSD) == 75 && cents(c.RunCostUSD) == 125 && c.Usage.Output == 300, "told %+v", c)
	testkit.Check(t, cents(p.s.Spent()) == 125 && p.s.Used().Output == 500 && p.s.Budget.CostUSD == 0,
		"spent $%v, %+v, booked $%v", p.s.Spent(), p.s.Used(), p.s.Budget.CostUSD)
	p.turn(one, bridge.Turn{CostUSD: 1, Usage: bridge.Usage{Output: 400}, Outcome: bridge.TurnInterrupted})
	if a := p.agent(one); cents(p.s.Spent()) != 150 || cents(a.Spent()) != 100 || p.s.Used().Output != 600 {
		t.Errorf("spent $%v, by it $%v, %+v", p.s.Spent(), a.Spent(), p.s.Used())
	}
	before := len(told[contract.Cost](p))
	p.happen(one, bridge.Spent{CostUSD: 1}) // an answer that came late
	testkit.Same(t, "a turn that is over was counted twice: n", before, len(told[contract.Cost](p)))
	testkit.Same(t, "a turn that is over was counted twice: p.agent(one).Live", bridge.Spent{}, p.agent(one).Live)
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
	testkit.Need(t, !interrupted[ids[3]] && p.s.Ending == nil && p.s.Spent() <= 1.08,
		"at $%v interrupted %v, ending %+v", p.s.Spent(), interrupted, p.s.Ending)
	for _, id := range ids[:3] { // what was running when it was stopped
		p.happen(id, bridge.Turn{MessageIDs: p.agent(id).Turn, Outcome: bridge.TurnInterrupted, CostUSD: spent[id] + 0.05})
	}
	for range 4 {
		work(ids[3], 0.08)
	}
	testkit.Need(t, len(p.s.spentLimits()) != 0 && p.s.Ending == nil, "at $%v a turn that runs does not finish: %+v",
		p.s.Spent(), p.s.Ending)
	sends := len(effects[input.Send](p))
	p.costs(ids[3], spent[ids[3]], report("progress", "done", true))
	r, exit := p.finished()
	testkit.Check(t, exit == contract.ExitLimit && strings.Contains(r.Summary, "the cost reached $") &&
		len(effects[input.Send](p)) == sends, "%+v, exit code %d, %d messages sent", r, exit,
		len(effects[input.Send](p))-sends)
	over, turn := r.CostUSD-1, spent[ids[3]]
	testkit.Check(t, over <= turn, "four agents exceed the limit by $%v, a turn cost $%v", over, turn)
}

// TestTheFirstTurnIsAlone: under a small limit, because the cost of an Orchestrator is not known yet. Under a
// large limit, all begin.
func TestTheFirstTurnIsAlone(t *testing.T) {
	for limit, want := range map[float64]int{0: 4, 2: 1, 12: 3, 100: 4} {
		p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD, o.MaxOrchestrators = limit, 4 })
		ids := []string{p.spawn("one"), p.spawn("two"), p.spawn("three"), p.spawn("four")}
		p.verdict("arbiter", ruling("CONTINUE", "Wait."))
		testkit.Same(t, fmt.Sprintf("limit $%v: turns run", limit), want, p.s.busyCount())
		p.happen(ids[0], bridge.Spent{CostUSD: 0.01})
		testkit.Same(t, fmt.Sprintf("limit $%v: turns run when costs are known", limit), 4, p.s.busyCount())
	}
}

// costs ends a turn with a verdict and its cost.
func (p *play) costs(id string, usd float64, v map[string]any) {
	p.t.Helper()
	p.turn(id, verdictTurn(v, bridge.Turn{CostUSD: usd}))
}

// TestTurnsTakeTurns: if little is left, a turn begins when another has ended.
func TestTurnsTakeTurns(t *testing.T) {
	p, ids := begins4(t, 1, true)
	p.happen(ids[0], bridge.Spent{CostUSD: 0.3})
	p.happen(ids[1], bridge.Spent{CostUSD: 0.3})
	p.happen(ids[2], bridge.Spent{CostUSD: 0.25}) // 0.15 is left, and a report may add 0.3
	stopped := effects[input.Interrupt](p)
	for _, id := range ids[1:] {
		testkit.Check(t, slices.ContainsFunc(stopped, func(i input.Interrupt) bool { return i.Agent.ID == id }),
			"%s goes on", id)
		p.turn(id, bridge.Turn{CostUSD: p.agent(id).Live.CostUSD, Outcome: bridge.TurnInterrupted})
	}
	for _, id := range ids[1:] {
		if a := p.agent(id); a.Status != AgentReady || a.Standing != AgentWorking || !p.s.pendingFor(id) {
			t.Errorf("%s: %s, %s, %v", id, a.Status, a.Standing, p.s.pendingFor(id))
		}
	}
	p.costs(ids[0], 0.3, report("progress", "so far", false))
	testkit.Same(t, "turns run", 1, p.s.busyCount())
}

// spends lets a turn reach the limit of a run.
func spends(t *testing.T, human bool) (*play, string) {
	p, one := oneWorks(t, func(o *runconfig.Options) { o.MaxCostUSD, o.HumanPresent, o.FuseUSD = 1, human, 99 })
	p.happen(one, bridge.Spent{CostUSD: 1.2})
	testkit.Need(t, len(effects[input.Interrupt](p)) == 0 && p.s.Ending == nil,
		"the only turn that runs does not finish")
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
			ok, why := p.command(contract.Continue{})
			testkit.Check(t, ok && strings.Contains(why, "choose raise"), "continue: %v, %s", ok, why)
			p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) // killed while it waits
			p.back(bridge.DeliverySeen)
			if n := len(effects[input.Send](p)); n != sends || len(told[contract.Question](p)) != 2 {
				t.Fatalf("%d messages were sent, asked %+v", n-sends, told[contract.Question](p))
			}
			p.mustCommand(raise.body)
			testkit.Check(t, p.s.Options.MaxCostUSD == raise.limit && p.s.LimitOptions() == nil &&
				len(effects[input.Send](p)) != sends, "limit $%v, options %v, %d messages", p.s.Options.MaxCostUSD,
				p.s.LimitOptions(), len(effects[input.Send](p))-sends)
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
	p.endsAs(contract.StatusComplete, contract.ExitComplete)
}

// TestProcessThatOverspent: a process that reached the limit it was started with is replaced when the run may
// continue.
func TestProcessThatOverspent(t *testing.T) {
	p, one := spends(t, true)
	p.mustCommand(contract.Configure{MaxCost: new(50.0)})
	p.verdict("arbiter", ruling("CONTINUE", "That one.", "to", one))
	p.turn(one, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatBudget, Error: "Reached maximum budget",
		CostUSD: 1})
	a := p.agent(one)
	testkit.Need(t, p.s.Ending == nil && a.Status == AgentRestarting, "%s, ending %+v", a.Status, p.s.Ending)
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
			p.happen("arbiter", bridge.Turn{MessageIDs: p.agent("arbiter").Turn, Outcome: bridge.TurnLost, CostUSD: 0.5,
				Usage: bridge.Usage{Output: 7}})
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
			testkit.Check(t, cents(p.s.Budget.CostUSD) == 50 && cents(a.CostUSD) == 50 &&
				p.s.Budget.Usage.Output == 7 && a.Live == (bridge.Spent{}), "booked $%v, by it $%v, %+v, live %+v",
				p.s.Budget.CostUSD, a.CostUSD, p.s.Budget.Usage, a.Live)
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
	testkit.Empty(t, "told", told[contract.Budget](p))
	p.happen(one, bridge.Spent{CostUSD: 0.81})
	p.happen(one, bridge.Spent{CostUSD: 0.82})
	if list := told[contract.Budget](p); len(list) != 1 || cents(list[0].SpentUSD) != 81 ||
		list[0] != (contract.Budget{Scope: "run", SpentUSD: list[0].SpentUSD, LimitUSD: 1, Level: "warn"}) {
		t.Errorf("told %+v", list)
	}
	a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"two"}`)
	testkit.Check(t, a.IsError && strings.Contains(a.Text, "$0.8200 of the $1.0000"), "another agent starts: %+v", a)
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.turn(one, bridge.Turn{CostUSD: 0.85, Outcome: bridge.TurnInterrupted})
	p.contains("the Arbiter", p.lastSent("arbiter"), "$0.8100 of the $1.0000", "no further Orchestrator starts")
	p.happen("arbiter", bridge.Spent{CostUSD: 0.2})
	p.contains("the levels", fmt.Sprint(told[contract.Budget](p)), "limit")
	list := told[contract.Budget](p)
	testkit.Check(t, len(list) == 2 && list[1].Level == "limit" && cents(list[1].SpentUSD) == 105, "told %+v", list)
}

// TestASuccessorMayStart: when 80 % are spent a successor may start, because it replaces another agent.
func TestASuccessorMayStart(t *testing.T) {
	p, one := oneWorks(t, func(o *runconfig.Options) { o.MaxCostUSD, o.FuseUSD = 1, 9 })
	p.happen(one, bridge.Spent{CostUSD: 0.85})
	p.verdict(one, report("handoff", "half", true))
	a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`)
	testkit.Check(t, !a.IsError, "no successor starts: %s", a.Text)
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
		testkit.Check(t, b.Scope == "agent" && b.LimitUSD == 0.5, "told %+v", b)
		levels = append(levels, b.Level)
	}
	testkit.Check(t, len(levels) == 2 && levels[0] == "warn" && levels[1] == "limit", "levels %q", levels)
	p.costs(one, 0.6, report("question", "which?", true))
	p.contains("the Arbiter", p.lastSent("arbiter"), "$0.4500 of the $0.5000", "has reached a limit",
		"told to hand off")
	p.verdict("arbiter", ruling("CONTINUE", "This one.", "to", one))
	p.contains("the agent", p.lastSent(one), "reached a limit", "--max-cost-per-agent", "kind handoff")
}

// TestALowerLimitOfOneAgent: an agent that has cost more than a limit that is set later has to hand off, too. One that
// was done hands off when it is given something. If the limit is raised again, it need not.
func TestALowerLimitOfOneAgent(t *testing.T) {
	var limit float64
	for name, set := range map[string]func(p *play){
		"configured": func(p *play) {
			usd := limit
			p.mustCommand(contract.Configure{MaxCostPerAgent: &usd})
		},
		"resumed": func(p *play) {
			p.s.Options.MaxCostPerAgent = limit
			p.resume("")
			p.back(bridge.DeliverySeen)
		},
	} {
		for _, kind := range []string{"question", "done"} {
			lowered := func(t *testing.T) (*play, string) {
				p, one := oneWorks(t, nil)
				p.costs(one, 0.6, report(kind, "which?", true))
				limit = 0.5
				set(p)
				testkit.Like(t, "the level", contract.Budget{Scope: "agent", Level: "limit"}, last[contract.Budget](p))
				return p, one
			}
			t.Run(name+" after "+kind, func(t *testing.T) {
				p, one := lowered(t)
				p.verdict("arbiter", ruling("CONTINUE", "This one.", "to", one))
				p.contains("the agent", p.lastSent(one), "reached a limit", "--max-cost-per-agent", "kind handoff")
			})
			t.Run(name+" and raised after "+kind, func(t *testing.T) {
				p, one := lowered(t)
				limit = 5
				set(p)
				p.verdict("arbiter", ruling("CONTINUE", "This one.", "to", one))
				p.lacks("the agent", p.lastSent(one), "reached a limit", "kind handoff")
			})
		}
	}
}

// TestALowerLimitOfContextsForAWhile: an agent need not hand off that was over a limit of another process of the run.
func TestALowerLimitOfContextsForAWhile(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.happen(one, bridge.Context{Tokens: 75, Window: 100, Pct: 75})
	for _, limit := range []float64{50, 85} {
		p.s.Options.ContextCritical = limit
		p.resume("")
		p.back(bridge.DeliverySeen)
		p.happen(one, bridge.Context{Tokens: 75, Window: 100, Pct: 75})
		level := map[float64]string{50: LevelCritical, 85: AgentLevelWarn}[limit]
		testkit.Same(t, fmt.Sprintf("the level at %v", limit), level, p.agent(one).WarnedLevel)
	}
}

// TestLimitOfADay: it counts what the other runs have cost, and of this run only the cost since the day began.
func TestLimitOfADay(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostPerDay = 10 })
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 5})
	one := p.spawn("one")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.turn(one, bridge.Turn{CostUSD: 2, Outcome: bridge.TurnInterrupted})
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 5.5})
	testkit.Empty(t, "told at $7.50", told[contract.Budget](p))
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 6.5})
	testkit.Same(t, "told", contract.Budget{Scope: "day", SpentUSD: 8.5, LimitUSD: 10, Level: "warn"},
		last[contract.Budget](p))
	a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"two"}`)
	testkit.Check(t, a.IsError && strings.Contains(a.Text, "--max-cost-per-day"), "another agent starts: %+v", a)
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) // on the same day
	p.do(input.DaySpent{Day: "2026-03-14", OthersUSD: 6.5, OwnUSD: 2})
	usd := p.s.Budget.Day.Spent(p.s.Spent())
	testkit.Check(t, cents(usd) == 850, "after the resume $%v", usd)
	p.do(input.DaySpent{Day: "2026-03-15", OthersUSD: 1})
	usd = p.s.Budget.Day.Spent(p.s.Spent())
	testkit.Check(t, cents(usd) == 100 && p.s.Budget.Day.Level == "", "on the next day $%v", usd)
	p.do(input.DaySpent{Day: "2026-03-15", OthersUSD: 10})
	q := told[contract.Question](p)
	testkit.Check(t, len(q) == 1 && strings.Contains(q[0].Text, "--max-cost-per-day"), "asked %+v", q)
	p.do(input.InputEnded{})
	testkit.Check(t, p.s.Ending != nil &&
		strings.Contains(p.s.Ending.Summary, "all runs of this day reached $10.0000") &&
		p.s.Ending.Exit == contract.ExitLimit, "ending %+v", p.s.Ending)
	o := p.s.Options
	o.HumanPresent = false
	p.do(input.Resumed{Options: o, Salt: "/3"}) // on a day that nothing is known about yet
	testkit.Check(t, p.s.Ending == nil, "the limit of the day before ends it: %+v", p.s.Ending)
	p.do(input.DaySpent{Day: "2026-03-16", OthersUSD: 10})
	testkit.Check(t, p.s.Ending != nil && p.s.Ending.Exit == contract.ExitLimit, "ending %+v", p.s.Ending)
}

var budgetNoon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestWindows(t *testing.T) {
	var s BudgetState
	resets := budgetNoon.Add(3 * time.Hour)
	_, news, nearly := s.Read("seven_day", 30, budgetNoon.Add(90*time.Hour), budgetNoon)
	testkit.Check(t, news && !nearly, "the first reading is not news")
	w, news, _ := s.Read("five_hour", 50, resets, budgetNoon)
	_, ok := w.Forecast()
	testkit.Check(t, news && !ok, "a forecast by one reading")
	before := s
	w, news, nearly = s.Read("five_hour", 81, resets.Add(time.Second), budgetNoon.Add(31*time.Minute))
	left, ok := w.Forecast()
	testkit.Check(t, news && nearly && ok && left == 19*time.Minute, "used up in %s, %v", left, ok)
	testkit.Same(t, "a reading changed an earlier state", 50, before.Windows[0].UsedPct)
	_, news, nearly = s.Read("five_hour", 81.4, resets, budgetNoon.Add(32*time.Minute))
	testkit.Check(t, !news && !nearly, "less than a percent is reported, or again that it is nearly used up")
	most, ok := s.Fullest(budgetNoon)
	testkit.Check(t, ok && most.Name == "five_hour", "fullest %+v", most)
	after := resets.Add(time.Minute)
	w, news, _ = s.Read("five_hour", 2, after.Add(5*time.Hour), after)
	testkit.Check(t, news && !w.Warned && w.FirstPct == 2, "after the reset %+v", w)
}

// TestLimitSpent: a limit that is reached holds messages back until it is raised.
func TestLimitSpent(t *testing.T) {
	st := readyRun(runconfig.Options{MaxCostUSD: 2.5})
	for _, usd := range []float64{1, 2} { // two turns have cost so much
		a := addOrchestrator(st)
		a.Turn, a.Live.CostUSD = []string{"m"}, usd
	}
	testkit.Check(t, st.budgetHolds() && st.NoNewSubagent() != "" && strings.Contains(st.LimitText(), ChooseRaise),
		"holds %v, subagents: %q, asks %q", st.budgetHolds(), st.NoNewSubagent(), st.LimitText())
	if raised := st.raiseLimits(); st.budgetHolds() || !strings.HasPrefix(raised, "--max-cost $") {
		t.Errorf("raised %q, holds %v", raised, st.budgetHolds())
	}
}

// forecasts are the forecasts that were told, with whom they are about.
func (p *play) forecasts() (list []contract.Forecast, about []string) {
	for _, e := range effects[input.Emit](p) {
		if f, ok := e.Event.Body.(contract.Forecast); ok {
			list, about = append(list, f), append(about, e.Event.ID)
		}
	}
	return list, about
}

// TestForecast: with another plan, and before a summons, the run says what it will cost by earlier runs. Marking a step
// makes no other plan.
func TestForecast(t *testing.T) {
	known := contract.Forecast{USD: 0.5, Tokens: 1000, Minutes: 4, From: 12}
	p := begin(t, func(o *runconfig.Options) { o.Expected = map[string]contract.Forecast{AnyMode: known} })
	answer := p.call("arbiter", "set_plan", `{"steps":[{"text":"spin"},{"text":"ask","mode":"reviewer"},{"text":"weave"}]}`)
	p.contains("the Arbiter", answer.Text, "The open steps will cost about $1.00, 8 min")
	p.call("arbiter", "set_plan",
		`{"steps":[{"text":"spin","status":"done"},{"text":"ask","mode":"reviewer"},{"text":"weave"}]}`)
	p.spawn("weave")
	first, third, all, summons := known, known, known, known
	first.Step, third.Step, summons.Step = 1, 3, 2
	all.USD, all.Tokens, all.Minutes, all.Unknown = 1, 2000, 8, 1
	got, about := p.forecasts()
	testkit.Same(t, "forecasts", []contract.Forecast{all, first, third, summons}, got)
	testkit.Same(t, "about", []string{contract.Supervisor, contract.Supervisor, contract.Supervisor, "orch-1"}, about)
}

// TestNothingIsInvented: without earlier runs the plan has no price, and that is said; nobody says it where nobody has
// looked, as in a rehearsal.
func TestNothingIsInvented(t *testing.T) {
	for said, expected := range map[int]map[string]contract.Forecast{0: nil, 1: {}} {
		p := begin(t, func(o *runconfig.Options) { o.Expected = expected })
		p.call("arbiter", "set_plan", `{"steps":[{"text":"spin"}]}`)
		p.spawn("spin")
		got, _ := p.forecasts()
		testkit.Check(t, len(got) == said && (said != 1 || got[0] == (contract.Forecast{Unknown: 1})), "told %+v", got)
		var replayed runconfig.Options
		raw, err := json.Marshal(runconfig.Options{Expected: expected})
		if err == nil {
			err = json.Unmarshal(raw, &replayed)
		}
		testkit.Check(t, err == nil && (replayed.Expected == nil) == (expected == nil),
			"a replay of the journal tells something else: %s %v", raw, err)
	}
}

// TestAStartThatIsCutOffIsCharged: a process may have worked before its start is reported as failed.
func TestAStartThatIsCutOffIsCharged(t *testing.T) {
	p, one := oneWorks(t, nil)
	before := p.s.Budget.CostUSD
	p.happen(one, bridge.Spent{CostUSD: 0.25})
	p.do(input.NotSpawned{Agent: p.agent(one).AgentRef, Category: bridge.CatStart, Message: "m"})
	testkit.Same(t, "charged", 0.25, p.s.Budget.CostUSD-before)
}
