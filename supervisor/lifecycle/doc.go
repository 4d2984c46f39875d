// Package lifecycle judges the processes of agents: what a failure means and what a person can do about it, whether a
// process gives signs of life and keeps its limits, how full its context is, and what one that ended left undone.
//
// All of it is pure: observations in, findings out. Package supervisor acts on a finding: it restarts, parks,
// interrupts or notifies. Package restart decides whether and when another process follows.
package lifecycle
