// Package bootclock is the clock by which leases run: it counts the time in which the machine was suspended, and no
// setting of the wall clock moves it. On Linux that is CLOCK_BOOTTIME, on macOS CLOCK_MONOTONIC. On other systems it
// is Go's monotonic clock, which may stand still in suspend.
//
// All processes of a machine see the same time, also in PID namespaces.
package bootclock
