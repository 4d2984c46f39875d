package decider

import (
	"context"
	"errors"
	"fmt"
)

// Session leaves the decision to the Arbiter's own conversation: its error is always [ErrDeferred].
type Session struct{}

// SelectAgent implements [Decider].
func (Session) SelectAgent(context.Context, SelectAgentInput) (Decision, error) {
	return Decision{}, ErrDeferred
}

// EvaluateProgress implements [Decider].
func (Session) EvaluateProgress(context.Context, EvaluateProgressInput) (Decision, error) {
	return Decision{}, ErrDeferred
}

// Hybrid lets the rules decide clear cases, and another decider the rest. Without a Rest, an unclear case is
// errUnclear.
type Hybrid struct {
	Rules Rules
	Rest  Decider
}

// SelectAgent implements [Decider].
func (h Hybrid) SelectAgent(ctx context.Context, in SelectAgentInput) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	if d, clear := h.Rules.Select(in); clear {
		return d, nil
	}
	if h.Rest == nil {
		return Decision{}, errUnclear
	}
	return h.Rest.SelectAgent(ctx, in)
}

// EvaluateProgress implements [Decider].
func (h Hybrid) EvaluateProgress(ctx context.Context, in EvaluateProgressInput) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	if d, clear := h.Rules.Evaluate(in); clear {
		return d, nil
	}
	if h.Rest == nil {
		return Decision{}, errUnclear
	}
	return h.Rest.EvaluateProgress(ctx, in)
}

// Fallback lets the rules decide where another decider has failed, and says so: the decision's source is
// `fallback`, its warnings say why, and it includes the cost of the failed attempt. [ErrDeferred] and the end
// of the context are not failures of a decider.
type Fallback struct {
	First Decider
	Rules Rules
	Warn  func(string) // called for each fallback, on the caller's goroutine; may be nil
}

// SelectAgent implements [Decider].
func (f Fallback) SelectAgent(ctx context.Context, in SelectAgentInput) (Decision, error) {
	d, err := f.First.SelectAgent(ctx, in)
	if err == nil && !actionable(d, PointSelect, in.AvailableAgents) {
		err = unusable(d)
	}
	if err == nil || errors.Is(err, ErrDeferred) || ctx.Err() != nil {
		return d, err
	}
	ruled, ruleErr := f.Rules.SelectAgent(ctx, in)
	return f.instead(ruled, ruleErr, d, err)
}

// EvaluateProgress implements [Decider].
func (f Fallback) EvaluateProgress(ctx context.Context, in EvaluateProgressInput) (Decision, error) {
	d, err := f.First.EvaluateProgress(ctx, in)
	if err == nil && !actionable(d, PointEvaluate, in.AvailableAgents) {
		err = unusable(d)
	}
	if err == nil || errors.Is(err, ErrDeferred) || ctx.Err() != nil {
		return d, err
	}
	ruled, ruleErr := f.Rules.EvaluateProgress(ctx, in)
	return f.instead(ruled, ruleErr, d, err)
}

func unusable(d Decision) error {
	return fmt.Errorf("decider: %s decided %s %s, which cannot be acted on", d.Source, quote(d.Decision), quote(d.Mode))
}

// instead returns the rules' decision, with the error of the decider that was asked first.
func (f Fallback) instead(ruled Decision, ruleErr error, failed Decision, why error) (Decision, error) {
	if ruleErr != nil {
		return failed, errors.Join(why, ruleErr)
	}
	warning := fmt.Sprintf("the rules decide: %v", why)
	ruled.Source = ByFallback
	ruled.System, ruled.Prompt, ruled.Answer = failed.System, failed.Prompt, failed.Answer
	ruled.Attempts, ruled.Usage, ruled.Model = failed.Attempts, failed.Usage, failed.Model
	ruled.Warnings = append(failed.Warnings[:len(failed.Warnings):len(failed.Warnings)], warning)
	if f.Warn != nil {
		f.Warn(warning)
	}
	return ruled, nil
}
