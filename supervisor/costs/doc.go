// Package costs charges what the agents of a run cost, and holds them to the limits.
//
// An [Account] answers what the run has spent and what it may spend: for the whole run, for all runs of a day, for an
// Orchestrator. A [Context] charges turns and tells the Arbiter of limits that are nearly or all spent; it also counts
// the other limits of a mode, which are its turns and its time.
//
// The sums and the usage windows are kept in package budget. Package supervisor decides when a run ends at a limit, and
// asks the human.
//
// Events: turn, cost, budget of an agent. Effects: Interrupt of turns for which too little is left.
package costs
