package supervisor

import (
	"sync/atomic"
	"time"
)

// sleepNoticed is how long the machine must have slept for it to matter.
const sleepNoticed = 30 * time.Second

// clock is the run's: wall time at the start of this process, and from then on what
// has passed, so that a clock that is set does not reorder history. It follows a
// sleep of the machine.
type clock struct {
	base  atomic.Pointer[time.Time] // with Go's monotonic reading
	ahead atomic.Int64              // slept since, in nanoseconds
	nap   func() time.Duration      // the machine's sleep since it started

	// These belong to the loop's goroutine.
	napped time.Duration
	latest time.Time
}

func (c *clock) init() {
	now := time.Now()
	c.base.Store(&now)
	c.nap = newNap()
	c.napped = c.nap()
}

// now is without a monotonic reading: a journal keeps none, and folding it must
// come to the same state.
func (c *clock) now() time.Time {
	base := c.base.Load()
	return base.Add(time.Since(*base) + time.Duration(c.ahead.Load())).Round(0)
}

// order gives times that never run backwards: inputs come from several goroutines.
func (c *clock) order(at time.Time) time.Time {
	if at.Before(c.latest) {
		return c.latest
	}
	c.latest = at
	return at
}

// slept says how long the machine slept since the last call, 0 if it did not.
func (c *clock) slept() time.Duration {
	napped := c.nap()
	slept := napped - c.napped
	if slept < sleepNoticed {
		return 0
	}
	c.napped = napped
	c.ahead.Add(int64(slept))
	return slept
}
