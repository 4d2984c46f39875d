package contract

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
)

type (
	// Budget says that spending reached a level of a cost limit.
	Budget struct {
		Scope    string  `json:"scope" jsonschema:"What is limited: run, agent, or day."`
		SpentUSD float64 `json:"spent_usd" jsonschema:"What is spent, running turns included."`
		LimitUSD float64 `json:"limit_usd" jsonschema:"The limit."`
		Level    string  `json:"level" jsonschema:"warn: 80 % is spent; limit: all of it."`
		// Rehearsal: costs are simulated.
		Rehearsal bool `json:"rehearsal,omitempty"`
	}
	// Fuse says that the fuse of an Orchestrator was set, is nearly spent, or has blown.
	Fuse struct {
		USD       float64 `json:"usd" jsonschema:"What it may cost. A successor continues on the rest, unless it was summoned with fuse_usd."`
		Spent     float64 `json:"spent" jsonschema:"What is spent of it, the running turn included."`
		Status    string  `json:"status" jsonschema:"set: it was summoned with it, or a human set it again; warn: 80 % is spent, and it must hand off; blown: all is spent, and it is parked."`
		Rehearsal bool    `json:"rehearsal,omitempty"`
	}
	// Forecast is what a step will cost, by what such steps have cost in earlier runs in this workspace.
	Forecast struct {
		Step    int     `json:"step" jsonschema:"Its number in the plan, from 1; 0: all open steps, or a summons without a step."`
		Mode    string  `json:"mode,omitempty" jsonschema:"The mode by whose earlier steps it was made."`
		USD     float64 `json:"usd" jsonschema:"What it will cost."`
		Tokens  int     `json:"tokens" jsonschema:"Tokens that it will use."`
		Minutes float64 `json:"minutes" jsonschema:"Minutes that it will take."`
		From    int     `json:"from" jsonschema:"From how many earlier runs; 0: there is no forecast."`
		Unknown int     `json:"unknown,omitempty" jsonschema:"How many open steps it leaves out, because nothing is known of such steps."`
	}
	// Quota is how much of a usage window of the account's plan is used up.
	Quota struct {
		Window   string  `json:"window" jsonschema:"The window, such as five_hour or seven_day."`
		UsedPct  float64 `json:"used_pct" jsonschema:"Percent that is used, by everything that uses the account."`
		ResetsAt string  `json:"resets_at,omitempty" jsonschema:"When the window resets; absent: not reported."`
		// LeftSeconds is a forecast.
		LeftSeconds int `json:"left_seconds,omitempty" jsonschema:"A forecast of the seconds until it is used up; absent: it lasts until the reset, or there is none yet."`
	}
	// Quiet says that an agent whose turn runs has shown no sign of work for some time.
	Quiet struct {
		Seconds int    `json:"seconds" jsonschema:"For how many seconds."`
		Doing   string `json:"doing" jsonschema:"Its last tool call and its subject; otherwise: thinking."`
	}
)

// ModelCost is what calls of one model have cost.
type ModelCost struct {
	Model   string       `json:"model"`
	CostUSD float64      `json:"cost_usd"`
	Usage   bridge.Usage `json:"usage"`
	Window  int          `json:"window,omitempty" jsonschema:"The model's context window in tokens; absent: not reported."`
}

// Scopes of a budget.
const (
	ScopeWholeRun = "run"
	ScopeAgent    = "agent"
	ScopeDay      = "day"
)

// Price is a forecast in words: "$0.40, 6 min".
func (f Forecast) Price() string {
	return fmt.Sprintf("$%.2f, %.0f min", f.USD, max(f.Minutes, 1))
}

// Statuses of a fuse.
const (
	FuseSet   = "set"
	FuseWarn  = "warn"
	FuseBlown = "blown"
)

func (Budget) EventName() string   { return "budget" }
func (Fuse) EventName() string     { return "fuse" }
func (Forecast) EventName() string { return "forecast" }
func (Quota) EventName() string    { return "quota" }
func (Quiet) EventName() string    { return "quiet" }
