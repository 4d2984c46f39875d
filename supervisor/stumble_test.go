package supervisor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// stumblesOnce spawns a developer, by the Arbiter or by the rules, whose tool fails.
func stumblesOnce(t *testing.T, name string) (p *play, id string) {
	t.Helper()
	p, id = worksOnce(t, name)
	p.stumble(id)
	return p, id
}

// worksOnce spawns a developer, by the Arbiter or by another decider.
func worksOnce(t *testing.T, name string) (p *play, id string) {
	t.Helper()
	p = begin(t, func(o *runconfig.Options) { o.Decider = name })
	if name == runconfig.DeciderSession {
		p.verdict("arbiter", ruling("SELECT_MODE", "Build it.", "mode", "developer"))
	} else {
		q := effects[input.Decide](p)[0].Question
		q.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "developer", Reason: "r", Source: decider.ByModel}
		p.do(input.Decided(q))
	}
	return p, p.working()
}

// TestAFailedExecutionIsAPointOfDecision: every decider decides about it with an input that reports the
// failure.
func TestAFailedExecutionIsAPointOfDecision(t *testing.T) {
	told := func(t *testing.T, f input.Decided, about string) {
		t.Helper()
		var in decider.SelectAgentInput
		if err := json.Unmarshal(f.Input, &in); err != nil {
			t.Fatalf("no input: %v", err)
		}
		e := in.LastError
		if f.Point != decider.PointSelect || f.About != about || e == nil || e.Tool != "Bash" || e.Category != decider.ToolFailure ||
			e.Attempted != "npm install jsonwebtoken" || len(e.RecoveryOptions) == 0 {
			t.Errorf("decided at %s about %s on %+v", f.Point, f.About, e)
		}
	}
	t.Run("session", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderSession)
		p.contains("what the Arbiter reads", p.lastSent("arbiter"), "It does not install.", "npm install jsonwebtoken", "retry:")
		p.verdict("arbiter", ruling("RETRY", "Mend it first.", "to", id))
		notes := effects[input.Note](p)
		told(t, input.Decided(notes[len(notes)-1].Decision), id)
		if d := last[contract.Decision](p); d.Point != "select" || d.To != id {
			t.Errorf("decision %+v", d)
		}
		p.folds()
	})
	t.Run("another decider", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderStateless)
		if p.agent("arbiter").Status != AgentReady {
			t.Error("the Arbiter was asked")
		}
		told(t, p.decides(decider.Rules{}), id)
		if d := last[contract.Decision](p); d.Decision != "RETRY" || d.To != id || d.Source != "rules" {
			t.Errorf("decision %+v", d)
		}
		p.contains("the retry", p.lastSent(id), "kind: answer", "exit code 1") // not about a process that ended
		p.verdict(id, report("done", "it installs", true))
		p.decides(decider.Rules{})
		p.folds()
	})
	t.Run("another agent", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderStateless)
		q := effects[input.Decide](p)[1].Question
		q.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "reviewer", Reason: "r", Source: decider.ByModel}
		p.do(input.Decided(q))
		if a := p.agent(id); a.Alive() {
			t.Errorf("who failed is %s and %s", a.Status, a.Standing)
		}
		if mode := p.agent(p.working()).Mode; mode != "reviewer" {
			t.Errorf("a %s works", mode)
		}
		p.folds()
	})
	t.Run("the Arbiter is down", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderSession)
		p.crash("arbiter", 5)
		if d := last[contract.Decision](p); d.Decision != "RETRY" || d.To != id || d.Source != "fallback" || !strings.Contains(strings.Join(d.Warnings, " "), "parked") {
			t.Errorf("decision %+v", d)
		}
		p.folds()
	})
	t.Run("the Arbiter rules nothing", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderSession)
		p.rambles("arbiter", "hm")
		if d := last[contract.Decision](p); d.Decision != "RETRY" || d.To != id || d.Source != "fallback" {
			t.Errorf("decision %+v", d)
		}
		p.folds()
	})
}

// TestAQuestionIsNoPointOfDecision: with every decider, the Arbiter answers an agent's question.
func TestAQuestionIsNoPointOfDecision(t *testing.T) {
	p, id := stumblesOnce(t, runconfig.DeciderStateless)
	p.decides(decider.Rules{})
	asked := len(effects[input.Decide](p))
	p.verdict(id, report("question", "Which colour?", true))
	if diff := cmp.Diff(asked, len(effects[input.Decide](p))); diff != "" || p.agent("arbiter").Status != AgentBusy {
		t.Errorf("the decider is asked (-before +after):\n%s", diff)
	}
	p.folds()
}

// TestAHumanRulesOnAFailure: if a human rules before the decider has, the decider is not asked again.
func TestAHumanRulesOnAFailure(t *testing.T) {
	p, id := worksOnce(t, runconfig.DeciderStateless)
	p.breaksOff(id)
	asked := effects[input.Decide](p)
	if ok, why := p.command(contract.Choose{Option: "retry"}); !ok {
		t.Fatal(why)
	}
	late := asked[len(asked)-1].Question
	late.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "reviewer", Reason: "r", Source: decider.ByModel}
	p.do(input.Decided(late))
	if n := len(effects[input.Decide](p)); n != len(asked) || p.s.Rulings.DeciderRequest != nil || p.working() != id ||
		len(p.s.Agents) != 2 {
		t.Errorf("%d questions of %d, %s works", n, len(asked), p.working())
	}
	p.verdict(id, report("done", "it installs", true))
	p.decides(decider.Rules{})
	p.folds()
}

// TestAPlanIsHandedOn: a planner hands off to an agent that builds, not to another planner.
func TestAPlanIsHandedOn(t *testing.T) {
	for _, name := range []string{runconfig.DeciderRules, runconfig.DeciderStateless} {
		p := begin(t, func(o *runconfig.Options) { o.Decider = name })
		p.decides(decider.Rules{})
		planner := p.working()
		p.verdict(planner, report("handoff", "a plan", true))
		if p.s.Task.Plan == nil {
			t.Fatal("there is no plan")
		}
		p.decides(decider.Rules{})
		if mode := p.agent(p.working()).Mode; mode != "developer" {
			t.Errorf("a %s takes the plan up", mode)
		}
		p.folds()
	}
}

// TestTheRulesTakeOverAtAFailure: the rules rule on a failure that the Arbiter had already read about.
func TestTheRulesTakeOverAtAFailure(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
	babbles := func() {
		p.rambles("arbiter", "hm")
	}
	babbles()
	p.verdict(p.working(), report("handoff", "a plan", true))
	babbles()
	id := p.working()
	p.stumble(id)
	babbles()
	if d := last[contract.Decision](p); p.s.Rulings.FallbackReason == "" || d.Decision != "RETRY" || d.To != id || d.Point != "select" {
		t.Errorf("fallback mode %q, decision %+v", p.s.Rulings.FallbackReason, d)
	}
	for n := 0; p.s.Ending == nil && n < 8; n++ {
		p.verdict(p.working(), report("done", "it is done", true))
	}
	r, _ := p.finished()
	p.contains("the result", r.Summary, "The rules led here", "no valid verdict 4 times")
	p.folds()
}

// TestSeveralAreJudgedTogether: the results of several agents are one question, asked once no agent works
// any more, with one answer.
func TestSeveralAreJudgedTogether(t *testing.T) {
	for _, name := range []string{runconfig.DeciderStateless, runconfig.DeciderSession} {
		p := begin(t, nil)
		one, two := p.spawn("this"), p.spawn("that")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		if name == runconfig.DeciderSession {
			p.crash("arbiter", 5) // the rules decide at once
		} else {
			p.s.Options.Decider = name
		}
		p.verdict(one, report("done", "this is done", true))
		if p.s.Rulings.DeciderRequest != nil || p.s.Rulings.Decisions != 1 {
			t.Fatalf("%s: judged while %s works", name, two)
		}
		p.verdict(two, report("done", "that is done", true))
		if name == runconfig.DeciderStateless {
			p.decides(decider.Rules{})
		}
		p.settles()
		if n := len(p.s.Agents); n != 4 || p.agent("orch-3").Mode != "tester" || p.s.Rulings.DeciderRequest != nil || p.s.Rulings.Decisions != 2 {
			t.Errorf("%s: %d agents, %d decisions, %+v is asked", name, n, p.s.Rulings.Decisions, p.s.Rulings.DeciderRequest)
		}
	}
}
