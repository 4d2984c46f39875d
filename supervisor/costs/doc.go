// Package costs charges the cost of agents to a run, and enforces the limits.
//
// An [Account] reports what the run has spent and what it may spend: for the whole run, for all runs of a day, for an
// Orchestrator. A [Context] charges turns and notifies the Arbiter when a limit is nearly or completely spent; it also
// enforces a mode's limits of turns and time.
//
// Package budget keeps the sums and the usage windows. Package supervisor decides when a run ends at a limit, and
// asks the human.
//
// Events: turn, cost, budget of an agent. Effects: Interrupt for turns that the remaining budget does not cover.
package costs
