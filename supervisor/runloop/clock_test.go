package runloop

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestTheLoopWakes: the loop reports a sleep before any other input that comes then.
func TestTheLoopWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		var slept atomic.Int64
		l := newLiveRun(t, recorded, silentPort())
		l.loop.clock = StartClock(func() time.Duration { return time.Duration(slept.Load()) })
		l.begin(func(o *runconfig.Options) { o.Task, o.Timeout = "build", 2*time.Hour })
		time.Sleep(time.Second)
		before := l.loop.clock.Now()
		slept.Add(int64(8 * time.Hour))
		l.say("a", "good morning")
		time.Sleep(time.Second)
		inputs := recorded.inputs(t)
		_, ok := inputs[len(inputs)-2].(input.WokeFromSleep)
		testkit.Check(t, ok, "before the word came %T", inputs[len(inputs)-2])
		if s := l.loop.Snapshot(); s.Budget.Runtime.LastAt.Sub(before) < 8*time.Hour || s.Ending != nil {
			t.Errorf("last input %s after the sleep began, ending %v", s.Budget.Runtime.LastAt.Sub(before), s.Ending)
		}
		// The two hours are the run's time, without the sleep.
		time.Sleep(time.Hour)
		testkit.Check(t, l.loop.Snapshot().Ending == nil, "the sleep counted as time of the run")
		testkit.Same(t, "exit", contract.ExitLimit, l.over())
	})
}

// TestAStaleRing: a ring is dropped if its timer was stopped or set anew after it had rung, and before the loop
// received it. A valid ring leaves nothing behind.
func TestAStaleRing(t *testing.T) {
	for name, c := range map[string]struct {
		after func(l *Loop)
		stale bool
		left  int
	}{
		"in time":   {func(*Loop) {}, false, 0},
		"stopped":   {func(l *Loop) { l.setTimer(input.SetTimer{Key: "k"}) }, true, 0},
		"set anew":  {func(l *Loop) { l.setTimer(input.SetTimer{Key: "k", After: time.Hour}) }, true, 1},
		"another's": {func(l *Loop) { l.setTimer(input.SetTimer{Key: "x", After: time.Hour}) }, false, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLiveRun(t, &fakeJournal{}, silentPort()).loop
			defer l.stopTimers()
			l.setTimer(input.SetTimer{Key: "k", After: time.Second})
			ring := <-l.inbox
			c.after(l)
			testkit.Same(t, fmt.Sprintf("%s: stale", name), c.stale, l.stale(ring.Body))
			testkit.Same(t, fmt.Sprintf("%s: len(l.timers)", name), c.left, len(l.timers))
		})
	}
}

// TestClock: the clock follows the machine's sleep, but no other change of the wall clock: it reads wall time
// once, at its start, and then adds the time that has passed.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64 // how long the machine has slept
		c := StartClock(func() time.Duration { return time.Duration(slept.Load()) })
		sleep := func(d time.Duration) { slept.Add(int64(d)) }
		began := c.Now()
		testkit.Excludes(t, fmt.Sprintf("%s has a monotonic reading, which no journal keeps", began), began.String(),
			"m=")
		time.Sleep(time.Hour)
		testkit.Same(t, "after an hour it shows", time.Hour, c.Now().Sub(began))
		testkit.Same(t, "it slept, though the machine did not", 0, c.Slept())
		sleep(sleepNoticed - 1) // such as the two clocks' drift
		testkit.Same(t, "it slept", 0, c.Slept())
		sleep(8 * time.Hour)
		testkit.Same(t, "it slept", 8*time.Hour+sleepNoticed-1, c.Slept())
		testkit.Same(t, "it slept more", 0, c.Slept())
		testkit.Same(t, "after the sleep it shows", 9*time.Hour+sleepNoticed-1, c.Now().Sub(began))
		sleep(-4 * 365 * 24 * time.Hour) // a clock that was set back, where sleep cannot be distinguished from it
		got := c.Slept()
		testkit.Check(t, got == 0 && !c.Now().Before(began), "set back: it slept %s", got)
	})
}

// TestOrder: several goroutines stamp inputs, and times never go backwards.
func TestOrder(t *testing.T) {
	var c Clock
	at := time.Unix(1_800_000_000, 0)
	for _, x := range []struct{ in, out time.Duration }{{0, 0}, {2, 2}, {1, 2}, {-time.Hour, 2}, {3, 3},
		{365 * 24 * time.Hour, 365 * 24 * time.Hour}, {4, 365 * 24 * time.Hour}} {
		got := c.Order(at.Add(x.in))
		testkit.Check(t, got.Equal(at.Add(x.out)), "%s became %s", x.in, got.Sub(at))
	}
}
