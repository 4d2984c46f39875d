// Package handoff holds the hand-off documents of a run, and the proofs of their checks.
//
// A document comes from an Orchestrator, or the supervisor generates one ([Generate]). It waits in [State.Documents]
// while its checks are run, in the order of its author's documents, and goes to the Arbiter then; that of an
// Orchestrator that hands off waits in the successor queue for the next one. The receipts of all checks of a task are
// kept as proofs: the checks are run again before the task is complete, and [State.TellBroken] says which of them no
// longer hold.
//
// The package emits nothing: package supervisor requests checks, sets the timers, and decides whom to notify.
package handoff
