package runloop

import (
	"time"

	"golang.org/x/sys/unix"
)

// checkEvery is how long an answer of the kernel is used again: it takes two system calls, which cost as much as
// applying some inputs.
const checkEvery = 10 * time.Millisecond

// newNap distinguishes sleep from a change of the clock: one of the kernel's clocks continues during suspend,
// the other stands still. One goroutine may call what it returns.
func newNap() func() time.Duration {
	var checked time.Time
	var napped time.Duration
	return func() time.Duration {
		if time.Since(checked) < checkEvery {
			return napped
		}
		var boot, mono unix.Timespec
		if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
			return napped
		}
		checked, napped = time.Now(), time.Duration(boot.Nano()-mono.Nano())
		return napped
	}
}
