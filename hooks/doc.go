// Package hooks computes the answers of an agent's hooks; it is pure. Its input is an event
// of the CLI, a reading of the context and what was reported before; its output is the
// answer, what has been reported by now, and effects:
//
//	in, err := hooks.Parse(raw)
//	answer, spent, effects := hooks.Decide(policy, in, reading, spent)
//	reply(answer.JSON())
//
// Two transports carry it: control callbacks of a driven session, and the command
// `arbiter hook` in a session that a person opened in a terminal.
//
// # Rules
//
//   - A level of the context (warn, critical) is reported once, with the first event
//     that can carry it, and then sparingly: a reminder of warn is due after
//     another 5 points, one of critical after another 10 calls and 1 point, and
//     after a compaction was held back with every call.
//   - Calls of subagents neither get a warning nor spend one.
//   - An automatic compaction is blocked where the policy says
//     so, at most [MaxBlocks] times a turn: a session that cannot continue is worse
//     than one that forgets. One that a person asked for is let through.
//   - After a compaction all levels are due again, and the reminder is sent once.
//
// # Ownership
//
// There is no goroutine, clock, lock or I/O here. [Spent] is a value that belongs
// to a session's one owner, who calls Decide for one event at a time.
package hooks
