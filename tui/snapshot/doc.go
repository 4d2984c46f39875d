// Package snapshot converts the state of a run to what the pages of the screen show: rows of agents, steps
// of the plan, the status line, who is awaited. Its functions are pure, and sanitise all text of agents in
// the state.
package snapshot
