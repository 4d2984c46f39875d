// Package fakecli is a stand-in for the Claude Code CLI: it speaks the CLI's stream-json frames
// and control protocol on stdin and stdout, asks the scripted model of a rehearsal over the
// Messages API, and misbehaves on request (see [FaultVariable]). A hundred of them run beside
// each other on one machine.
//
// # Purpose
//
// The package is for scale, faults and speed. The real CLI, which runs offline against the same
// scripted model, tests how Claude Code works inside. The loop here is therefore the smallest that
// plays a scenario: request, text and tool calls, hooks and permission, tools, results, result. It
// asks the model over HTTP, because one scripted model plays all sessions of a run: what one of them
// said fills the templates of another.
//
// It imitates how a host drives the CLI (observed with version 2.1.329): initialize, messages that
// queue and join a turn, interrupts, permission questions, hooks, the host's MCP servers, blocking
// subagents, verdicts, transcripts, resume, signals and exit codes. The cases in testdata run
// against both programs. Those in testdata/claude run against the real CLI only, and replace the
// shorter case of the same name. The package does not imitate what the CLI decides on its own: refused
// options, schemas, retries, compaction, task lists, slash commands, settings files, merged messages
// and the progress of subagents.
//
// It judges calls by permission rules as the CLI does, with a shorter list of commands that need no
// permission. Where a line is hard to judge it asks, also where the CLI knows better: variables,
// here-documents, and programs that start others. Rules for skills, links, relative patterns after a
// cd, and the modes plan and auto (they do what default does) are left out.
//
// The init frame and the answer to initialize contain `"stand_in":true`.
//
// # Goroutines and locks
//
// [Main] runs the turns, one after the other, on its own goroutine. Beside it run the reader of
// stdin, which answers control requests, fills the inbox and never waits for a turn; the
// signal watcher; the writer of stdout behind an unbounded queue, because the CLI keeps working
// while nothing reads it; and handshakes with MCP servers and side questions. Inside a turn
// the Agent calls of an answer run side by side. Each goroutine is waited for by what started it,
// except the reader: a read from stdin cannot be cut short.
//
// session.mu guards what several goroutines use; the faults and transcriptFile have locks of
// their own. Only transcriptFile holds its lock during I/O.
//
// # Shutdown
//
// At the end of input the queue runs dry. SIGINT interrupts the turn. SIGTERM and SIGHUP kill the
// running tools and leave without a result. In every case stdout is drained first, for a bounded
// time.
package fakecli
