// Package activity records what each agent does, from the events of a run: its last texts, the calls that
// run and those that have ended, its subagents, and its last sign of life.
//
// One goroutine feeds a [Tracker] and another reads it. It keeps the last few items of each agent and
// bounds each of them, so that it costs the same after ten events and after ten million. All texts that it
// returns are fit for a screen.
package activity
