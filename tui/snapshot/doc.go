// Package snapshot projects the state of a run onto what the pages of the screen show: rows of
// agents, steps of the plan, the status line, who is waited for. Its functions are pure. Here,
// everything that a state holds of others' words is made fit for a screen.
package snapshot
