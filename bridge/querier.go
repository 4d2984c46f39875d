package bridge

import (
	"context"
	"encoding/json"
	"errors"
)

// Querier sends single prompts to a model. A [Server] whose [Launcher] implements it, too, serves `query`.
// It is safe for concurrent use.
type Querier interface {
	// Query starts a CLI for one prompt, under its owner's mark. When ctx ends, or the time limit of p is
	// over, all processes that it started are ended before Query returns; that takes at most a second.
	// Failures are *RPCError with a category. If the model finished without the output that the schema
	// requires, that is not a failure: Output is then absent.
	Query(ctx context.Context, of Owner, claude ClaudeSpec, p QueryParams) (QueryResult, error)
}

// MaxQueryPrompt bounds QueryParams.SystemPrompt and Prompt together, in bytes. No model's window is
// larger.
const MaxQueryPrompt = 8 << 20

func (p QueryParams) check() error {
	switch {
	case p.TimeoutMS < 0:
		return errors.New("timeout_ms is negative")
	case p.MaxBudgetUSD < 0:
		return errors.New("max_budget_usd is negative")
	case len(p.Prompt)+len(p.SystemPrompt) > MaxQueryPrompt:
		return errors.New("the prompt is too long")
	case len(p.JSONSchema) > 0 && !isObject(p.JSONSchema):
		return errors.New("json_schema is not an object")
	}
	if err := required("prompt", p.Prompt); err != nil {
		return err
	}
	if err := p.Sandbox.check(); err != nil {
		return err
	}
	return checkPlace(p.CWD, p.Env)
}

func isObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return string(raw) == "null" || json.Unmarshal(raw, &members) == nil
}

func (c *conversation) query(ctx context.Context, p QueryParams) (QueryResult, error) {
	if c.querier == nil {
		return QueryResult{}, rpcErrorf(CodeUnsupported, "this bridge has no "+MethodQuery)
	}
	p.Env = c.passed(p.Env)
	c.mu.Lock()
	of, spec := c.owner, c.spec
	c.mu.Unlock()
	return inquire(ctx, c.inquiries, "a query", func(ctx context.Context) (QueryResult, error) {
		return c.querier.Query(ctx, of, spec, p)
	})
}
