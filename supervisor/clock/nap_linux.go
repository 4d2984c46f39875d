package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// newNap distinguishes sleep from a change of the clock: one of the kernel's clocks continues during suspend,
// the other stands still.
func newNap() func() time.Duration {
	return func() time.Duration {
		var boot, mono unix.Timespec
		if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
			return 0
		}
		return time.Duration(boot.Nano() - mono.Nano())
	}
}
