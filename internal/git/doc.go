// Package git runs git so that a repository cannot make it run or change more than the caller asked for.
//
//   - Hooks, file system monitors, pagers, external diffs, signatures, automatic maintenance and prompts are
//     off ([Flags], [Variables]). Variables that would send git to another repository, index or configuration
//     do not reach it ([Environ]).
//   - What the user configured for the contents of files stays in force: filters (Git LFS), line ends,
//     attributes, merge drivers, ignore files.
//   - git runs in a session of its own, without a terminal and with its messages in English. When its context
//     ends it gets TERM, which makes it remove its lock files, and KILL two seconds later.
//
// The package starts no goroutine that outlives a call, and has no state. A [Runner] is a value and is safe for
// concurrent use.
package git
