package supervisor

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// sleepyClock is a clock whose machine sleeps when the test says so.
func sleepyClock() (c *clock, sleep func(time.Duration)) {
	c = &clock{}
	c.init()
	var slept atomic.Int64
	c.nap, c.napped = func() time.Duration { return time.Duration(slept.Load()) }, 0
	return c, func(d time.Duration) { slept.Add(int64(d)) }
}

// TestClock follows the machine's sleep, and nothing else that moves the wall clock:
// it is wall time once, at its start, and from then on what has passed.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sleep := sleepyClock()
		began := c.now()
		if strings.Contains(began.String(), "m=") {
			t.Errorf("%s has a monotonic reading, which no journal keeps", began)
		}
		time.Sleep(time.Hour)
		if got := c.now().Sub(began); got != time.Hour {
			t.Errorf("after an hour it shows %s", got)
		}
		if c.slept() != 0 {
			t.Error("it slept, though the machine did not")
		}
		sleep(sleepNoticed - 1) // such as the two clocks' drift
		if got := c.slept(); got != 0 {
			t.Errorf("it slept %s", got)
		}
		sleep(8 * time.Hour)
		if got := c.slept(); got != 8*time.Hour+sleepNoticed-1 {
			t.Errorf("it slept %s", got)
		}
		if got := c.slept(); got != 0 {
			t.Errorf("it slept %s more", got)
		}
		if got := c.now().Sub(began); got != 9*time.Hour+sleepNoticed-1 {
			t.Errorf("after the sleep it shows %s", got)
		}
		sleep(-4 * 365 * 24 * time.Hour) // a clock that was set back, where sleep cannot be told from it
		if got := c.slept(); got != 0 || c.now().Before(began) {
			t.Errorf("set back: it slept %s", got)
		}
	})
}

// TestOrder: inputs are stamped by several goroutines, and history never runs back.
func TestOrder(t *testing.T) {
	var c clock
	at := time.Unix(1_800_000_000, 0)
	for _, x := range []struct{ in, out time.Duration }{{0, 0}, {2, 2}, {1, 2}, {-time.Hour, 2}, {3, 3}, {365 * 24 * time.Hour, 365 * 24 * time.Hour}, {4, 365 * 24 * time.Hour}} {
		if got := c.order(at.Add(x.in)); !got.Equal(at.Add(x.out)) {
			t.Errorf("%s became %s", x.in, got.Sub(at))
		}
	}
}

// TestTheLoopWakes tells of a sleep before anything else that it is given then.
func TestTheLoopWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &fakeJournal{}
		c, sleep := sleepyClock()
		l := newLife(t, book, silentPort())
		l.loop.clock.nap, l.loop.clock.napped = c.nap, 0
		l.begin(func(o *Options) { o.Task, o.Timeout = "build", 2*time.Hour })
		time.Sleep(time.Second)
		before := l.loop.clock.now()
		sleep(8 * time.Hour)
		l.say("a", "good morning")
		time.Sleep(time.Second)
		facts := book.facts(t)
		if _, ok := facts[len(facts)-2].(Woke); !ok {
			t.Errorf("before the word came %T", facts[len(facts)-2])
		}
		if s := l.loop.Snapshot(); s.LastAt.Sub(before) < 8*time.Hour || s.Ending != nil {
			t.Errorf("last fact %s after the sleep began, ending %v", s.LastAt.Sub(before), s.Ending)
		}
		// The two hours are the run's, not the night's.
		time.Sleep(time.Hour)
		if l.loop.Snapshot().Ending != nil {
			t.Error("the sleep counted as time of the run")
		}
		if exit := l.over(); exit != contract.ExitLimit {
			t.Errorf("exit %d", exit)
		}
	})
}

// TestAStaleRing is dropped: of a timer that was stopped or set anew after it had
// rung, and before the loop got to it. One that counts leaves nothing behind.
func TestAStaleRing(t *testing.T) {
	for name, c := range map[string]struct {
		after func(l *Loop)
		stale bool
		left  int
	}{
		"in time":   {func(*Loop) {}, false, 0},
		"stopped":   {func(l *Loop) { l.setTimer(SetTimer{Key: "k"}) }, true, 0},
		"set anew":  {func(l *Loop) { l.setTimer(SetTimer{Key: "k", After: time.Hour}) }, true, 1},
		"another's": {func(l *Loop) { l.setTimer(SetTimer{Key: "x", After: time.Hour}) }, false, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLife(t, &fakeJournal{}, silentPort()).loop
			defer l.stopTimers()
			l.setTimer(SetTimer{Key: "k", After: time.Second})
			ring := <-l.inbox
			c.after(l)
			if got := l.stale(ring.Fact); got != c.stale || len(l.timers) != c.left {
				t.Errorf("%s: stale %v, %d timers left", name, got, len(l.timers))
			}
		})
	}
}
