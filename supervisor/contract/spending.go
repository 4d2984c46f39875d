package contract

import "github.com/arbiter-cli/arbiter/bridge"

type (
	// Budget is a level of a limit of costs.
	Budget struct {
		Scope    string  `json:"scope" jsonschema:"What is limited: run, agent, or day."`
		SpentUSD float64 `json:"spent_usd" jsonschema:"US dollars spent, running turns included."`
		LimitUSD float64 `json:"limit_usd" jsonschema:"The limit in US dollars."`
		Level    string  `json:"level" jsonschema:"warn: 80 % are spent; limit: all is."`
		// Rehearsal: costs are simulated.
		Rehearsal bool `json:"rehearsal,omitempty" jsonschema:"A rehearsal: a scripted model answers, and no money is spent."`
	}
	// Quota is how much of a usage window of the account's plan is used up.
	Quota struct {
		Window   string  `json:"window" jsonschema:"The window, such as five_hour or seven_day."`
		UsedPct  float64 `json:"used_pct" jsonschema:"Percent of it that is used, by everything that uses the account."`
		ResetsAt string  `json:"resets_at,omitempty" jsonschema:"When it resets; absent: not told."`
		// LeftSeconds is a forecast.
		LeftSeconds int `json:"left_seconds,omitempty" jsonschema:"Until it is used up at this rate; absent: it lasts."`
	}
	// Quiet is a silence of an agent whose turn runs.
	Quiet struct {
		Seconds int    `json:"seconds" jsonschema:"How long it has given no sign of work."`
		Doing   string `json:"doing" jsonschema:"Its last call: the tool and its subject; else: thinking."`
	}
)

// ModelCost is what calls of one model have cost.
type ModelCost struct {
	Model   string       `json:"model"`
	CostUSD float64      `json:"cost_usd"`
	Usage   bridge.Usage `json:"usage"`
	Window  int          `json:"window,omitempty" jsonschema:"The model's context window in tokens; absent: not told."`
}

// Scopes of a budget.
const (
	ScopeWholeRun = "run"
	ScopeAgent    = "agent"
	ScopeDay      = "day"
)

func (Budget) EventName() string { return "budget" }
func (Quota) EventName() string  { return "quota" }
func (Quiet) EventName() string  { return "quiet" }
