package decider

import (
	"context"
	"errors"
)

// errNoAgents says that there is no agent to choose.
var errNoAgents = errors.New("decider: there is no agent to choose")

// Rules decide deterministically: the same input always leads to the same decision. They lead a task to its end
// on their own (planner, developer, tester, reviewer), and they always reach an end: see [maxStretches].
type Rules struct{}

func (r Rules) SelectAgent(ctx context.Context, in SelectAgentInput) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	d, _ := r.Select(in)
	if d.Decision == "" {
		return Decision{}, errNoAgents
	}
	return d, nil
}

func (r Rules) EvaluateProgress(ctx context.Context, in EvaluateProgressInput) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	d, _ := r.Evaluate(in)
	if d.Decision == "" {
		return Decision{}, errNoAgents
	}
	return d, nil
}
