// Package runloop runs a run: it passes inputs to supervisor.Apply, and carries out the effects.
//
// [Loop] is the one goroutine that owns a run's state. Other goroutines put inputs in ([Loop.Put], and the
// methods that make it a bridge's handler) and read snapshots. A worker carries out an effect once the input
// that caused it is on disk; the outcome comes back as another input.
//
// The files:
//
//	loop, run             the loop: what it owns, and one input after the other
//	outbox                the journal, and what waits for the disk
//	perform, workers      effects, and the goroutines that carry them out
//	decideworker          … those of deciders
//	terminalworker        … those of terminals
//	handler, hosthandler  requests of the bridges, each for the agents of its host
//	judge, view           decisions by the rules, on the files of the agent's host
//	ports                 the bridges, by host
//	grantworker           rules and actions that the human granted
//	masked                mask secrets before an input is recorded
//	trustworker           inspect the workspace before an agent starts
//	unknownagent          drop input from an unknown agent
//
// Order: inputs from one agent are applied in the order in which they happened; short requests to one agent (a
// message, an interrupt) are carried out in the order in which they were decided.
//
// Shutdown: a run ends by a decision of Apply, which stops the agents. When all of them have ended, Apply emits
// `result`. [Loop.Run] then returns, after all its workers.
package runloop
