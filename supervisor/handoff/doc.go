// Package handoff holds the documents that pass work on, and the proofs of their checks.
//
// A document comes from an Orchestrator, or is written in its place ([Generate]). It waits in [State.Documents] while
// its checks are run, in the order of its author's documents, and goes to the Arbiter then; that of an Orchestrator
// that hands off waits in the successor queue for the next one. The receipts of all checks of a task are kept as
// proofs: the checks are run again before the task is complete, and [State.TellBroken] says which of them no longer
// hold.
//
// The package runs nothing and emits nothing: package supervisor has checks run, sets the timers, and decides who is
// told what.
package handoff
