// Package succession follows how full the contexts of agents are, and gives the Arbiter a successor.
//
// [Measured] and [Compacted] take what the bridge reports of a context. [Interrupt] stops a turn that goes on although
// its compaction was prevented. [Renew] ends the session of the Arbiter when its document is there: another session
// follows under the same id, with a brief of what it must know.
//
// How far a renewal is, is kept in package renewal. Package supervisor decides when an agent that cannot go on is given
// up.
//
// Events: context_warning, handoff of the Arbiter. Effects: Interrupt, Kill, timers.
package succession
