// Package crashpoint names the places where a process may be killed to see what it
// leaves behind. In normal builds [Here] does nothing, whatever the environment says. Built with
//
//	go build -ldflags "-X github.com/arbiter-cli/arbiter/bridge/crashpoint.enabled=yes" ./cmd/arbiter
//
// a process that reaches the place named by ARBITER_CRASH_AT kills itself with
// SIGKILL, so that no deferred call, no buffer and no exit handler can tidy up:
//
//	ARBITER_CRASH_AT=journal.append.written:3           the third time, in any process
//	ARBITER_CRASH_AT=bridge/proctree.swept:1               in the process whose Role is bridge
//	ARBITER_CRASH_AT=panic:arbiter/loop.applied:2       a panic instead
//
// ARBITER_CRASH_LOG names a file to which each process appends each place it
// reaches, once, as "role/name", and "role/name died" where it ends: what was never
// reached was never tested. With a log only one process dies: a process that is started in
// its stead inherits the variables, and lives. The variables do not reach agents, whose environment is
// an allow-list.
//
// [Points] lists all places; a test holds it to the calls in the source.
//
// The package is a leaf: no goroutines, and no state but the counts of a process.
package crashpoint
