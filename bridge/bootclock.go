package bridge

// This part of the package is the clock by which leases run: it counts the time in which the machine was
// suspended, and no setting of the wall clock moves it. On Linux that is CLOCK_BOOTTIME, on macOS
// CLOCK_MONOTONIC.
//
// All processes of a machine see the same time, also in PID namespaces.

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime is the time since an arbitrary moment, such as the machine's start.
func BootTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(source, &now); err != nil {
		panic("the kernel has no clock that counts suspend: " + err.Error()) // it has had one since 2.6.39
	}
	return time.Duration(now.Nano())
}
