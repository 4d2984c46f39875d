package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
)

// Decider sets who decides where the run's options say that it is not the Arbiter's
// session. Call it before [Loop.Run].
func (l *Loop) Decider(d decider.Decider) { l.decider = d }

// noteLane is the lane of decisions to be recorded. No agent has this id.
const noteLane = "/notes"

// decide asks the run's decider. It has deadlines of its own, and ends with ctx.
func (l *Loop) decide(ctx context.Context, q Decided) {
	crashpoint.Here("loop.decide")
	d, err := ask(ctx, l.decider, q.Point, q.Input)
	q.Decision = d
	switch {
	case errors.Is(err, decider.ErrDeferred):
		q.Deferred = true
	case err != nil:
		q.Failed = err.Error()
	}
	crashpoint.Here("loop.decided")
	if ctx.Err() == nil || d.Usage.CostUSD > 0 { // it was not dropped, or what it cost is known
		l.Put(q)
	}
}

// ask puts a recorded input to a decider.
func ask(ctx context.Context, d decider.Decider, point decision.Point, input json.RawMessage) (decider.Decision, error) {
	if d == nil {
		return decider.Decision{}, errors.New("there is no decider")
	}
	switch point {
	case decision.PointSelect:
		var in decision.SelectAgentInput
		if err := json.Unmarshal(input, &in); err != nil {
			return decider.Decision{}, fmt.Errorf("input of a selection: %w", err)
		}
		return d.SelectAgent(ctx, in)
	case decision.PointEvaluate:
		var in decision.EvaluateProgressInput
		if err := json.Unmarshal(input, &in); err != nil {
			return decider.Decision{}, fmt.Errorf("input of an evaluation: %w", err)
		}
		return d.EvaluateProgress(ctx, in)
	}
	return decider.Decision{}, fmt.Errorf("nothing is asked at the point %q", point)
}
