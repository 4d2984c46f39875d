package decider

import (
	"context"
	"errors"
	"fmt"
)

// Hybrid lets the rules decide clear cases, and another decider the rest. Without a Rest, an unclear case is
// errUnclear.
type Hybrid struct {
	Rules Rules
	Rest  Decider
}

func (h Hybrid) SelectAgent(ctx context.Context, in SelectAgentInput) (Decision, error) {
	d, clear := h.Rules.Select(in)
	return h.decide(ctx, d, clear, func() (Decision, error) { return h.Rest.SelectAgent(ctx, in) })
}

func (h Hybrid) EvaluateProgress(ctx context.Context, in EvaluateProgressInput) (Decision, error) {
	d, clear := h.Rules.Evaluate(in)
	return h.decide(ctx, d, clear, func() (Decision, error) { return h.Rest.EvaluateProgress(ctx, in) })
}

func (h Hybrid) decide(ctx context.Context, ruled Decision, clear bool,
	rest func() (Decision, error)) (Decision, error) {
	switch err := ctx.Err(); {
	case err != nil:
		return Decision{}, err
	case clear:
		return ruled, nil
	case h.Rest == nil:
		return Decision{}, errUnclear
	}
	return rest()
}

// Fallback lets the rules decide where another decider has failed, and says so: the decision's source is
// `fallback`, its warnings say why, and it includes the cost of the failed attempt. [ErrDeferred] and the end
// of the context are not failures of a decider.
type Fallback struct {
	First Decider
	Rules Rules
	Warn  func(string) // called for each fallback, on the caller's goroutine; may be nil
}

func (f Fallback) SelectAgent(ctx context.Context, in SelectAgentInput) (Decision, error) {
	return f.decide(ctx, PointSelect, in.AvailableAgents,
		func(d Decider) (Decision, error) { return d.SelectAgent(ctx, in) })
}

func (f Fallback) EvaluateProgress(ctx context.Context, in EvaluateProgressInput) (Decision, error) {
	return f.decide(ctx, PointEvaluate, in.AvailableAgents,
		func(d Decider) (Decision, error) { return d.EvaluateProgress(ctx, in) })
}

func (f Fallback) decide(ctx context.Context, p DecisionPoint, agents []AgentDescription,
	ask func(Decider) (Decision, error)) (Decision, error) {
	d, err := ask(f.First)
	if err == nil && !actionable(d, p, agents) {
		err = fmt.Errorf("decider: %s decided %s %s, which cannot be acted on", d.Source, quote(d.Decision), quote(d.Mode))
	}
	if err == nil || errors.Is(err, ErrDeferred) || ctx.Err() != nil {
		return d, err
	}
	ruled, ruleErr := ask(f.Rules)
	return f.instead(ruled, ruleErr, d, err)
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
