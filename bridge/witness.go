package bridge

import (
	"context"
	"fmt"
)

// Witness finds out about work without asking the agents that did it, for a
// [Server]. Its methods are safe for concurrent use.
type Witness interface {
	// Check runs a command for a run, whose mark everything it starts bears. When
	// ctx ends, or the command does, all of that is ended before Check returns; that
	// takes a second at most.
	Check(ctx context.Context, run string, p CheckParams) (CheckResult, error)
	// Survey looks at a session's transcript and repository, and changes neither.
	// What it cannot see is no error but SurveyResult.Trouble.
	Survey(ctx context.Context, p SurveyParams) (SurveyResult, error)
}

func (c *conversation) check(ctx context.Context, p CheckParams) (CheckResult, error) {
	c.mu.Lock()
	run := c.run
	c.mu.Unlock()
	return testify(ctx, c, MethodCheck, "a check", func(ctx context.Context, w Witness) (CheckResult, error) {
		r, err := w.Check(ctx, run, p)
		if err != nil {
			return r, fmt.Errorf("check: %w", err)
		}
		return r, nil
	})
}

func (c *conversation) survey(ctx context.Context, p SurveyParams) (SurveyResult, error) {
	return testify(ctx, c, MethodSurvey, "a survey", func(ctx context.Context, w Witness) (SurveyResult, error) {
		r, err := w.Survey(ctx, p)
		if err != nil {
			return r, fmt.Errorf("survey: %w", err)
		}
		return r, nil
	})
}

// testify asks the witness, if there is one.
func testify[R any](ctx context.Context, c *conversation, method, name string, ask func(context.Context, Witness) (R, error)) (R, error) {
	var none R
	if c.witness == nil {
		return none, rpcErrorf(CodeUnsupported, "this bridge has no "+method)
	}
	return inquire(ctx, c.inquiries, name, func(ctx context.Context) (R, error) { return ask(ctx, c.witness) })
}
