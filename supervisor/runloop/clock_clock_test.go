package runloop

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// sleepyClock is a clock whose machine sleeps when the test says so.
func sleepyClock() (c *Clock, sleep func(time.Duration)) {
	var slept atomic.Int64
	return StartClock(func() time.Duration { return time.Duration(slept.Load()) }), func(d time.Duration) {
		slept.Add(int64(d))
	}
}

// TestClock: the clock follows the machine's sleep, but no other change of the wall clock: it reads wall time
// once, at its start, and then adds the time that has passed.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sleep := sleepyClock()
		began := c.Now()
		if strings.Contains(began.String(), "m=") {
			t.Errorf("%s has a monotonic reading, which no journal keeps", began)
		}
		time.Sleep(time.Hour)
		if got := c.Now().Sub(began); got != time.Hour {
			t.Errorf("after an hour it shows %s", got)
		}
		if c.Slept() != 0 {
			t.Error("it slept, though the machine did not")
		}
		sleep(sleepNoticed - 1) // such as the two clocks' drift
		if got := c.Slept(); got != 0 {
			t.Errorf("it slept %s", got)
		}
		sleep(8 * time.Hour)
		if got := c.Slept(); got != 8*time.Hour+sleepNoticed-1 {
			t.Errorf("it slept %s", got)
		}
		if got := c.Slept(); got != 0 {
			t.Errorf("it slept %s more", got)
		}
		if got := c.Now().Sub(began); got != 9*time.Hour+sleepNoticed-1 {
			t.Errorf("after the sleep it shows %s", got)
		}
		sleep(-4 * 365 * 24 * time.Hour) // a clock that was set back, where sleep cannot be distinguished from it
		if got := c.Slept(); got != 0 || c.Now().Before(began) {
			t.Errorf("set back: it slept %s", got)
		}
	})
}

// TestOrder: several goroutines stamp inputs, and times never go backwards.
func TestOrder(t *testing.T) {
	var c Clock
	at := time.Unix(1_800_000_000, 0)
	for _, x := range []struct{ in, out time.Duration }{{0, 0}, {2, 2}, {1, 2}, {-time.Hour, 2}, {3, 3},
		{365 * 24 * time.Hour, 365 * 24 * time.Hour}, {4, 365 * 24 * time.Hour}} {
		if got := c.Order(at.Add(x.in)); !got.Equal(at.Add(x.out)) {
			t.Errorf("%s became %s", x.in, got.Sub(at))
		}
	}
}
