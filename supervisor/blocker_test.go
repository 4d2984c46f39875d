package supervisor

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// leaving is a report of work that leaves something open.
func leaving(remaining ...string) map[string]any {
	v := report("done", "see the document", true)
	d := v["handoff"].(verdict.Document)
	d.Remaining = remaining
	v["handoff"] = d
	return v
}

// TestABlockerBeforeTheNextStep: what a tester leaves open in the middle of a plan is fixed by a developer and
// tested again. The next step stays unchanged until then.
func TestABlockerBeforeTheNextStep(t *testing.T) {
	for _, alone := range []bool{false, true} { // the rules in the Arbiter's place
		p := begin(t, func(o *runconfig.Options) {
			if !alone {
				o.Decider = runconfig.DeciderRules
			}
		})
		if alone {
			p.crash("arbiter", 5)
		}
		tested, modes := 0, []string{}
		for turns := 0; p.s.Ending == nil && turns < 20; turns++ {
			if p.s.Rulings.DeciderRequest != nil {
				p.decides(decider.Rules{})
				continue
			}
			id := p.working()
			mode := p.agent(id).Mode
			modes = append(modes, mode)
			switch {
			case mode == "planner":
				p.verdict(id, leaving("developer: build it", "tester: try it", "developer: polish it"))
			case mode == "tester" && tested == 0:
				tested++
				p.verdict(id, leaving("BLOCKER: it loses data"))
				if p.s.Task.Plan[2].Status != contract.StepPending {
					t.Errorf("alone %v: the next step is %s", alone, p.s.Task.Plan[2].Status)
				}
			default:
				if tested == 1 && mode == "developer" {
					tested++
					p.contains("the brief", p.lastSent(id), "BLOCKER: it loses data", "none of its steps")
					if p.s.Task.Plan[2].Status != contract.StepPending {
						t.Errorf("alone %v: the next step is %s", alone, p.s.Task.Plan[2].Status)
					}
				}
				p.verdict(id, leaving())
			}
		}
		if want := []string{"planner", "developer", "tester", "developer", "tester", "developer", "tester"}; !slices.Equal(modes, want) {
			t.Errorf("alone %v: %v worked, want %v", alone, modes, want)
		}
		if r, _ := p.finished(); r.Status != contract.StatusComplete {
			t.Errorf("alone %v: %+v", alone, r)
		}
		p.folds()
	}
}

// TestReceiptsReachTheDecider: the decider's input contains what the supervisor found when it ran the checks,
// and not what the author says about them.
func TestReceiptsReachTheDecider(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderStateless })
	p.answers(p.asked(), "SELECT_MODE", "developer")
	id := p.working()
	p.verdict(id, proven("handoff", "make test", "make lint"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	p.do(input.Checked{Serial: p.check().Serial, Number: 2, Failed: "not permitted"})
	in, ok := decider.EvaluateInput(p.s.Record()), p.s.Task.History.Len() > 0
	d := in.LastExecution.Document
	if !ok || d == nil || len(d.Checks) != 2 || d.Checks[0].Result != verdict.CheckPassed || d.Checks[1].Result != verdict.CheckUnrun || d.Checks[1].Why != "not permitted" {
		t.Fatalf("the document in the input: %+v", d)
	}
	if d.Claims[0].Proof != verdict.Verified || d.Claims[1].Proof != verdict.Unverified || d.KeyContext != "port 8080" {
		t.Errorf("claims %+v, context %q", d.Claims, d.KeyContext)
	}
}
