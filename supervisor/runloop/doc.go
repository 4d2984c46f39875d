// Package runloop plays a run: it feeds inputs to supervisor.Apply, and has the effects carried out.
//
// [Loop] is the one goroutine that owns a run's state. Everybody else puts inputs in ([Loop.Put], and the methods by
// which it is a bridge's handler) and reads snapshots. An effect is carried out, by a worker, once the input that it
// follows from is on disk; its outcome comes back as another input.
//
// Where what is:
//
//	loop, run             the loop: what it owns, and one input after the other
//	books                 the journal, and what waits for the disk
//	perform, workers      effects, and the goroutines that carry them out
//	decideworker          … those of deciders
//	terminalworker        … those of terminals
//	handler, hosthandler  the questions of the bridges, each for the agents of its host
//	judge, view           what the rules answer, by the files of the agent's host
//	ports                 the bridges, by host
//	grantworker           rules and actions that the human granted
//	masked                secrets are masked before an input is recorded
//	trustworker           the workspace is looked at before an agent starts
//	unknownagent          input from an unknown agent is dropped
//
// Order: inputs from one agent are applied in the order in which they happened; short requests to one agent (a
// message, an interrupt) are carried out in the order in which they were decided.
//
// Shutdown: a run ends by a decision of Apply, which stops the agents and emits `result` when they are gone.
// [Loop.Run] then returns, after all its workers.
package runloop
