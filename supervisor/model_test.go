package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestTheModelIsTriedFirst: a model that the CLI refuses changes nothing; a model that it accepts is used for
// every agent, and for later ones.
func TestTheModelIsTriedFirst(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Model, o.ArbiterModel = "old", "older" })
	p.spawn("dig")
	set := func(model, id string) input.SetModel {
		t.Helper()
		before := len(effects[input.SetModel](p))
		if ok, why := p.command(contract.Configure{ID: id, Model: model}); !ok {
			t.Fatal(why)
		}
		all := effects[input.SetModel](p)
		if len(all) != before+1 {
			t.Fatalf("%d models are being set", len(all)-before)
		}
		return all[before]
	}
	refused := set("nonsense", "")
	p.do(input.Configured{Agent: refused.Agent, Model: "nonsense", All: true, Failed: "no such model"})
	if p.s.Options.Model != "old" || p.s.Options.ArbiterModel != "older" {
		t.Errorf("a refused model was taken over: %q, %q", p.s.Options.Model, p.s.Options.ArbiterModel)
	}
	p.contains("the error", last[contract.Error](p).Message, "nonsense", "no such model")
	taken := set("new", "")
	if taken.Agent.ID != contract.Arbiter || !taken.All {
		t.Fatalf("the first to try it: %+v", taken)
	}
	p.do(input.Configured{Agent: taken.Agent, Model: "new", All: true})
	all := effects[input.SetModel](p)
	if next := all[len(all)-1]; next.Agent.ID != "orch-1" || next.All || next.Model != "new" {
		t.Errorf("the next: %+v", next)
	}
	if p.s.Options.Model != "new" || p.s.Options.ArbiterModel != "" {
		t.Errorf("options: %q, %q", p.s.Options.Model, p.s.Options.ArbiterModel)
	}
	own := set("own", "orch-1")
	p.do(input.Configured{Agent: own.Agent, Model: "own"})
	a, arbiter := p.agent("orch-1"), p.agent(contract.Arbiter)
	testkit.Same(t, "orch-1 would be started with", "own", p.s.agentConfig(&a).Model)
	testkit.Same(t, "the Arbiter would be started with", "new", p.s.agentConfig(&arbiter).Model)
	if ok, _ := p.command(contract.Configure{ID: "orch-9", Model: "x"}); ok {
		t.Error("no agent got a model")
	}
	before := len(effects[input.SetModel](p))
	p.do(input.BridgeLost{Message: "gone"})
	if ok, _ := p.command(contract.Configure{Model: "later"}); !ok || len(effects[input.SetModel](p)) != before ||
		p.s.Options.Model != "later" {
		t.Error("a model cannot be chosen while no agent is there to try it")
	}
}
