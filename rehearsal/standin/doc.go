// Package standin is a stand-in for the Claude Code CLI: a small, real agent
// loop that speaks the CLI's stream-json frames and control protocol on stdin
// and stdout, calls a Messages API and runs tools in its working directory.
// With a scripted Messages API it rehearses what drives Claude sessions without
// the CLI, many at once, and misbehaves on request (see [FaultVariable]).
//
// What it does on the wire was observed with CLI 2.1.329; the cases under
// testdata run against both, so that it cannot drift unseen. Differences that are
// meant: the init frame and the initialize response say `"stand_in":true`; there
// are no background tasks, plugins, skills, MCP servers other than the host's,
// settings files or tool search; a subagent has no Agent tool; the shell's directory
// does not outlive a Bash call. Of options, control requests, hook answers and local
// commands it knows what drives sessions makes use of: messages have no priority, no
// session is forked or continued by another's name, outside of a terminal it speaks
// stream-json alone, and what is wrong with a verdict it says in its own words.
//
// # Goroutines
//
// [Main] runs the turns, one after the other, on its own goroutine. Beside it:
// the reader of stdin, which answers control requests and fills the inbox and
// must never wait for a turn; the signal watcher; one writer per output file
// (stdout, each transcript), behind an unbounded queue, because the CLI keeps
// working while its stdout is not read. Inside a turn a tool scheduler runs while
// the model's answer still streams. Each is waited for by what started it, except
// the reader: a read from stdin cannot be cut short, it ends with the process.
//
// # State
//
// Each piece of state has one small owner with its own lock: inbox (messages),
// host (questions to the host), permissions, hookSet, mcpServers, ledger (usage
// and cost), history (a conversation), lineWriter (a file). No lock is held during
// I/O or across a question.
//
// # Order
//
// All of a turn is in the transcript before its result frame is written, as with
// the CLI. A tool's frame may come before the next content block's.
//
// # Shutdown
//
// End of input lets the queue run dry. SIGINT and end_session interrupt the turn.
// SIGTERM and SIGHUP kill the running tools and leave without a result. In every
// case stdout is drained first, for a bounded time.
package standin
