// Package crashpoint names the places where a process may be killed to see in which state it leaves files
// and other processes. In normal builds [Here] does nothing, whatever the environment says. Built with
//
//	go build -ldflags "-X github.com/arbiter-cli/arbiter/bridge/crashpoint.enabled=yes" ./cmd/arbiter
//
// a process that reaches the place named by ARBITER_CRASH_AT kills itself with SIGKILL, so that no deferred
// call, no buffer and no exit handler can clean up:
//
//	ARBITER_CRASH_AT=journal.append.written:3           the third time, in any process
//	ARBITER_CRASH_AT=bridge/proctree.swept:1               in the process whose Role is bridge
//	ARBITER_CRASH_AT=panic:arbiter/loop.applied:2       a panic instead
//
// ARBITER_CRASH_LOG names a file to which each process appends each place it reaches, once, as "role/name",
// and "role/name died" where it ends: a place that was never reached was never tested. With a log only one
// process dies: its replacement inherits the variables, and continues. The variables do not reach agents,
// whose environment is an allow-list.
//
// [Points] lists all places; a test compares it with the calls in the source.
//
// The package is a leaf: no goroutines, and no state except the counts of a process.
package crashpoint
