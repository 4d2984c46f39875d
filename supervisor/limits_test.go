package supervisor

import (
	"fmt"
	"math/rand/v2"
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

func limitedTurn(resets time.Time) bridge.Turn {
	t := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatUsageLimit, Error: "You've hit your limit"}
	if !resets.IsZero() {
		t.ResetsAt = resets.Unix()
	}
	return t
}

// TestUsageLimits: there is one wait, no failure, and a bound.
func TestUsageLimits(t *testing.T) {
	for _, c := range []struct {
		name     string
		resets   time.Duration // from now; 0: not stated
		maxWait  time.Duration
		min, max time.Duration // of the wait; 0: the run ends
	}{
		{"in three hours", 3 * time.Hour, 0, 3 * time.Hour, 3*time.Hour + 16*time.Second},
		{"in the past", -time.Hour, 0, 5 * time.Second, 21 * time.Second},
		{"not told", 0, 0, 5 * time.Minute, 5*time.Minute + 16*time.Second},
		{"nine days ahead", 9 * 24 * time.Hour, 0, 0, 0},
		{"nine days ahead, and patience", 9 * 24 * time.Hour, 10 * 24 * time.Hour, 9 * 24 * time.Hour,
			9*24*time.Hour + 16*time.Second},
		{"no patience", time.Minute, -1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.MaxWait = c.maxWait })
			resets := time.Time{}
			if c.resets != 0 {
				resets = p.at.Add(c.resets)
			}
			p.proven("arbiter")
			out := p.turn("arbiter", limitedTurn(resets))
			wait := timer(out, RetryPrefix+RunOf(p.agent("arbiter").AgentRef))
			if c.max == 0 {
				p.endsAs(contract.StatusLimit, contract.ExitLimit)
				return
			}
			testkit.Check(t, wait >= c.min-2*time.Second && wait <= c.max &&
				p.s.Lifecycle.Crashes+p.s.Task.Failures == 0, "it waits %s, want %s to %s", wait, c.min, c.max)
			if r := last[contract.Retry](p); r.DelayMS != wait.Milliseconds() || !strings.Contains(r.Reason, "usage_limit") {
				t.Errorf("retry %+v, it waits %s", r, wait)
			}
			p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
			p.contains("afterwards", p.lastSent("arbiter"), "Go on with the last message", "kind: retry")
		})
	}
}

// TestAllLimitedAtOnce: 8 agents reach the same limit and are restarted one by one, at least 5 s apart.
func TestAllLimitedAtOnce(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxOrchestrators = 7 })
	var ids []string
	for i := range 7 {
		ids = append(ids, p.spawn(fmt.Sprintf("part %d", i)))
	}
	resets := p.at.Add(2 * time.Hour)
	var due []time.Time
	for _, id := range append(ids, "arbiter") {
		wait := timer(p.turn(id, limitedTurn(resets)), RetryPrefix+RunOf(p.agent(id).AgentRef))
		due = append(due, p.at.Add(wait))
	}
	slices.SortFunc(due, time.Time.Compare)
	for i, d := range due {
		testkit.Check(t, !d.Before(resets), "number %d comes back %s before the reset", i, resets.Sub(d))
		if i > 0 && d.Sub(due[i-1]) < 5*time.Second {
			t.Errorf("numbers %d and %d are %s apart", i-1, i, d.Sub(due[i-1]))
		}
	}
	testkit.Check(t, p.s.Ending == nil && len(p.s.Lifecycle.Restarts) == 8, "ending %v, history %d", p.s.Ending,
		len(p.s.Lifecycle.Restarts))
}

// TestALimitResetDuringASleep: the timers stood still, but the reset came at its time.
func TestALimitResetDuringASleep(t *testing.T) {
	for _, c := range []struct {
		slept    time.Duration
		min, max time.Duration // of the remaining wait of the Arbiter
	}{
		{8 * time.Hour, 5 * time.Second, time.Minute},
		{time.Hour, 2*time.Hour - time.Minute, 2*time.Hour + time.Minute},
	} {
		p := begin(t, nil)
		id := p.spawn("work")
		p.proven("arbiter")
		resets := p.at.Add(3 * time.Hour)
		p.turn(id, limitedTurn(resets))
		p.turn("arbiter", limitedTurn(resets))
		p.at = p.at.Add(c.slept)
		out := p.do(input.WokeFromSleep{Slept: c.slept})
		one := timer(out, RetryPrefix+RunOf(p.agent("arbiter").AgentRef))
		two := timer(out, RetryPrefix+RunOf(p.agent(id).AgentRef))
		testkit.Check(t, one >= c.min && one <= c.max && (one-two).Abs() >= 5*time.Second,
			"after %s of sleep they wait %s and %s", c.slept, one, two)
		p.at = p.at.Add(max(one, two))
		p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
		p.contains("afterwards", p.lastSent("arbiter"), "kind: retry")
		p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
		p.at = p.at.Add(c.slept)
		testkit.Same(t, "an agent that no longer waits gets a request to continue after", 0,
			timer(p.do(input.WokeFromSleep{Slept: c.slept}),
				RetryPrefix+RunOf(p.agent("arbiter").AgentRef)))
	}
}

// TestAWaitIsNotOverByMeasuring: the CLI counts its context after a turn that the API refused. This answer does
// not mean that it has reached its model: the wait is shown until the next attempt.
func TestAWaitIsNotOverByMeasuring(t *testing.T) {
	p := begin(t, nil)
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529"})
	p.happen("arbiter", bridge.Context{Tokens: 151_023, Window: 300_000, Pct: 50.3, Source: "cli"})
	a := p.agent("arbiter")
	testkit.Check(t, a.Waiting() != nil, "an agent that waits for the API counts as idle")
	p.happen("arbiter", bridge.Context{Tokens: 151_030, Window: 300_000, Pct: 50.3, Source: "stream"})
	a = p.agent("arbiter")
	testkit.Check(t, a.Waiting() == nil, "an agent that its model has answered counts as waiting")
}

// TestOverloads: overloads are waited for at least ten minutes, with growing pauses, before they count as
// failures.
func TestOverloads(t *testing.T) {
	p := begin(t, untasked) // with a task the rules would continue
	p.say("Build it")
	p.proven("arbiter")
	began, n := p.at, 0
	for p.s.Ending == nil && n < 100 {
		failed := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529"}
		wait := timer(p.turn("arbiter", failed), RetryPrefix+RunOf(p.agent("arbiter").AgentRef))
		n++
		if p.s.Ending != nil {
			break
		}
		testkit.Check(t, wait >= 5*time.Second && wait <= 5*time.Minute, "pause %d is %s", n, wait)
		p.at = p.at.Add(wait)
		p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
	}
	lasted := p.at.Sub(began)
	testkit.Check(t, lasted >= 10*time.Minute && n >= 4 && n <= 20, "given up after %s and %d tries", lasted, n)
}

// TestWaitsAreNoFailures: waits for an overloaded API or a usage limit do not reduce an agent's retries for
// other errors.
func TestWaitsAreNoFailures(t *testing.T) {
	p := begin(t, untasked)
	p.say("Build it")
	fails := func(c bridge.Category) {
		t.Helper()
		p.proven("arbiter")
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: c, Error: "x"})
		if p.s.Ending == nil {
			p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
		}
	}
	fails(bridge.CatOverloaded)
	fails(bridge.CatUsageLimit)
	fails(bridge.CatServer)
	fails(bridge.CatServer)
	p.goesOn("given up")
	fails(bridge.CatServer)
	testkit.Check(t, p.s.Ending != nil, "the third failure was not a reason to give up")
}

// TestPausesStayInReason: pauses stay bounded, however generous the limits are.
func TestPausesStayInReason(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxFailures = 100 })
	p.proven("arbiter")
	for i := range 60 {
		failed := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatServer, Error: "500"}
		wait := timer(p.turn("arbiter", failed), RetryPrefix+RunOf(p.agent("arbiter").AgentRef))
		testkit.Need(t, wait >= p.s.Options.RetryBase && wait <= 20*time.Minute, "pause %d is %s", i+1, wait)
		p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
		p.proven("arbiter")
	}
}

// TestRefusedSpawnsAreCounted: an Arbiter that continues to select modes although no more agents may be
// spawned costs a turn each time. So the run reaches its limit of exchanges.
func TestRefusedSpawnsAreCounted(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxOrchestrators, o.MaxExchanges = 1, 10 })
	p.spawn("work")
	p.do(input.InputEnded{})
	for range 40 {
		if p.s.Ending != nil {
			break
		}
		p.verdict("arbiter", ruling("SELECT_MODE", "Test it.", "mode", "tester"))
	}
	testkit.Check(t, p.s.Ending != nil && p.s.Conversation.Exchanges <= 20, "the run goes on after %d exchanges",
		p.s.Conversation.Exchanges)
}

// TestSpawnsInALoop: an Arbiter that spawns and releases in one turn, again and again, has no more living
// Orchestrators at once than allowed, and reaches the limit of one task. The refused calls count as exchanges.
func TestSpawnsInALoop(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxOrchestrators, o.MaxIterations = 2, 7 })
	p.do(input.InputEnded{})
	refused := 0
	for i := 0; i < 100 && p.s.Ending == nil; i++ {
		if p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":"work %d"}`, i)).IsError {
			refused++
		}
		n := p.s.LivingCount()
		testkit.Need(t, n <= 2, "%d live at once", n)
		if p.s.Ending == nil && i%3 == 2 {
			p.call("arbiter", "release_orchestrator", `{"id":"all","reason":"enough"}`)
		}
	}
	testkit.Check(t, p.s.Ending != nil && p.s.Spawned == 7 && refused != 0,
		"%d were summoned, %d calls refused, the run ends: %v", p.s.Spawned, refused, p.s.Ending != nil)

	p = begin(t, func(o *runconfig.Options) { o.MaxOrchestrators, o.MaxExchanges = 1, 10 })
	p.do(input.InputEnded{})
	calls := 0
	for ; calls < 100 && p.s.Ending == nil; calls++ {
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
	}
	testkit.Check(t, p.s.Ending != nil && calls <= 20 && p.s.Spawned == 1,
		"the run goes on after %d calls, %d were summoned", calls, p.s.Spawned)
}

// fuses are the events of an agent's fuse.
func (p *play) fuses(id string) (list []string) {
	for _, e := range effects[input.Emit](p) {
		if b, ok := e.Event.Body.(contract.Fuse); ok && e.Event.ID == id {
			list = append(list, b.Status)
		}
	}
	return list
}

// works is a run in which an Orchestrator with a fuse of one dollar works.
func fused(t *testing.T, change func(*runconfig.Options)) (*play, string) {
	t.Helper()
	p := begin(t, func(o *runconfig.Options) {
		o.FuseUSD, o.HumanPresent = 1, true
		if change != nil {
			change(o)
		}
	})
	one := p.spawn("one")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	return p, one
}

// TestFuse: at 80 % an Orchestrator must hand off, in the middle of its turn. At 100 % it is parked, and the Arbiter
// is asked. A human can have it go on, with another fuse.
func TestFuse(t *testing.T) {
	p, one := fused(t, nil)
	if a := p.agent(one); a.Fuse.USD != 1 || p.spawns(one)[0].Config.MaxBudgetUSD != 1 {
		t.Fatalf("fuse %+v, the CLI's limit is $%v", a.Fuse, p.spawns(one)[0].Config.MaxBudgetUSD)
	}
	p.happen(one, bridge.Spent{CostUSD: 0.79})
	p.contains("status", p.call("arbiter", "status", "{}").Text, "fuse $0.7900 of $1.0000 spent")
	p.happen(one, bridge.Spent{CostUSD: 0.81})
	p.contains("in its turn", p.lastSent(one), "its fuse of $1.0000", "kind handoff")
	p.happen(one, bridge.Spent{CostUSD: 0.99})
	out := p.happen(one, bridge.Spent{CostUSD: 1.04})
	a, kills := p.agent(one), ofType[input.Kill](out)
	testkit.Need(t, len(kills) == 1 && kills[0].Agent.ID == one && a.Status == AgentParked, "%s, %v", a.Status, out)
	testkit.Same(t, "told", []string{"set", "warn", "blown"}, p.fuses(one))
	p.happen(one, bridge.Turn{Outcome: bridge.TurnLost, CostUSD: 1.04})
	p.happen(one, bridge.Done{Exit: bridge.Exit{Expected: true}})
	testkit.Like(t, "done", contract.Done{Reason: string(bridge.CatBudget)}, last[contract.Done](p))
	p.mustCommand(contract.Choose{Option: "retry"})
	if a := p.agent(one); a.Status == AgentParked || a.Fuse.Level != "" || a.FuseSpent() != 0 || a.ReachedLimit != "" {
		t.Errorf("%s, %+v, %q", a.Status, a.Fuse, a.ReachedLimit)
	}
	if c := p.spawns(one); cents(c[len(c)-1].Config.MaxBudgetUSD) != 204 {
		t.Errorf("the CLI's limit is $%v", c[len(c)-1].Config.MaxBudgetUSD)
	}
}

// TestFuseIsRaisedAtOnce: what the turn has cost counts, even if another process follows before the first one has
// ended.
func TestFuseIsRaisedAtOnce(t *testing.T) {
	p, one := fused(t, nil)
	p.happen(one, bridge.Spent{CostUSD: 1.04})
	first := p.agent(one).AgentRef
	p.mustCommand(contract.Choose{Option: "retry"})
	p.spawned(one)
	lost := bridge.Turn{Outcome: bridge.TurnLost, CostUSD: 1.04}
	p.do(byBridge(first, lost))
	testkit.Same(t, "cents", 104, cents(p.s.Spent()))

	p, one = fused(t, func(o *runconfig.Options) { o.Cores = 1 })
	p.mustCommand(contract.ForceAgent{Mode: "developer"}) // its start takes the only place
	p.happen(one, bridge.Spent{CostUSD: 1.04})
	p.mustCommand(contract.Choose{Option: "retry"})
	testkit.Check(t, p.agent(one).Status == AgentDown && p.agent(one).EndReason == "", "%+v", p.agent(one))
}

// TestFuseAtTheEndOfATurn: who hands off with the call that spends the fuse has ended its work; who asks is parked
// before it can cost more.
func TestFuseAtTheEndOfATurn(t *testing.T) {
	p, one := fused(t, nil)
	p.costs(one, 1.2, report("question", "which?", true))
	testkit.Same(t, "who asks", AgentParked, p.agent(one).Status)
	p.contains("the Arbiter", p.sentTo("arbiter"), "its fuse is spent ($1.2000 of $1.0000)", "fuse_usd")
	p, one = fused(t, nil)
	p.costs(one, 1.2, report("done", "all", true))
	a := p.agent(one)
	testkit.Check(t, a.Status != AgentParked && a.Standing == AgentFinished, "who is done is %s, %s", a.Status, a.Standing)
}

// TestDefaultFuse: a quarter of what is left of the run's limit; none without one. A model cannot exceed what the human
// has set.
func TestDefaultFuse(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD = 8 })
	p.happen("arbiter", bridge.Spent{CostUSD: 2})
	a := p.agent(p.spawn("one"))
	testkit.Check(t, a.Fuse.USD == 1.5, "%+v", a.Fuse)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"two","fuse_usd":0.25}`)
	a = p.agent("orch-2")
	testkit.Check(t, a.Fuse.USD == 0.25, "%+v", a.Fuse)
	p = begin(t, nil)
	if a := p.agent(p.spawn("one")); a.Fuse != (AgentFuse{Nth: 1}) || p.spawns("orch-1")[0].Config.MaxBudgetUSD != 0 {
		t.Errorf("without a limit: %+v", a.Fuse)
	}
	p, _ = fused(t, nil)
	p.happen("orch-1", bridge.Spent{CostUSD: 0.1})
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"two","fuse_usd":5}`); !a.IsError ||
		!strings.Contains(a.Text, "--fuse") {
		t.Errorf("%+v", a)
	}
}

// TestAChainOfSuccessorsKeepsItsFuse: a successor continues on the rest. When nothing is left, only the Arbiter's word
// gives another, and after four of them only a human's.
func TestAChainOfSuccessorsKeepsItsFuse(t *testing.T) {
	s := &State{}
	s.Options.MaxCostUSD = 100
	old := Agent{}
	old.ID, old.Fuse, old.CostUSD = "orch-1", AgentFuse{USD: 2, Nth: 1}, 1.5
	next := func(usd float64, by string) (AgentFuse, string) {
		return s.fuseFor(SpawningRequest{FuseUSD: usd, By: by}, &old)
	}
	f, why := next(0, contract.Arbiter)
	testkit.Check(t, f.USD == 0.5 && f.Nth == 1 && why == "", "the rest: %+v, %s", f, why)
	f, why = next(3, contract.Arbiter)
	testkit.Check(t, f.USD == 3 && f.Nth == 2 && why == "", "another: %+v, %s", f, why)
	old.CostUSD = 2.1
	for _, by := range []string{contract.Arbiter, contract.Supervisor} {
		_, why := next(0, by)
		testkit.Check(t, strings.Contains(why, "fuse_usd"), "nothing is left: %q", why)
	}
	old.Fuse.Nth = maxFuses
	_, why = next(3, contract.Arbiter)
	testkit.Check(t, strings.Contains(why, "ADDRESS_HUMAN"), "the fifth: %q", why)
	f, why = next(0, contract.Human)
	testkit.Check(t, f.USD == 25 && f.Nth == 1 && why == "", "by a human: %+v, %s", f, why)
}

// TestAFuseIsPassedByOneCallAtMost: whatever calls cost, and however the work is handed on, a chain of successors on
// one fuse spends at most what it may, and the call that passes it.
func TestAFuseIsPassedByOneCallAtMost(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 11))
		usd := 0.2 + 2*r.Float64()
		p, id := fused(t, func(o *runconfig.Options) { o.FuseUSD, o.MaxIterations, o.MaxFailures = usd, 99, 99 })
		all, dearest, blown := 0.0, 0.0, false
		for range 400 {
			live := 0.0
			for range 1 + r.IntN(6) { // calls of one turn
				if p.agent(id).Status != AgentBusy {
					break
				}
				call := r.Float64() * usd / float64(1+r.IntN(20))
				live, all, dearest = live+call, all+call, max(dearest, call)
				p.happen(id, bridge.Spent{CostUSD: live})
			}
			a := p.agent(id)
			if blown = a.Status == AgentParked; blown {
				break
			}
			kind := "progress"
			if a.Fuse.Level != "" {
				kind = "handoff"
			}
			p.turn(id, verdictTurn(report(kind, "so far", kind == "handoff"),
				bridge.Turn{CostUSD: live, Files: []string{"a.go"}}))
			if kind == "handoff" {
				id = p.spawn("go on")
				p.verdict("arbiter", ruling("CONTINUE", "Wait."))
			}
		}
		if over := all - usd; !blown || over < -1e-9 || over > dearest+1e-9 {
			t.Fatalf("seed %d: $%.4f of $%.4f were spent, the dearest call cost $%.4f, blown %v", seed, all, usd, dearest, blown)
		}
	}
}

// reads lets an agent's process report how much of the five-hour window is used.
func (p *play) reads(id string, pct float64, resets time.Time) {
	p.t.Helper()
	p.happen(id, bridge.Quota{Window: "five_hour", UsedPct: pct, ResetsAt: resets.Unix()})
}

// TestQuotaIsReported: quota is reported when it changes, with a forecast, and with one warning.
func TestQuotaIsReported(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	resets := p.at.Add(3 * time.Hour)
	p.reads("arbiter", 50, resets)
	p.at = p.at.Add(31 * time.Minute)
	p.reads(one, 81, resets)
	p.reads("arbiter", 81, resets) // another process of the same account
	list := told[contract.Quota](p)
	testkit.Check(t, len(list) == 2, "told %+v", list)
	q := last[contract.Quota](p)
	testkit.Check(t, q.Window == "five_hour" && q.UsedPct == 81 && q.ResetsAt == resets.UTC().Format(time.RFC3339) &&
		time.Duration(q.LeftSeconds)*time.Second/time.Minute == 19, "told %+v", q)
	testkit.Check(t, p.notices("used to 81 %") == 1 && p.notices("used up in 19m") == 1, "notices %+v",
		told[contract.Notice](p))
	p.verdict(one, report("progress", "done so far", true))
	testkit.Check(t, len(p.sends("arbiter")) != 0 && !p.s.Budget.Holds(), "held without a reserve")
}

// TestQuotaReserve: when the reserve is reached, running turns end, nothing is sent and no agent starts; the
// run continues at the reset, also in another process.
func TestQuotaReserve(t *testing.T) {
	for name, between := range map[string]func(p *play){
		"":                   func(*play) {},
		"killed and resumed": func(p *play) { p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) },
		"slept":              func(p *play) { p.do(input.WokeFromSleep{Slept: time.Minute}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.QuotaReserve = 20 })
			one := p.spawn("work")
			resets := p.at.Add(time.Hour).Truncate(time.Second)
			p.reads(one, 79, resets)
			testkit.Need(t, !p.s.Budget.Holds(), "held before the reserve is reached")
			p.reads(one, 81, resets)
			testkit.Check(t, p.notices("are left for you") == 1 && len(effects[input.Kill](p)) == 0, "notices %+v",
				told[contract.Notice](p))
			answer := p.call("arbiter", "spawn_orchestrator", `{"prompt":"more"}`)
			testkit.Check(t, answer.IsError && strings.Contains(answer.Text, "five-hour window"),
				"another agent starts: %+v", answer)
			p.verdict("arbiter", ruling("CONTINUE", "Go on.", "to", one))
			p.verdict(one, report("question", "what next?", true))
			before := len(p.sends("arbiter")) + len(p.sends(one))
			between(p)
			if name == "killed and resumed" {
				p.comes("arbiter", bridge.SpawnResult{Window: 1000, Resumed: true})
				p.comes(one, bridge.SpawnResult{Window: 1000, Resumed: true})
			}
			p.say("hurry")
			n := len(p.sends("arbiter")) + len(p.sends(one))
			testkit.Check(t, n == before, "%d messages were sent past the reserve", n-before)
			after := timer(p.out, ResetTimer)
			testkit.Check(t, after >= 50*time.Minute && after <= time.Hour+ResetGrace, "wakes after %s", after)
			p.at = resets.Add(ResetGrace)
			p.do(input.Timer{Key: ResetTimer})
			if n := len(p.sends("arbiter")) + len(p.sends(one)); n <= before || p.notices("the run continues") != 1 {
				t.Errorf("%d messages were sent after the reset", n-before)
			}
		})
	}
}

// TestQuotaReserveIsLifted: the human can lift the reserve until the reset.
func TestQuotaReserveIsLifted(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.QuotaReserve = 20 })
	resets := p.at.Add(time.Hour)
	p.reads("arbiter", 81, resets)
	p.verdict("arbiter", ruling("ASK_HUMAN", "Which?"))
	p.say("This one.")
	before := len(p.sends("arbiter"))
	p.mustCommand(contract.Continue{})
	testkit.Same(t, "the human's word is still held", before+1, len(p.sends("arbiter")))
	p.reads("arbiter", 85, resets)
	testkit.Check(t, !p.s.Budget.Holds(), "held again in the same window")
	p.spawn("work")
	p.reads("arbiter", 90, resets.Add(5*time.Hour))
	testkit.Check(t, p.s.Budget.Holds(), "not held in the next window")
}

// TestQuotaResetsTooLate: a run ends at its limit, also when resumed, if the quota resets later than the run may wait.
func TestQuotaResetsTooLate(t *testing.T) {
	p, one := oneWorks(t, func(o *runconfig.Options) { o.QuotaReserve = 20 })
	p.reads(one, 90, p.at.Add(100*time.Hour))
	p.goesOn("it ended while a turn ran")
	p.verdict(one, report("progress", "so far", true))
	p.endsAs(contract.StatusLimit, contract.ExitLimit, "--quota-reserve")
	spawns := len(effects[input.Spawn](p))
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2"})
	testkit.Check(t, p.s.Ending != nil && len(effects[input.Spawn](p)) == spawns,
		"it goes on, though the reserve is still reached")
	o := p.s.Options
	o.QuotaReserve = 5
	p.do(input.Resumed{Options: o, Salt: "/3"})
	p.goesOn("it ended with a lower reserve, which is not reached")
}

// TestRulesWithASpentFuse: rules that decide in place of a lost Arbiter set no other fuse for work whose fuse is
// spent. The human is asked, or the run ends.
func TestRulesWithASpentFuse(t *testing.T) {
	for _, human := range []bool{true, false} {
		p, one := fused(t, nil)
		p.s.HumanPresent, p.s.Rulings.FallbackReason = human, "the Arbiter is lost"
		p.costs(one, 1.2, report("handoff", "half", true))
		testkit.Check(t, p.s.Rulings.Decisions < 5, "%d decisions", p.s.Rulings.Decisions)
		said := "The fuse of orch-1 is spent ($1.2000 of $1.0000)"
		if human {
			p.contains("asked", last[contract.Question](p).Text, said)
			continue
		}
		r, exit := p.finished()
		testkit.Check(t, exit == contract.ExitFailed && strings.Contains(r.Summary, said), "exit %d: %s", exit, r.Summary)
	}
}

// TestLateReadings: what a call costs that ends while the run is being ended counts, and so does how full the context
// is then, in which the session goes on after a resume.
func TestLateReadings(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.happen(one, bridge.Context{Tokens: 40, Window: 100, Pct: 40})
	p.happen(one, bridge.Spent{CostUSD: 0.25})
	p.command(contract.Cancel{})
	p.happen(one, bridge.Context{Tokens: 85, Window: 100, Pct: 85})
	p.happen(one, bridge.Spent{CostUSD: 0.75})
	p.ended(one)
	r, _ := p.finished()
	testkit.Same(t, "the cost", 0.75, r.CostUSD)
	testkit.Check(t, p.agent(one).Context.Pct == 85 && p.agent(one).WarnedLevel != "", "%+v", p.agent(one).AgentContext)
}

// TestAHeldRunEndsWithoutAHuman: only a word of a human continues it, so it ends when none is present: once the turns
// that run are over, or at once when it is resumed.
func TestAHeldRunEndsWithoutAHuman(t *testing.T) {
	held := func() (p *play, works string) {
		p, asks, works := twoWork(t, nil)
		for p.verdict(asks, report("question", "may I?", true)); !p.s.Conversation.Held; {
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", asks))
			p.verdict(asks, report("question", "may I?", true))
		}
		return p, works
	}
	p, works := held()
	p.do(input.InputEnded{})
	p.goesOn("a turn runs")
	p.verdict(works, report("done", "all of it", true))
	p.endsAs(contract.StatusNeedsInput, contract.ExitNeedsInput, "Write a message, and they continue")

	p, _ = held()
	p.stopped()
	p.s.Options.HumanPresent = false
	p.resume("")
	p.endsAs(contract.StatusNeedsInput, contract.ExitNeedsInput, "Write a message, and they continue")
}
