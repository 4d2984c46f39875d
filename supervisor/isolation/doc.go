// Package isolation tracks the work of Orchestrators with directories of their own until it is on the run
// branch.
//
// When such an Orchestrator reports `done`, its work is merged, in the order of the reports and one at a time.
// The supervisor requests it with the effect [Merge]; the result is a [Merged]. A conflict changes nothing: the
// author merges in its own directory and reports again, at most [MaxConflicts] times. Then the Arbiter decides.
//
// The package is pure. The loop carries out the effects with Git.
package isolation
