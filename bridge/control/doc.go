// Package control connects other processes of the same user, such as `arbiter attach` in a
// second terminal, to a running arbiter. The protocol is JSON-RPC 2.0 over a Unix socket in the
// run's directory, one object per line ([MethodStatus] and so on). There is no TCP.
//
// # Access
//
// The socket is 0600 in a directory that is 0700. That keeps other users out and not the
// agents, which run as the same user. So each connection is inspected before any byte of it
// counts ([Identify]): the kernel reports the peer's user and process, and its chain of
// parents is followed up to the first process. A process that descends from the arbiter that
// serves, or bears the mark of a run (proctree.EnvRun) that this arbiter does not bear itself,
// in its own environment or in that of any of its parents, is an agent's process; so is any
// process that cannot be inspected. Such a peer gets one answer, [CodeRefused], whatever it
// asks. A process handle of the kernel, where available, ensures that the inspected peer
// is the one that connected.
//
// A process that an agent started through a daemon outside (docker, systemd, at) is not a
// descendant, so it is not recognised: the user is no boundary. A sandbox that hides the run's
// directory is.
//
// # Goroutines, order, shutdown
//
// A [Server] owns the goroutine that accepts and one for each connection, which owns
// the goroutines of its requests; [Server.Close] ends the connections and waits for all. Requests of
// one connection are served side by side, except what is typed and the size, which are
// taken in their order by the goroutine that reads. An attached terminal's output goes
// through a [Feed], which never blocks its writer: a client that does not read falls behind, and is
// then dropped.
package control
