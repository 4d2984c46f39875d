// Package lifecycle follows the processes of a run: the bridge on each host, and the agents behind them.
//
// [State] is the part of the run's state. It knows which bridge is up, counts what failed, and has another bridge
// follow
// one that is lost, by the policy of package restart. Its methods change it and collect effects.
//
// Beside it stand functions that judge the processes of agents: what a failure means and what a person can do about it,
// whether a process gives signs of life and keeps its limits, how full its context is, and what one that ended left
// undone. They are pure: observations in, findings out. Package supervisor acts on a finding: it restarts, parks,
// interrupts or notifies.
//
// Events: restart of a bridge. Effects: OpenBridge, DropBridge.
package lifecycle
