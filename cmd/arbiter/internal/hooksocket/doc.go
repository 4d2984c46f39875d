// Package hooksocket answers the hooks of sessions that a person opened in a terminal: `arbiter hook` (package
// hookclient) asks over a Unix socket. The arbiter that plays the run ([Serve]) reads the session's context, decides
// with package hooks, and reports the outcome to its run. It reports each level once. A process that an agent started
// must present its agent's token ([Tokens]).
//
// A [Server] owns the goroutine that accepts connections and one for each event; Close waits for them.
package hooksocket
