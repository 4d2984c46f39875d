// Package claude drives the Claude Code CLI: one child process per agent, over stream-json and the control
// protocol on its stdin and stdout. It implements [bridge.Launcher] and [bridge.Agent];
// no type of the CLI's wire format leaves it.
//
// # The path of a frame
//
// stdout → package jsonl (bounded lines) → [decode] (a sealed union, [frame]) → [reader.handle] → turns,
// context and subagent records → bridge events → Host.Emit. Messages and control requests go the other way
// through one [stdin] writer, a line per write, each with a deadline.
//
// # Who owns which goroutine
//
// An agent has five goroutines for its whole lifetime: superviseProcess (stop.go), which waits for the process, runs
// the stop ladder, joins the others and emits `done`; the stdout reader, which alone owns the records of
// subagents and emits events about turns; the transcript's follower (follow.go); the one that requests the
// cost of the turn (spending.go); and the one that drains stderr. All agents of a [Launcher] share one
// watcher, which exists while any of them runs.
//
// Requests of the CLI (permission, MCP) are answered by short goroutines that superviseProcess cancels and waits for,
// so the reader never waits for a client's answer. The reader itself decides the answer to a hook, at once
// and in the order of the frames; a short goroutine only writes it. Short goroutines also send those
// requests of the driver whose answers the reader handles among the frames ([calls.post]), and serve a
// probe: at most one look at a time, and one ping. The MCP server of an agent has goroutines of the SDK, and one that
// reads its answers; superviseProcess ends them.
//
// Every tool call of a judged agent is put before the client first (judge.go): its PreToolUse hook is
// answered by a short goroutine of its own, with a deny if anything is in doubt, and never with an error.
// Calls that need an answer then arrive by can_use_tool.
//
// A query (query.go, queryrun.go) is a process of its own with three goroutines: one writes its input, two
// drain its outputs. The caller waits for them.
//
// # What was done
//
// The reader records a turn's tool calls (toolcalls.go) and the session's list of tasks (tasks.go). The
// tool calls are reported with the turn, even if the turn is lost. The list of tasks is reported whenever
// it has changed, and is read from the CLI's files before a session continues.
//
// # How full the context is
//
// The gauge has three sources. The stream comes first, then the transcript. The third is the CLI's own
// report, which is requested before the first message (it names the window, and the transcript waits for
// that), after each turn and after a compaction. A message makes one reading, whichever source reports it
// first. If two sources differ, the CLI is asked twice, and its answer counts. Readings are emitted in the
// order in which they were made, whichever goroutine made them ([gauge.report]). The usage of subagents
// never changes it.
//
// # Resume
//
// Before a process resumes a session, its transcript is read for the delivery status of the messages whose
// end was not seen (resume.go). A process whose frames name another session is ended, and no later frame of
// it is routed.
//
// # Ordering
//
// Events of one agent are emitted in the order of its stdout; `stderr` events are not ordered relative to
// them. `done` is emitted once, after every other event and after the last process of the agent has ended.
//
// # Facts about the wire that shape the code (observed with CLI 2.1.329)
//
// A turn ends with one result frame, matched by user_message_uuids, never by counting: results may be fewer
// than messages (folded) or more (other origins). A verdict is the presence of structured_output, never
// text. An API failure is subtype "success" with is_error. result.usage is a sum over calls, not a context
// size. One malformed line on stdin ends the process. Unknown frames, fields and control requests are
// normal: unknown frames and fields are tolerated, unknown control requests are answered with an error.
package claude
