// Package evidence finds out about work without asking the agents that did it: it
// runs the commands that are to prove a claim ([Collector.Check]), and reads what a
// session has left behind, its transcript and its repository ([Collector.Inspect]).
// It implements [bridge.EvidenceCollector].
//
// A check is a command that nobody has reviewed. It runs in a session of its own, without a
// terminal, without the agents' credentials, under a mark; when it ends, or is
// ended, everything that it started is swept by that mark and by descent, so that
// a result means that nothing of it is left. What it says is hashed whole while
// only the end is kept, so that a flood costs time and no memory. Two run at a
// time; the others wait.
//
// An inspection changes nothing. git is run without its optional locks, hooks,
// monitors, pagers, external diffs and lazy fetches, never in a bare repository that
// happens to lie there, and each call has a limit in time and size. Where agents are in
// a sandbox, git is, too: they may have written what it is configured with.
//
// # Goroutines
//
// A command has one that reads its output, beside proctree's own. Check and Inspect
// wait for theirs; the package keeps none.
//
// # Limits
//
// What has cleared its environment and was orphaned between two looks (50 ms apart
// at first, 2 s in the end) is nobody's descendant any more; the sweep at the end
// of the run finds it, where the bridge is a subreaper. Filters that a repository
// configures (filter.*.clean) are run by git status, as they are for the user. A
// command may read the files that the user may, those with credentials, too.
package evidence
