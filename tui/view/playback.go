package view

// This part of the package replays a run from its event log, at a pace that a person chooses. It only reads
// the log: no process is started, and nothing is written.
//
// A [Player] passes the events to a [PlaybackStage], in order and each at its time. A viewer gets from it the state
// of the run that follows from those events ([Player.Snapshot]), which has what a screen shows, and the
// time of the playback ([Player.Now]). To go back, the stage drops all events, and receives the events
// again from the beginning.
//
// One goroutine plays ([Player.Play]); the other methods are safe for concurrent use.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// speeds are the factors by which a run can be played faster than it happened.
var speeds = []int{1, 2, 8, 64}

// longestPause bounds the wait for the next event at any speed, so that long breaks are skipped.
const longestPause = 2 * time.Second

// playbackStep is the length of one jump at speed 1.
const playbackStep = 10 * time.Second

// PlaybackStage receives the events. Its methods return false if ctx has ended.
type PlaybackStage interface {
	// Add passes an event on. It waits while there is no room.
	Add(ctx context.Context, at time.Time, e contract.Event) bool
	// Forget drops all events that were passed on.
	Forget(ctx context.Context) bool
}

// PlaybackStatus is the position and state of a playback.
type PlaybackStatus struct {
	Speed  int
	Paused bool
	Ended  bool      // all events were reported
	At     time.Time // time in the run
	Err    error     // why the log cannot be read further
}

// Player plays one run.
type Player struct {
	run     string
	log     *journal.EventLog
	changed chan struct{} // capacity 1: the status or the state has changed
	wake    chan struct{} // capacity 1: Play checks the requests

	mu     sync.Mutex
	fold   supervisor.Playback
	speed  int // index into speeds
	paused bool
	ended  bool
	err    error
	at     time.Time // of the run, at the time since
	since  time.Time
	next   time.Time // of the next event
	last   time.Time // of the last reported event
	target time.Time // events before it are shown at once
	rewind bool      // the target is before what was reported
}

// NewPlayer returns a player for a run's log, which the caller keeps. It does not play yet.
func NewPlayer(run string, log *journal.EventLog) *Player {
	return &Player{run: run, log: log, changed: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
}

// ID returns the run's id.
func (p *Player) ID() string { return p.run }

// Changed has a value when the status or the state has changed.
func (p *Player) Changed() <-chan struct{} { return p.changed }

// Snapshot returns the state of the run as reported so far. It is not changed.
func (p *Player) Snapshot() *supervisor.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fold.Snapshot()
}

// Status returns the status of the playback.
func (p *Player) Status() PlaybackStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PlaybackStatus{Speed: speeds[p.speed], Paused: p.paused, Ended: p.ended, At: p.now(), Err: p.err}
}

// Now returns the current time of the playback, as a time of the run.
func (p *Player) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now()
}

// now is Now; the caller holds mu.
func (p *Player) now() time.Time {
	if p.paused || p.ended || p.at.IsZero() {
		return p.at
	}
	t := p.at.Add(time.Since(p.since) * time.Duration(speeds[p.speed]))
	if !p.next.IsZero() && t.After(p.next) {
		return p.next
	}
	return t
}

// set starts counting from a time of the run; the caller holds mu.
func (p *Player) set(at time.Time) { p.at, p.since = at, time.Now() }

// change changes the requests, and makes Play check them.
func (p *Player) change(do func()) {
	p.mu.Lock()
	p.set(p.now())
	do()
	p.mu.Unlock()
	backlog.Hint(p.wake)
	backlog.Hint(p.changed)
}

// Pause pauses the playback, or lets it continue.
func (p *Player) Pause() { p.change(func() { p.paused = !p.paused }) }

// Faster selects the next speed, or with -1 the previous one.
func (p *Player) Faster(by int) {
	p.change(func() { p.speed = max(min(p.speed+by, len(speeds)-1), 0) })
}

// Jump moves forwards, or with -1 back, by some seconds: more at a higher speed, and always beyond the next event.
func (p *Player) Jump(by int) {
	p.change(func() {
		far := time.Duration(by) * playbackStep * time.Duration(speeds[p.speed])
		to := p.at.Add(far)
		switch {
		case by > 0 && to.Before(p.next):
			to = p.next
		case by < 0 && !p.last.IsZero() && !to.Before(p.last):
			to = p.last.Add(-1)
		}
		p.jump(to)
	})
}

// Begin plays the run from its beginning.
func (p *Player) Begin() { p.change(func() { p.jump(time.Time{}) }) }

// End reports all remaining events at once.
func (p *Player) End() { p.change(func() { p.jump(p.at.AddDate(1000, 0, 0)) }) }

// jump requests a jump; the caller holds mu.
func (p *Player) jump(to time.Time) {
	if p.rewind = p.rewind || !to.After(p.last); p.rewind {
		p.ended = false
	}
	p.target = to
}

// errRewind ends a walk through the log to start again.
var errRewind = errors.New("rewind")

// Play reports the events until ctx ends. It is called once.
func (p *Player) Play(ctx context.Context, stage PlaybackStage) {
	for ctx.Err() == nil {
		_, err := p.log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error { return p.play(ctx, stage, e) })
		if err == nil || !errors.Is(err, errRewind) && ctx.Err() == nil {
			err = p.rest(ctx, err)
		}
		if errors.Is(err, errRewind) && stage.Forget(ctx) {
			p.mu.Lock()
			p.fold, p.rewind, p.ended, p.err = supervisor.Playback{}, false, false, nil
			p.last, p.next = time.Time{}, time.Time{}
			p.set(p.target)
			p.mu.Unlock()
		}
	}
}

// rest waits at the end of the log until a request goes back.
func (p *Player) rest(ctx context.Context, failed error) error {
	p.mu.Lock()
	p.set(p.last)
	p.ended, p.next = true, time.Time{}
	if failed != nil {
		p.err = fmt.Errorf("the rest of the event log cannot be read: %w", failed)
	}
	p.mu.Unlock()
	backlog.Hint(p.changed)
	for {
		p.mu.Lock()
		back := p.rewind
		p.mu.Unlock()
		if back {
			return errRewind
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *Player) play(ctx context.Context, stage PlaybackStage, e journal.LogEntry) error {
	if e.Line == nil {
		return nil
	}
	if err := p.await(ctx, e.At); err != nil {
		return err
	}
	event, err := contract.DecodeWritten(e.Line)
	if err != nil {
		return fmt.Errorf("line %d: %w", e.N, err)
	}
	if !stage.Add(ctx, e.At, event) {
		return ctx.Err()
	}
	p.mu.Lock()
	p.fold.Add(e.At, event)
	p.last = e.At
	p.mu.Unlock()
	backlog.Hint(p.changed)
	return nil
}

func (p *Player) await(ctx context.Context, at time.Time) error {
	for {
		left, held, err := p.due(at)
		if err != nil || left <= 0 && !held {
			return err
		}
		if held {
			left = time.Hour // it is checked again when it wakes up
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-p.wake:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// due returns how long it is until an event, and whether the playback is paused. Long pauses are shortened.
func (p *Player) due(at time.Time) (left time.Duration, held bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	speed := time.Duration(speeds[p.speed])
	switch {
	case p.rewind:
		return 0, false, errRewind
	case p.last.IsZero() || !at.After(p.last) || !at.After(p.target): // the first, of the same moment, or on the way
		p.next = time.Time{}
		p.set(at)
		return 0, false, nil
	}
	p.next = at
	if p.target = (time.Time{}); p.paused {
		return 0, true, nil
	}
	now := p.now()
	if at.Sub(now) > longestPause*speed {
		now = at.Add(-longestPause * speed)
	}
	p.set(now)
	return at.Sub(now) / speed, false, nil
}
