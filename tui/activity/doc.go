// Package activity follows what each agent does, from the events of a run: what it said last, the
// calls that run and those that have ended, its subagents, and when it last gave a sign of life.
//
// A [Tracker] is fed by one goroutine and read by another. It keeps the last few items of each agent
// and bounds each of them, so that it costs the same after ten events and after ten million. All texts
// that it returns are fit for a screen.
package activity
