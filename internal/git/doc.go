// Package git runs git so that a repository cannot make it run or change more than the caller asked for.
//
//   - git uses a repository through a [View], with a configuration that has only the harmless settings of the
//     repository's own. So no filter, driver of diffs or merges, alias, credential helper or include that a repository
//     or an agent has put there takes effect, nor does a commondir or core.worktree that leads elsewhere ([Place]).
//   - Hooks, file system monitors, pagers, external diffs, signatures, automatic maintenance, prompts and transports
//     are off, also where the user has configured them. Variables that would send git to another repository, index or
//     configuration do not reach it ([Environ]).
//   - What the user's own configuration (not the repository's) says about the contents of files stays in force:
//     filters (Git LFS), line ends, attributes, merge drivers, ignore files.
//   - git runs in a session of its own, without a terminal and with its messages in English. When its context
//     ends it gets TERM, which makes it remove its lock files, and KILL two seconds later.
//
// The package starts no goroutine that outlives a call, and has no state. A [Runner] is a value and is safe for
// concurrent use.
package git
