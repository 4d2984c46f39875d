// Package control is how another process of the same user speaks to a running arbiter:
// `arbiter attach` in a second terminal, `arbiter halt`. It is JSON-RPC 2.0 over a unix
// socket in the run's directory, one object a line ([MethodStatus] and so on); there is
// no TCP anywhere.
//
// # Who may speak
//
// The socket is 0600 in a directory that is 0700. That keeps other users out and not the
// agents, which run as the same user. So each connection is looked at before a byte of it
// counts ([Identify]): the kernel tells the peer's user and process, and its line of
// parents is followed up to the first process. A process that descends from the arbiter that
// serves, or bears the mark of a run (proctree.EnvRun) that this arbiter does not bear itself,
// in its own environment or in that of any of its parents, is an agent's process; who cannot
// be looked at is taken for one. Such a peer gets one answer, [CodeRefused], whatever it
// asks. A process handle of the kernel's, where there is one, makes sure that the peer
// looked at is the one that connected.
//
// What an agent has started through a daemon outside (docker, systemd, at) never was a
// descendant and is not known as one: the user is no boundary. A sandbox that hides the run's
// directory is.
//
// # Goroutines, order, shutdown
//
// A [Server] owns the goroutine that accepts and one for each connection, which owns
// those of its requests; [Server.Close] ends the connections and waits for all. Requests of
// one connection are served side by side, except what is typed and the size, which are
// taken in their order by the goroutine that reads. An attached terminal's output goes
// through a [Feed], which never blocks its writer: a client that does not read falls behind, and is
// then dropped.
package control
