// Package crashlog keeps what a process of a run leaves behind beside its journal, with
// secrets masked: a log of bounded size, and a report of each crash with the last events
// before it.
//
// A [Reporter] owns the goroutine that writes; Close waits for it. A [Log] has none.
package crashlog
