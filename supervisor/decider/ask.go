package decider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Ask puts a recorded input to a decider, and returns its decision.
func Ask(ctx context.Context, d Decider, point DecisionPoint, input json.RawMessage) (Decision, error) {
	if d == nil {
		return Decision{}, errors.New("there is no decider")
	}
	switch point {
	case PointSelect:
		var in SelectAgentInput
		if err := json.Unmarshal(input, &in); err != nil {
			return Decision{}, fmt.Errorf("input of a selection: %w", err)
		}
		return d.SelectAgent(ctx, in)
	case PointEvaluate:
		var in EvaluateProgressInput
		if err := json.Unmarshal(input, &in); err != nil {
			return Decision{}, fmt.Errorf("input of an evaluation: %w", err)
		}
		return d.EvaluateProgress(ctx, in)
	}
	return Decision{}, fmt.Errorf("nothing is asked at the point %q", point)
}
