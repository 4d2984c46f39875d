package decider

import (
	"math"
	"time"
)

func constraints(r DecisionRecord) DecisionConstraints {
	return DecisionConstraints{
		MaxIterations:          r.MaxIterations,
		CurrentIteration:       r.Iteration,
		IterationsRemaining:    max(r.MaxIterations-r.Iteration, 0),
		ConsecutiveFailures:    r.Failures,
		MaxConsecutiveFailures: r.MaxFailures,
		TotalFailures:          r.TotalFailures,
		MaxTotalFailures:       r.MaxTotalFailures,
		EstimatedTokensUsed:    max(r.TokensUsed, 0),
		TimeElapsedMS:          max(r.Elapsed, 0).Milliseconds(),
		EstimatedTimeRemaining: remaining(r).Milliseconds(),
		CostUSD:                r.CostUSD,
		MaxCostUSD:             r.MaxCostUSD,
	}
}

// remaining estimates the time still needed: the mean duration of an execution for each step that is not over,
// but not more than the timeout leaves. 0: no basis for an estimate, nothing left to do, or no time.
func remaining(r DecisionRecord) time.Duration {
	left := 0
	for _, s := range r.Steps {
		s.Status = stepStatus(s.Status)
		if !s.Over() {
			left++
		}
	}
	mean := r.History.Mean()
	need := mean * time.Duration(left)
	if left > 0 && mean > math.MaxInt64/time.Duration(left) {
		need = math.MaxInt64
	}
	if r.Timeout > 0 {
		need = min(need, max(r.Timeout-max(r.Elapsed, 0), 0))
	}
	return need
}
