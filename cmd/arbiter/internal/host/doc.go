// Package host is the process that hosts a run: it plays the supervisor's loop, opens bridges on this machine
// and on others, and serves the clients of the run over its sockets. Commands and frontends use its parts
// that start such a process, a bridge or a rehearsal.
package host
