package supervisor

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

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
	killed := slices.ContainsFunc(out, func(e input.Effect) bool {
		k, ok := e.(input.Kill)
		return ok && k.Agent.ID == one
	})
	if a := p.agent(one); !killed || a.Status != AgentParked {
		t.Fatalf("%s, %v", a.Status, out)
	}
	if got := p.fuses(one); !slices.Equal(got, []string{"set", "warn", "blown"}) {
		t.Errorf("told %v", got)
	}
	p.happen(one, bridge.Turn{Outcome: bridge.TurnLost, CostUSD: 1.04})
	p.mustCommand(contract.Choose{Option: "retry"})
	if a := p.agent(one); a.Status == AgentParked || a.Fuse.Level != "" || a.FuseSpent() != 0 || a.ReachedLimit != "" {
		t.Errorf("%s, %+v, %q", a.Status, a.Fuse, a.ReachedLimit)
	}
	if c := p.spawns(one); cents(c[len(c)-1].Config.MaxBudgetUSD) != 204 {
		t.Errorf("the CLI's limit is $%v", c[len(c)-1].Config.MaxBudgetUSD)
	}
	p.folds()
}

// TestFuseAtTheEndOfATurn: who hands off with the call that spends the fuse has ended its work; who asks is parked before
// it can cost more.
func TestFuseAtTheEndOfATurn(t *testing.T) {
	p, one := fused(t, nil)
	p.costs(one, 1.2, report("question", "which?", true))
	if a := p.agent(one); a.Status != AgentParked {
		t.Errorf("who asks is %s", a.Status)
	}
	p.contains("the Arbiter", p.lastSent("arbiter")+p.status(), "its fuse is spent ($1.2000 of $1.0000)", "fuse_usd")
	p, one = fused(t, nil)
	p.costs(one, 1.2, report("done", "all", true))
	if a := p.agent(one); a.Status == AgentParked || a.Standing != AgentFinished {
		t.Errorf("who is done is %s, %s", a.Status, a.Standing)
	}
}

// status is everything that was said to the Arbiter so far.
func (p *play) status() string {
	var b strings.Builder
	for _, m := range p.sends("arbiter") {
		fmt.Fprintln(&b, m.Content)
	}
	return b.String()
}

// TestDefaultFuse: a quarter of what is left of the run's limit; none without one. A model cannot exceed what the human
// has set.
func TestDefaultFuse(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxCostUSD = 8 })
	p.happen("arbiter", bridge.Spent{CostUSD: 2})
	if a := p.agent(p.spawn("one")); a.Fuse.USD != 1.5 {
		t.Errorf("%+v", a.Fuse)
	}
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"two","fuse_usd":0.25}`)
	if a := p.agent("orch-2"); a.Fuse.USD != 0.25 {
		t.Errorf("%+v", a.Fuse)
	}
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
	if f, why := next(0, contract.Arbiter); f.USD != 0.5 || f.Nth != 1 || why != "" {
		t.Errorf("the rest: %+v, %s", f, why)
	}
	if f, why := next(3, contract.Arbiter); f.USD != 3 || f.Nth != 2 || why != "" {
		t.Errorf("another: %+v, %s", f, why)
	}
	old.CostUSD = 2.1
	for _, by := range []string{contract.Arbiter, contract.Supervisor} {
		if _, why := next(0, by); !strings.Contains(why, "fuse_usd") {
			t.Errorf("nothing is left: %q", why)
		}
	}
	old.Fuse.Nth = maxFuses
	if _, why := next(3, contract.Arbiter); !strings.Contains(why, "ADDRESS_HUMAN") {
		t.Errorf("the fifth: %q", why)
	}
	if f, why := next(0, contract.Human); f.USD != 25 || f.Nth != 1 || why != "" {
		t.Errorf("by a human: %+v, %s", f, why)
	}
}

// TestAFuseIsPassedByOneCallAtMost: whatever calls cost, and however the work is handed on, a chain of successors on one
// fuse spends at most what it may, and the call that passes it.
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
			raw, _ := json.Marshal(report(kind, "so far", kind == "handoff"))
			p.turn(id, bridge.Turn{CostUSD: live, Verdict: raw, Files: []string{"a.go"}})
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
