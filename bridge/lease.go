package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// LeaseGrace is how long after the end of its lease a remote bridge may need until nothing of what it started runs: it
// notices within a second, ends all in two, and what refuses to end is swept.
const LeaseGrace = 5 * time.Second

// errLeaseOver is the error with which a remote bridge ends.
var errLeaseOver = errors.New("the client was out of reach for longer than the lease")

// lease bounds how long a remote bridge continues without its client. It runs from the sending of a tick that was
// answered, so that an answer that was long on its way renews little. A nil lease holds for ever.
type lease struct {
	length  time.Duration
	now     func() time.Duration        // counts suspend
	renewed func(until time.Duration)   // may be nil
	tick    func(context.Context) error // asks the client; an error is no answer

	mu    sync.Mutex
	until time.Duration
	over  bool // for good, with any later answer
}

func newLease(length time.Duration, now func() time.Duration, renewed func(time.Duration),
	tick func(context.Context) error) *lease {
	l := &lease{length: length, now: now, renewed: renewed, tick: tick}
	l.renew(now())
	return l
}

// renew takes the answer to a tick of that time.
func (l *lease) renew(sent time.Duration) {
	l.mu.Lock()
	until := sent + l.length
	if l.over || until <= l.until || l.now() >= l.until && l.until > 0 {
		l.mu.Unlock() // an answer that comes after the end, as after a stop of this process, changes nothing
		return
	}
	l.until = until
	l.mu.Unlock()
	if l.renewed != nil {
		l.renewed(until)
	}
}

// holds reports whether work may continue. It asks the clock: after a stop of the process no timer has fired yet.
func (l *lease) holds() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over && l.now() >= l.until {
		l.over = true
	}
	return !l.over
}

// run sends ticks and watches the clock until ctx ends or the lease is over, and returns when no tick is under way.
// Timers may stand still while the machine sleeps, so that the clock is looked at often.
func (l *lease) run(ctx context.Context) {
	var ticks sync.WaitGroup
	defer ticks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	look := time.NewTicker(min(l.length/16, time.Second/4))
	defer look.Stop()
	next := l.now()
	for l.holds() {
		if now := l.now(); now >= next {
			next = now + l.length/4
			ticks.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, l.length)
				defer cancel()
				if l.tick(ctx) == nil {
					l.renew(now)
				}
			})
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// check refuses what would continue after the end of the lease.
func (l *lease) check() error {
	if l.holds() {
		return nil
	}
	return fmt.Errorf("%w: %w", errShuttingDown(), errLeaseOver)
}
