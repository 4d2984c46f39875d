// Package hooksocket answers the hooks of sessions that persons opened in a terminal:
// `arbiter hook` ([Answer]) asks over a unix socket, and the arbiter that plays the run
// ([Serve]) reads the session's context, decides by package hooks, and tells its run what
// came of it. Each level is reported once; a process that an agent started has to show its
// agent's token ([Tokens]).
//
// A [Server] owns the goroutine that accepts and one for each event, and Close waits for
// them. Nobody holds a session up: the one who asks gives up after [Deadline], and says
// nothing whatever went wrong.
package hooksocket
