package bridge

import (
	"context"
	"fmt"
)

// EvidenceCollector examines work without asking the agents that did it, for a [Server]. Its methods are
// safe for concurrent use.
type EvidenceCollector interface {
	// Check runs a command for its owner; everything that the command starts bears the owner's mark. When
	// ctx or the command ends, all these processes are ended before Check returns; that takes at most a
	// second.
	Check(ctx context.Context, of Owner, p CheckParams) (CheckResult, error)
	// Inspect looks at a session's transcript and repository, and changes neither. What it cannot see is
	// not an error, but is described in InspectResult.Problems.
	Inspect(ctx context.Context, p InspectParams) (InspectResult, error)
}

func (c *conversation) check(ctx context.Context, p CheckParams) (CheckResult, error) {
	c.mu.Lock()
	of := c.owner
	c.mu.Unlock()
	return collect(ctx, c, MethodCheck, "a check", func(ctx context.Context, w EvidenceCollector) (CheckResult, error) {
		r, err := w.Check(ctx, of, p)
		if err != nil {
			return r, fmt.Errorf("check: %w", err)
		}
		return r, nil
	})
}

func (c *conversation) inspect(ctx context.Context, p InspectParams) (InspectResult, error) {
	return collect(ctx, c, MethodInspect, "a survey",
		func(ctx context.Context, w EvidenceCollector) (InspectResult, error) {
			r, err := w.Inspect(ctx, p)
			if err != nil {
				return r, fmt.Errorf("survey: %w", err)
			}
			return r, nil
		})
}

// collect asks the collector of evidence, if there is one.
func collect[R any](ctx context.Context, c *conversation, method, name string,
	ask func(context.Context, EvidenceCollector) (R, error)) (R, error) {
	var none R
	if c.collector == nil {
		return none, rpcErrorf(CodeUnsupported, "this bridge has no "+method)
	}
	return inquire(ctx, c.inquiries, name, func(ctx context.Context) (R, error) { return ask(ctx, c.collector) })
}
