// Package lifecycle tracks the processes of a run: the bridge on each host, and the agents behind them.
//
// [State] is this part of the run's state. It records which bridge is up, counts failures, and replaces a lost bridge
// by the policy of package restart. Its methods change it and collect effects.
//
// Pure functions judge the processes of agents: what a failure means and what a person can do about it, whether a
// process shows activity and keeps its limits, how full its context is, and which work of an ended process is
// unfinished. They map observations to findings. Package supervisor acts on a finding: it restarts, parks,
// interrupts or notifies.
//
// Events: restart of a bridge. Effects: OpenBridge, DropBridge.
package lifecycle
