// Package budget keeps what a run has used and what it may use: its costs and their limits, the usage windows
// of the account's plan, and its running time.
//
// [State] is a value with pure methods, which add effects to a collector. Package supervisor decides who is notified,
// which turns are stopped, and when a run ends.
package budget

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// State is the budget part of a run.
type State struct {
	CostUSD   float64      // of the turns that have ended
	Usage     bridge.Usage // of the turns that have ended
	Level     string       `json:",omitempty"` // of the run's cost limit that was reported last
	Day       Day          `json:",omitzero"`
	Windows   []Window     `json:",omitempty"` // by name
	HeldUntil time.Time    `json:",omitzero"`  // nothing is sent before: the reserve of a window is reached
	StepUSD   float64      `json:",omitempty"` // the most that an Orchestrator's turn has cost between two reports
	AskedAt   time.Time    `json:",omitzero"`  // when a human was asked what to do about a limit that is reached
	// SubagentStarts are the times at which subagents have started within the last hour, oldest first.
	SubagentStarts []time.Time `json:",omitempty"`
	Runtime        Runtime
}

// Limits are what the options of a run allow. A limit of 0 is no limit.
type Limits struct {
	RunUSD, DayUSD float64
	ReservePct     float64 // of each usage window, not to be used
	Simulated      bool    // the run is a rehearsal
}

// Charge adds what was used.
func (s *State) Charge(u bridge.Usage, usd float64) {
	s.CostUSD += usd
	s.Usage = Sum(s.Usage, u)
}

// Sum adds two usages.
func Sum(a, b bridge.Usage) bridge.Usage {
	return bridge.Usage{Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheCreation: a.CacheCreation + b.CacheCreation}
}

// Tokens counts the tokens of all kinds.
func Tokens(u bridge.Usage) int { return u.Input + u.Output + u.CacheRead + u.CacheCreation }
