// Package succession tracks how full the contexts of agents are, and gives the Arbiter a successor.
//
// [Measured] and [Compacted] handle the bridge's reports about a context. [Interrupt] stops a turn that continues
// although its compaction was prevented. [Renew] ends the session of the Arbiter when its document is complete: a new
// session follows under the same id, with a brief of what it must know.
//
// Package renewal keeps the progress of a renewal. Package supervisor decides when to give up an agent that cannot
// continue.
//
// Events: context_warning, handoff of the Arbiter. Effects: Interrupt, Kill, timers.
package succession
