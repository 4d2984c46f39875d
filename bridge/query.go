package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"
)

// DefaultQueryTimeout is how long a query may take unless it says otherwise.
const DefaultQueryTimeout = 2 * time.Minute

// QueryParams sends one prompt to a model, in a separate process: it keeps no session, has no
// tools, and the model knows nothing except the prompt.
type QueryParams struct {
	Model  string `json:"model,omitempty"`
	Effort string `json:"effort,omitempty"`
	CWD    string `json:"cwd"`
	// SystemPrompt replaces Claude Code's own.
	SystemPrompt string          `json:"system_prompt"`
	Prompt       string          `json:"prompt"`
	JSONSchema   json.RawMessage `json:"json_schema,omitempty"` // of the answer
	// SettingSources is as in AgentConfig: the user's settings contain the way to log in.
	SettingSources []string          `json:"setting_sources"`
	MaxBudgetUSD   float64           `json:"max_budget_usd,omitempty"`
	Env            map[string]string `json:"env,omitempty"`        // added after the allow-list
	TimeoutMS      int               `json:"timeout_ms,omitempty"` // 0 means DefaultQueryTimeout
	Sandbox        *SandboxConfig    `json:"sandbox,omitempty"`    // nil: no sandbox
}

// QueryResult is the answer. A failure of the API is an *RPCError with its category.
type QueryResult struct {
	// Output is the model's structured output; absent: it gave none.
	Output     json.RawMessage `json:"output,omitempty"`
	Text       string          `json:"text,omitempty"` // the model's text
	Usage      Usage           `json:"usage"`
	CostUSD    float64         `json:"cost_usd"`
	DurationMS int64           `json:"duration_ms,omitempty"`
	Model      string          `json:"model,omitempty"` // the model that answered
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
	return cmp.Or(required("prompt", p.Prompt), p.Sandbox.check(), checkPlace(p.CWD, p.Env))
}

func isObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return string(raw) == "null" || json.Unmarshal(raw, &members) == nil
}

func (c *conversation) query(ctx context.Context, p QueryParams) (QueryResult, error) {
	p.Env = c.passed(p.Env)
	return inquire(ctx, c.inquiries, "a query", func(ctx context.Context) (QueryResult, error) {
		return c.launcher.Query(ctx, c.owner, c.spec, p)
	})
}
