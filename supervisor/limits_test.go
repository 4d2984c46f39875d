package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
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
		{"nine days ahead, and patience", 9 * 24 * time.Hour, 10 * 24 * time.Hour, 9 * 24 * time.Hour, 9*24*time.Hour + 16*time.Second},
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
				if r, exit := p.finished(); r.Status != contract.StatusLimit || exit != contract.ExitLimit {
					t.Errorf("%+v, exit %d", r, exit)
				}
				return
			}
			if wait < c.min-2*time.Second || wait > c.max || p.s.Lifecycle.Crashes+p.s.Task.Failures != 0 {
				t.Errorf("it waits %s, want %s to %s", wait, c.min, c.max)
			}
			if r := last[contract.Retry](p); r.DelayMS != wait.Milliseconds() || !strings.Contains(r.Reason, "usage_limit") {
				t.Errorf("retry %+v, it waits %s", r, wait)
			}
			p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
			p.contains("afterwards", p.lastSent("arbiter"), "Go on with the last message", "kind: retry")
			p.folds()
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
		if d.Before(resets) {
			t.Errorf("number %d comes back %s before the reset", i, resets.Sub(d))
		}
		if i > 0 && d.Sub(due[i-1]) < 5*time.Second {
			t.Errorf("numbers %d and %d are %s apart", i-1, i, d.Sub(due[i-1]))
		}
	}
	if p.s.Ending != nil || len(p.s.Lifecycle.Restarts) != 8 {
		t.Errorf("ending %v, history %d", p.s.Ending, len(p.s.Lifecycle.Restarts))
	}
	p.folds()
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
		if one < c.min || one > c.max || (one-two).Abs() < 5*time.Second {
			t.Errorf("after %s of sleep they wait %s and %s", c.slept, one, two)
		}
		p.at = p.at.Add(max(one, two))
		p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
		p.contains("afterwards", p.lastSent("arbiter"), "kind: retry")
		p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted})
		p.at = p.at.Add(c.slept)
		if after := timer(p.do(input.WokeFromSleep{Slept: c.slept}),
			RetryPrefix+RunOf(p.agent("arbiter").AgentRef)); after != 0 {
			t.Errorf("an agent that no longer waits gets a request to continue after %s", after)
		}
		p.folds()
	}
}

// TestAWaitIsNotOverByMeasuring: the CLI counts its context after a turn that the API refused. This answer does
// not mean that it has reached its model: the wait is shown until the next attempt.
func TestAWaitIsNotOverByMeasuring(t *testing.T) {
	p := begin(t, nil)
	p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529"})
	p.happen("arbiter", bridge.Context{Tokens: 151_023, Window: 300_000, Pct: 50.3, Source: "cli"})
	if a := p.agent("arbiter"); a.Waiting() == nil {
		t.Error("an agent that waits for the API counts as idle")
	}
	p.happen("arbiter", bridge.Context{Tokens: 151_030, Window: 300_000, Pct: 50.3, Source: "stream"})
	if a := p.agent("arbiter"); a.Waiting() != nil {
		t.Error("an agent that its model has answered counts as waiting")
	}
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
		if wait < 5*time.Second || wait > 5*time.Minute {
			t.Errorf("pause %d is %s", n, wait)
		}
		p.at = p.at.Add(wait)
		p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent("arbiter").AgentRef)})
	}
	if lasted := p.at.Sub(began); lasted < 10*time.Minute || n < 4 || n > 20 {
		t.Errorf("given up after %s and %d tries", lasted, n)
	}
	p.folds()
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
	if p.s.Ending != nil {
		t.Fatalf("given up: %s", p.s.Ending.Summary)
	}
	fails(bridge.CatServer)
	if p.s.Ending == nil {
		t.Error("the third failure was not a reason to give up")
	}
	p.folds()
}

// TestPausesStayInReason: pauses stay bounded, however generous the limits are.
func TestPausesStayInReason(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxFailures = 100 })
	p.proven("arbiter")
	for i := range 60 {
		failed := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatServer, Error: "500"}
		wait := timer(p.turn("arbiter", failed), RetryPrefix+RunOf(p.agent("arbiter").AgentRef))
		if wait < p.s.Options.RetryBase || wait > 20*time.Minute {
			t.Fatalf("pause %d is %s", i+1, wait)
		}
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
	if p.s.Ending == nil || p.s.Conversation.Exchanges > 20 {
		t.Errorf("the run goes on after %d exchanges", p.s.Conversation.Exchanges)
	}
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
		if n := p.s.LivingCount(); n > 2 {
			t.Fatalf("%d live at once", n)
		}
		if p.s.Ending == nil && i%3 == 2 {
			p.call("arbiter", "release_orchestrator", `{"id":"all","reason":"enough"}`)
		}
	}
	if p.s.Ending == nil || p.s.Spawned != 7 || refused == 0 {
		t.Errorf("%d were summoned, %d calls refused, the run ends: %v", p.s.Spawned, refused, p.s.Ending != nil)
	}

	p = begin(t, func(o *runconfig.Options) { o.MaxOrchestrators, o.MaxExchanges = 1, 10 })
	p.do(input.InputEnded{})
	calls := 0
	for ; calls < 100 && p.s.Ending == nil; calls++ {
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
	}
	if p.s.Ending == nil || calls > 20 || p.s.Spawned != 1 {
		t.Errorf("the run goes on after %d calls, %d were summoned", calls, p.s.Spawned)
	}
}
