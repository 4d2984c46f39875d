// Package evidence collects evidence about work without asking the agents that did it: it runs the commands
// that should prove a claim ([Collector.Check]), and reads the transcript and the repository of a session
// ([Collector.Inspect]). It implements [bridge.EvidenceCollector].
//
// A check is a command that no human has reviewed. It runs in a session of its own, without a terminal,
// without the agents' credentials, under a mark. When it ends, or is ended, everything that it started is
// killed, by that mark and by descent, so that no process of it is left when there is a result. All of its
// output is hashed but only the end is kept, so that a flood of output takes time but no memory. Two checks
// run at a time; the others wait. On request a check runs on a copy of the workspace, from which nothing that it does
// can leave ([sandbox.StartScratch]).
//
// An inspection changes nothing. git is run without its optional locks, hooks, monitors, pagers, external
// diffs and lazy fetches, never in a bare repository that happens to be there, and each call has a limit in
// time and size. If agents are in a sandbox, git is, too, because they may have written its configuration.
//
// # Goroutines
//
// A command has one goroutine that reads its output, in addition to those of proctree. Check and Inspect
// wait for theirs; the package keeps none.
//
// # Limits
//
// A process that cleared its environment and was orphaned between two scans (50 ms apart at first, 2 s in
// the end) is no longer a descendant; the sweep at the end of the run finds it if the bridge is a
// subreaper. Filters that a repository's own configuration defines do not run, so that git status may list
// a file with such a filter that is unchanged for the user. A command may read every file that the user may
// read, also those with credentials.
package evidence
