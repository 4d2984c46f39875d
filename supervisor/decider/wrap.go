package decider

import (
	"context"
	"errors"
	"fmt"
)

// Hybrid lets the rules decide clear cases, and another decider the rest.
type Hybrid struct{ Rest Decider }

func (h Hybrid) Decide(ctx context.Context, in Input) (Decision, error) {
	ruled, clear := in.Rule()
	switch err := ctx.Err(); {
	case err != nil:
		return Decision{}, err
	case clear:
		return ruled, nil
	}
	return h.Rest.Decide(ctx, in)
}

// Fallback lets the rules decide where another decider has failed, and says so: the decision's source is
// `fallback`, its warnings say why, and it includes the cost of the failed attempt. [ErrDeferred] and the end
// of the context are not failures of a decider.
type Fallback struct {
	First Decider
	Warn  func(string) // called for each fallback, on the caller's goroutine; may be nil
}

func (f Fallback) Decide(ctx context.Context, in Input) (Decision, error) {
	failed, err := f.First.Decide(ctx, in)
	if err == nil && !actionable(failed, in) {
		err = fmt.Errorf("decider: %s decided %s %s, which cannot be acted on", failed.Source, quote(failed.Decision),
			quote(failed.Mode))
	}
	if err == nil || errors.Is(err, ErrDeferred) || ctx.Err() != nil {
		return failed, err
	}
	ruled, ruleErr := Rules{}.Decide(ctx, in)
	if ruleErr != nil {
		return failed, errors.Join(err, ruleErr)
	}
	warning := fmt.Sprintf("the rules decide: %v", err)
	ruled.Source = ByFallback
	ruled.System, ruled.Prompt, ruled.Answer = failed.System, failed.Prompt, failed.Answer
	ruled.Attempts, ruled.Usage, ruled.Model = failed.Attempts, failed.Usage, failed.Model
	ruled.Warnings = append(failed.Warnings[:len(failed.Warnings):len(failed.Warnings)], warning)
	if f.Warn != nil {
		f.Warn(warning)
	}
	return ruled, nil
}
