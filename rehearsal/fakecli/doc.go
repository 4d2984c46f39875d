// Package fakecli is the stand-in for the Claude Code CLI: it speaks the CLI's stream-json
// frames and control protocol on stdin and stdout, asks the scripted model of a rehearsal over
// the Messages API, and misbehaves on request (see [FaultVariable]). A hundred of them run
// beside each other on one machine.
//
// # What it is for
//
// Scale, faults and speed. Everything about the way Claude Code works inside is tested with the
// real CLI, which runs offline against the same scripted model. So the loop here is the
// smallest that plays a scenario: request, text and tool calls, hooks and permission, tools,
// results, result. It talks to the model over HTTP, like the CLI, because one scripted model
// plays all sessions of a run at once: what one of them said fills the templates of another.
//
// It imitates how the CLI is driven (observed with version 2.1.329): initialize, messages that
// queue, fold and merge, interrupts, permission questions, hooks, the host's MCP servers, blocking
// subagents, verdicts, transcripts, resume, signals and exit codes. The cases in testdata run
// against both, so that it cannot drift unseen; those in testdata/claude hold the real CLI alone,
// and take the place of the shorter case of the same name. It does not imitate what the CLI
// decides without asking: which lines of several commands are harmless, what a rule with a pattern
// covers, which options and lines are refused, whether a verdict fits its schema, how often a
// model is asked again; nor compaction, changes of the model, retries of API requests, task
// lists, slash commands, background tasks, settings files, the quotas of a login, and frames that a
// driver passes over.
// It asks about a call unless a hook or a rule about all of the tool allows it, or it only looks.
// Tools run when an answer is complete, not while it streams, and do no more than scenarios need.
// The init frame and the answer to initialize say `"stand_in":true`.
//
// # Goroutines
//
// [Main] runs the turns, one after the other, on its own goroutine. Beside it: the reader of
// stdin, which answers control requests and fills the inbox and must never wait for a turn; the
// signal watcher; the writer of stdout behind an unbounded queue, because the CLI keeps working
// while nothing reads it; handshakes with MCP servers, and control requests that take time.
// Inside a turn the Agent calls of an answer run side by side. Each goroutine is waited for by
// what started it, except the reader: a read from stdin cannot be cut short, it ends with the
// process.
//
// # State and order
//
// session.mu guards what several goroutines use; inbox, host and transcriptFile have their own
// locks, and the queues of inbox and lineWriter theirs. No lock is held across a question to the
// host, and but for appending to a transcript none is held during I/O.
// All of a turn is in the transcript before its result frame is written, as with the CLI.
//
// # Shutdown
//
// End of input lets the queue run dry. SIGINT interrupts the turn. SIGTERM and SIGHUP kill the
// running tools and leave without a result. In every case stdout is drained first, for a bounded
// time.
package fakecli
