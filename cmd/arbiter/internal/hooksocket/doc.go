// Package hooksocket answers the hooks of sessions that a person opened in a terminal:
// `arbiter hook` ([Answer]) asks over a Unix socket, and the arbiter that plays the run
// ([Serve]) reads the session's context, decides by package hooks, and reports to its run what
// came of it. Each level is reported once; a process that an agent started has to show its
// agent's token ([Tokens]).
//
// A [Server] owns the goroutine that accepts and one for each event, and Close waits for
// them. A session never waits long: the client gives up after [Deadline], and prints
// nothing on any error.
package hooksocket
