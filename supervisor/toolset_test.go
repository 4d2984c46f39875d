package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestPlan: steps are checked, and the error names what is wrong.
func TestPlan(t *testing.T) {
	var o runconfig.Options
	steps, err := SetPlanInput{Steps: []PlanStep{{Text: "one"}, {Text: "two", Status: "done", Mode: "tester"}}}.Plan(&o)
	if err != nil || len(steps) != 2 || steps[0].Status != contract.StepPending || steps[1].Mode != "tester" {
		t.Errorf("%+v, %v", steps, err)
	}
	for want, in := range map[string]PlanStep{
		"step 1 has no text":      {Text: " "},
		"step 1: no status \"x\"": {Text: "one", Status: "x"},
		"step 1: no mode \"x\"":   {Text: "one", Mode: "x"},
	} {
		if _, err := (SetPlanInput{Steps: []PlanStep{in}}).Plan(&o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	marked, err := UpdatePlanInput{Index: 1, Status: "active"}.Marked(steps, "orch-1")
	if err != nil || marked[0].Agent != "orch-1" || steps[0].Agent != "" {
		t.Errorf("%+v, %v, of %+v", marked, err, steps)
	}
	if _, err := (UpdatePlanInput{Index: 3, Status: "active"}).Marked(steps, "orch-1"); err == nil {
		t.Error("there is no step 3")
	}
}
