// Package doctor checks whether arbiter can run here, and says how to fix what prevents it.
//
// Checks have two parts. [Surroundings] holds the observations as plain data,
// gathered by [LookAt], [LookForScratch] and the command; [Examine] judges them
// and is pure, so that every bad case is a row of a table. [Trial] plays two short
// sessions of the CLI against a scripted model and reports which of the abilities that the
// bridge relies on it showed; [Abilities] judges that, and is pure, too.
//
// The package changes nothing. The file that tests whether a directory is writable is removed at once; a trial ends
// its sessions, and the caller owns its bridge. [TrialClient] may be called by several goroutines; it owns none.
// [Trial.Run] returns when its goroutines have ended, with its context at the latest.
package doctor
