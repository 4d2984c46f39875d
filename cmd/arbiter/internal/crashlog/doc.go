// Package crashlog writes the diagnostic files of a run's process, with secrets masked: a log of bounded size, and
// a report of each crash with the last events before it.
//
// A [Reporter] owns the goroutine that writes, and its Close waits for that. A [Log] has no goroutine.
package crashlog
