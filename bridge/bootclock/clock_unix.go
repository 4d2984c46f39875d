//go:build linux || darwin

package bootclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since an arbitrary moment, such as the machine's start.
func Now() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(source, &now); err != nil {
		panic("the kernel has no clock that counts suspend: " + err.Error()) // it has had one since 2.6.39
	}
	return time.Duration(now.Nano())
}
