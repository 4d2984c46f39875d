// Package doctor finds out whether arbiter can work where it stands, and says what to do
// where it cannot.
//
// What is found out comes in two parts. [Surroundings] is what was looked at: plain data,
// gathered by [LookAt], [LookForScratch] and the command that asks; [Examine] judges it
// and is pure, so that every bad case is a line of a table. [Trial] plays two short
// sessions of the CLI against a scripted model and reports which of the abilities that the
// bridge relies on it showed; [Abilities] judges that, and is pure, too.
//
// Nothing here changes what it looks at. A file that proves a directory writable is gone
// when the look is over; a trial ends the sessions it began, and its bridge is the
// caller's. [TrialClient] may be called by several goroutines; it owns none. [Trial.Run] returns
// when its goroutines have ended, with its context at the latest.
package doctor
