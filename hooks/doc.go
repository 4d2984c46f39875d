// Package hooks computes the answers of an agent's hooks, without side effects. Its input is an event of the
// CLI, a reading of the context and what was reported before; its output is the answer, what has been reported
// now, and effects:
//
//	in, err := hooks.Parse(raw)
//	answer, spent, effects := hooks.Decide(policy, in, reading, spent)
//	reply(answer.JSON())
//
// It has two transports: control callbacks of a driven session, and the command `arbiter hook` in a session
// that a person opened in a terminal.
//
// # Rules
//
//   - A level of the context (warn, critical) is reported once, with the first event that can carry it. After that it
//     is repeated rarely: warn after another 5 points, critical after another 10 calls and 1 point. After a blocked
//     compaction it is repeated with every call.
//   - Calls of subagents get no warning, and do not use one up.
//   - An automatic compaction is blocked if the policy says so, at most [MaxBlocks] times per turn: a session that
//     cannot continue is worse than one that forgets. A compaction that a person asked for is not blocked.
//   - After a compaction all levels are due again, and the reminder is sent once.
//
// # Ownership
//
// The package has no goroutine, clock, lock or I/O. [Spent] is a value that belongs to the only owner of a
// session, who calls Decide for one event at a time.
package hooks
