// Package handoff holds the hand-off documents of a run, and the proofs of their checks.
//
// A document comes from an Orchestrator, or the supervisor generates it ([Generate]). It waits in
// [State.Documents] while its checks run, in the order of its author's documents, and then goes to the Arbiter.
// The document of an Orchestrator that hands off also waits in the successor queue for the next Orchestrator.
// The receipts of all checks of a task are kept as proofs: the checks run again before the task is complete,
// and [State.TellBroken] reports which of them no longer hold.
//
// The package emits nothing: package supervisor requests checks, sets the timers, and decides whom to notify.
package handoff
