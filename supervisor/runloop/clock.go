package runloop

// This part of the package provides a run's time: the wall clock at the start of the process plus the time
// that has passed since. It distinguishes a sleep of the machine from a change of the wall clock.

import (
	"sync/atomic"
	"time"
)

// sleepNoticed is how long a sleep of the machine must be to be reported.
const sleepNoticed = 30 * time.Second

// Clock gives times whose order does not change when somebody sets the machine's clock.
type Clock struct {
	base  atomic.Pointer[time.Time] // with Go's monotonic reading
	ahead atomic.Int64              // sleep since then, in nanoseconds
	nap   func() time.Duration      // the machine's sleep since it started

	// These fields belong to the goroutine that calls Order and Slept.
	napped time.Duration
	latest time.Time
}

// StartClock starts a clock; nap returns how long the machine has slept since it was started.
func StartClock(nap func() time.Duration) *Clock {
	c, now := &Clock{nap: nap, napped: nap()}, time.Now()
	c.base.Store(&now)
	return c
}

// Now is without a monotonic reading: a journal keeps none, and replaying it must lead to the same state. It
// may be called from any goroutine.
func (c *Clock) Now() time.Time {
	base := c.base.Load()
	return base.Add(time.Since(*base) + time.Duration(c.ahead.Load())).Round(0)
}

// Order returns times that never go backwards: inputs come from several goroutines.
func (c *Clock) Order(at time.Time) time.Time {
	if at.Before(c.latest) {
		return c.latest
	}
	c.latest = at
	return at
}

// Slept returns how long the machine slept since the last call, 0 if it did not.
func (c *Clock) Slept() time.Duration {
	napped := c.nap()
	slept := napped - c.napped
	if slept < sleepNoticed {
		return 0
	}
	c.napped = napped
	c.ahead.Add(int64(slept))
	return slept
}
