package supervisor

// This part of the package keeps what a run has used and what it may use: its costs and their limits, the
// usage windows of the account's plan, and its running time.
//
// [BudgetState] is a value with pure methods, which add effects to a collector. Package supervisor decides who is
// notified, which turns are stopped, and when a run ends.

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// BudgetState is the budget part of a run.
type BudgetState struct {
	CostUSD   float64        // of the turns that have ended
	Usage     bridge.Usage   // of the turns that have ended
	Level     string         `json:",omitempty"` // of the run's cost limit that was reported last
	Day       BudgetDay      `json:",omitzero"`
	Windows   []BudgetWindow `json:",omitempty"` // by name
	HeldUntil time.Time      `json:",omitzero"`  // nothing is sent before: the reserve of a window is reached
	StepUSD   float64        `json:",omitempty"` // the most that an Orchestrator's turn has cost between two reports
	AskedAt   time.Time      `json:",omitzero"`  // when a human was asked what to do about a limit that is reached
	// SubagentStarts are the times at which subagents have started within the last hour, oldest first.
	SubagentStarts []time.Time `json:",omitempty"`
	Runtime        BudgetRuntime
}

// BudgetLimits are what the options of a run allow. A limit of 0 is no limit.
type BudgetLimits struct {
	RunUSD, DayUSD float64
	ReservePct     float64 // of each usage window, not to be used
	Simulated      bool    // the run is a rehearsal
}

// Charge adds what was used.
func (s *BudgetState) Charge(u bridge.Usage, usd float64) {
	s.CostUSD += usd
	s.Usage = BudgetSum(s.Usage, u)
}

// BudgetSum adds two usages.
func BudgetSum(a, b bridge.Usage) bridge.Usage {
	return bridge.Usage{Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheCreation: a.CacheCreation + b.CacheCreation}
}

// BudgetTokens counts the tokens of all kinds.
func BudgetTokens(u bridge.Usage) int { return u.Input + u.Output + u.CacheRead + u.CacheCreation }
