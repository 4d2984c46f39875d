package bridge

import (
	"encoding/json"
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
