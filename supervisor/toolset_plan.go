package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Plan returns the steps of a new plan. The error is for the model that set it.
func (in SetPlanInput) Plan(o *runconfig.Options) ([]contract.Step, error) {
	steps := make([]contract.Step, 0, len(in.Steps))
	for i, s := range in.Steps {
		if strings.TrimSpace(s.Text) == "" {
			return nil, fmt.Errorf("step %d has no text", i+1)
		}
		status := cmp.Or(s.Status, contract.StepPending)
		if !slices.Contains(toolStatuses, status) {
			return nil, fmt.Errorf("step %d: no status %q; use %s", i+1, status, strings.Join(toolStatuses, ", "))
		}
		if _, ok := o.ModeNamed(s.Mode); s.Mode != "" && !ok {
			return nil, fmt.Errorf("step %d: no mode %q; modes: %s", i+1, s.Mode, strings.Join(o.ModeNames(), ", "))
		}
		steps = append(steps, contract.Step{Text: s.Text, Status: status, Mode: s.Mode})
	}
	return steps, nil
}

// Marked returns a plan with the step that an agent marks. The error is for the model that marks it.
func (in UpdatePlanInput) Marked(plan []contract.Step, agent string) ([]contract.Step, error) {
	if in.Index < 1 || in.Index > len(plan) {
		return nil, fmt.Errorf("the plan has steps 1 to %d:\n%s", len(plan), PlanText(plan))
	}
	if !slices.Contains(toolStatuses, in.Status) {
		return nil, fmt.Errorf("no status %q; use %s", in.Status, strings.Join(toolStatuses, ", "))
	}
	plan = slices.Clone(plan)
	plan[in.Index-1].Status, plan[in.Index-1].Agent = in.Status, agent
	return plan, nil
}
