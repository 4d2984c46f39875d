// Package isolation follows the work of Orchestrators that have a directory of their own until it is on the run branch.
//
// When such an Orchestrator reports `done`, its work is merged, in the order of the reports and one at a time. The
// supervisor asks for it with the effect [Merge]; what came of it is a [Merged]. A conflict changes nothing: the author
// merges in its own directory and reports again, [MaxConflicts] times at most. Then the Arbiter decides.
//
// The package computes. The loop has Git carry out the effects.
package isolation
