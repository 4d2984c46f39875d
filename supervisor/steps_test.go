package supervisor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestStepsNameTheirAgents: a planner states as data which agent does each step, so that rules alone choose the next
// one. An unknown name is ignored; then a name at the head of the text counts.
func TestStepsNameTheirAgents(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Decider = runconfig.DeciderHybrid })
	p.decides(decider.Hybrid{})
	v := report("handoff", "the plan", true)
	d := v["handoff"].(verdict.Document)
	d.Remaining = []string{}
	d.Steps = []verdict.Step{{Text: "Build it", Mode: "developer"}, {Text: "Prove it", Mode: " Tester "},
		{Text: " "}, {Text: "reviewer: look at it", Mode: "wizard"}, {Text: "Rest"}}
	v["handoff"] = d
	p.verdict(p.working(), v)
	want := []contract.Step{{Text: "Build it", Mode: "developer"}, {Text: "Prove it", Mode: "tester"},
		{Text: "reviewer: look at it", Mode: "reviewer"}, {Text: "Rest"}}
	for i := range want {
		want[i].Status = contract.StepPending
	}
	if diff := cmp.Diff(want, p.s.Task.Plan); diff != "" {
		t.Fatalf("plan (-want +got):\n%s", diff)
	}
	if q := p.decides(decider.Hybrid{}); q.Failed != "" || q.Decision.Mode != "developer" ||
		q.Decision.Source != decider.ByRules {
		t.Errorf("decided %+v", q)
	}
	p.contains("the brief", p.lastSent(p.working()), "Build it (for developer)")
	p.folds()
}
