// Package control connects other processes of the same user, such as `arbiter attach` in a second terminal,
// to a running arbiter. The protocol is JSON-RPC 2.0 over a Unix socket in the run's directory, one object
// per line ([MethodStatus] and so on). There is no TCP.
//
// # Access
//
// The socket has mode 0600 in a directory with mode 0700. That keeps other users out, but not the agents,
// which run as the same user. So each connection is inspected before any of its bytes is used ([Identify]):
// the kernel reports the peer's user and process, and its chain of parents is followed up to the first
// process. A process counts as an agent's if it descends from the arbiter that serves, if it cannot be
// inspected, or if its environment or that of any of its parents bears the mark of a run (proctree.EnvRun)
// that this arbiter itself does not bear. Such a peer gets one answer, [CodeRefused], whatever it requests.
// A process handle of the kernel, where available, ensures that the inspected peer is the one that
// connected.
//
// A process that an agent started through an outside daemon (docker, systemd, at) is not a descendant, so
// it is not recognized: processes of one user cannot be kept apart reliably. A sandbox that hides the run's
// directory prevents this.
//
// # Goroutines, order, shutdown
//
// A [Server] owns the goroutine that accepts and one for each connection, which owns the goroutines of its
// requests; [Server.Close] ends the connections and waits for all. Requests of one connection are served
// concurrently, except typed input and size changes, which the reading goroutine handles in their order. An
// attached terminal's output goes through a [Feed], which never blocks its writer: a client that does not
// read falls behind, and is then dropped.
package control
