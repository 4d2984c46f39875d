// Package doctor checks whether arbiter can run on this machine, and says how to fix what prevents it.
//
// Checks have two parts. [Surroundings] holds the observations as plain data, gathered by [LookAt],
// [LookForScratch] and the command. [Examine] judges them and is pure, so that a table can test every bad case.
// [Trial] plays two short sessions of the CLI against a scripted model and reports which of the abilities that the
// bridge relies on were seen; [Abilities] judges the result and is pure, too.
//
// The package changes nothing. It removes the file with which it tests whether a directory is writable at once; a
// trial ends its sessions, and the caller owns its bridge. [TrialClient] is safe for concurrent use and has no
// goroutines. [Trial.Run] returns when its goroutines have ended, at the latest when its context ends.
package doctor
