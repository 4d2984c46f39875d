package runloop

import (
	"context"
	"errors"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Decider sets the decider for runs whose options say that the Arbiter's session does not decide. Call it
// before [Loop.Run].
func (l *Loop) Decider(d decider.Decider) { l.decider = d }

// noteLane is the lane for decisions to be recorded. No agent has this id.
const noteLane = "/notes"

// decide asks the run's decider. It has deadlines of its own, and ends with ctx.
func (l *Loop) decide(ctx context.Context, q input.Decided) {
	crashpoint.Here("loop.decide")
	d, err := decider.Ask(ctx, l.decider, q.Point, q.Input)
	q.Decision = d
	switch {
	case errors.Is(err, decider.ErrDeferred):
		q.Deferred = true
	case err != nil:
		q.Failed = err.Error()
	}
	crashpoint.Here("loop.decided")
	if ctx.Err() == nil || d.Usage.CostUSD > 0 { // it was not cancelled, or its cost is known
		l.Put(q)
	}
}
