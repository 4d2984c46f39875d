package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// LeaseGrace is how long a remote bridge may take after the end of its lease until no process that it
// started runs: it notices within a second and ends all in two; processes that refuse to end are swept.
const LeaseGrace = 5 * time.Second

// errLeaseOver is the error with which a remote bridge ends.
var errLeaseOver = errors.New("the client was out of reach for longer than the lease")

// lease bounds how long a remote bridge continues without its client. It is counted from the time at which
// the last answered tick was sent, so that a slow answer renews little. A nil lease never ends.
type lease struct {
	length  time.Duration
	now     func() time.Duration        // includes the time in suspend
	renewed func(until time.Duration)   // may be nil
	tick    func(context.Context) error // asks the client; an error is not an answer

	mu    sync.Mutex
	until time.Duration
	over  bool // permanently: later answers change nothing
}

func newLease(length time.Duration, now func() time.Duration, renewed func(time.Duration),
	tick func(context.Context) error) *lease {
	l := &lease{length: length, now: now, renewed: renewed, tick: tick}
	l.renew(now())
	return l
}

// renew handles the answer to a tick that was sent at that time.
func (l *lease) renew(sent time.Duration) {
	l.mu.Lock()
	until := sent + l.length
	if l.over || until <= l.until || l.now() >= l.until && l.until > 0 {
		l.mu.Unlock() // an answer after the end, such as after a stop of this process, changes nothing
		return
	}
	l.until = until
	l.mu.Unlock()
	if l.renewed != nil {
		l.renewed(until)
	}
}

// holds reports whether work may continue. It reads the clock: after a stop of the process no timer has
// fired yet.
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

// run sends ticks and checks the clock until ctx ends or the lease is over, and returns when no tick is in
// progress. Timers may stand still while the machine sleeps, so the clock is checked often.
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

// check returns an error after the end of the lease.
func (l *lease) check() error {
	if l.holds() {
		return nil
	}
	return fmt.Errorf("%w: %w", errShuttingDown(), errLeaseOver)
}
