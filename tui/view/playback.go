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
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// maxAgents bounds how many agents are kept; further ones are only in the events.
const maxAgents = 4096

// unsandboxed is a session's sandbox value if it has none.
const unsandboxed = "unsandboxed"

// playbackFold is the state of a run according to its events: what a screen shows of a run. Information that only
// the journal has is missing.
type playbackFold struct{ state supervisor.State }

// snapshot returns a copy that is not changed any more.
func (f *playbackFold) snapshot() *supervisor.State {
	s := f.state
	s.Agents = make([]*supervisor.Agent, len(f.state.Agents))
	for i, a := range f.state.Agents {
		b := *a
		s.Agents[i] = &b
	}
	return &s
}

func (f *playbackFold) add(at time.Time, e contract.Event) {
	s := &f.state
	switch b := e.Body.(type) {
	case contract.Session:
		f.session(at, b)
	case contract.State:
		s.Task.Phase = machine.State(b.To)
	case contract.Spawn:
		f.spawned(at, e.ID, b)
	case contract.Message:
		f.message(b)
	case contract.Delivered, contract.Assistant, contract.ToolUse, contract.ToolResult, contract.ToolCall:
		f.status(at, e.ID, supervisor.AgentBusy)
	case contract.Decision:
		s.Budget.CostUSD += b.CostUSD
	case contract.Cost:
		if e.ID == contract.Supervisor {
			s.Budget.Charge(b.Usage, b.CostUSD)
		} else if a := f.agent(e.ID); a != nil {
			a.Live.CostUSD, a.Live.Usage = b.CostUSD, b.Usage
		}
		f.status(at, e.ID, supervisor.AgentBusy)
	case contract.Turn:
		f.turned(at, e.ID, b)
	case contract.Context:
		if a := f.agent(e.ID); a != nil {
			c := &a.Context
			c.Tokens, c.Window, c.Pct, c.TurnsLeft, c.Source = b.Tokens, b.Window, b.Pct, b.TurnsLeft, b.Source
		}
	case contract.ContextWarning:
		if a := f.agent(e.ID); a != nil {
			a.WarnedLevel = b.Level
		}
	case contract.Plan:
		s.Task.Plan, s.Task.AgentTasks = b.Steps, b.Tasks
	case contract.Handoff:
		if a := f.agent(b.From); a != nil {
			a.Standing = supervisor.HandedOff
		}
	case contract.Done:
		if a := f.agent(e.ID); a != nil {
			f.lose(a)
			f.status(at, e.ID, supervisor.AgentEnded)
			a.Dismissed = true
		}
	case contract.Halted:
		s.Halted = true
	case contract.Result:
		s.Ending = &supervisor.Ending{Status: b.Status, Summary: b.Summary, Said: true}
		for _, a := range s.Agents {
			f.lose(a)
		}
		s.Budget.CostUSD, s.Budget.Usage, s.Lifecycle.Crashes = b.CostUSD, b.Usage, b.Crashes
	}
	s.Budget.Runtime.LastAt = at
}

// session records that another process plays the run from here on.
func (f *playbackFold) session(at time.Time, b contract.Session) {
	s := &f.state
	if r := &s.Budget.Runtime; r.Began.IsZero() {
		r.Begin(at)
	} else {
		r.Resume(at)
	}
	s.Ending, s.Halted = nil, false
	o := &s.Options
	o.Run, o.CWD, o.Rehearsal, o.Trusted, o.Permissions = b.Session, b.CWD, b.Rehearsal, b.Trusted, b.Permissions
	o.Sandbox, o.SandboxReason = nil, b.SandboxReason
	if b.Sandbox != unsandboxed && b.Sandbox != "" {
		present(&o.Sandbox)
	}
	claude := s.Lifecycle.Claude()
	claude.Version, claude.Path = b.ClaudeVersion, b.Claude
	s.Lifecycle.Start(claude)
}

// present sets a value that only shows that something exists.
func present[T any](p **T) { *p = new(T) }

func (f *playbackFold) agent(id string) *supervisor.Agent { return AgentOf(&f.state, id) }

func (f *playbackFold) status(at time.Time, id string, status supervisor.AgentStatus) {
	if a := f.agent(id); a != nil && a.Status != status {
		a.Status, a.Since = status, at
	}
}

// lose charges what a turn had cost that was lost with its process.
func (f *playbackFold) lose(a *supervisor.Agent) {
	f.state.Budget.Charge(a.Live.Usage, a.Live.CostUSD)
	a.Charge(a.Live.CostUSD)
}

// spawned adds an agent, or another session of it.
func (f *playbackFold) spawned(at time.Time, id string, b contract.Spawn) {
	f.state.Halted = false
	a := f.agent(id)
	if a == nil {
		if len(f.state.Agents) >= maxAgents {
			return
		}
		a = &supervisor.Agent{}
		a.ID, a.Role, a.Standing = id, supervisor.RoleOrchestrator, supervisor.AgentWorking
		if id == contract.Arbiter {
			a.Role = supervisor.RoleArbiter
		}
		f.state.Agents = append(f.state.Agents, a)
	}
	f.lose(a)
	if !b.Resumed { // another session, which is empty
		a.AgentContext = supervisor.AgentContext{}
	}
	a.Name, a.Mode, a.SessionID, a.Generation, a.Predecessor = b.Name, b.Mode, b.SessionID, b.Generation, b.SuccessorOf
	a.Status, a.Since, a.Dismissed = supervisor.AgentReady, at, false
}

func (f *playbackFold) message(b contract.Message) {
	if t := &f.state.Task; b.From == contract.Human && b.Kind == "task" && t.Text == "" {
		t.Text = b.Text
	}
	if a := f.agent(b.From); a != nil && b.To == contract.Arbiter {
		switch b.Kind {
		case "question":
			a.Standing = supervisor.AgentWaiting
		case "done":
			a.Standing = supervisor.AgentFinished
		}
	}
	if a := f.agent(b.To); a != nil && a.Role == supervisor.RoleOrchestrator && a.Standing != supervisor.HandedOff {
		a.Standing = supervisor.AgentWorking
	}
}

func (f *playbackFold) turned(at time.Time, id string, b contract.Turn) {
	s := &f.state
	s.Budget.Charge(b.Usage, b.CostUSD)
	if a := f.agent(id); a != nil {
		a.Charge(b.CostUSD)
		a.Turns++
	}
	f.status(at, id, supervisor.AgentReady)
}

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
	fold   playbackFold
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
	return p.fold.snapshot()
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
			p.fold, p.rewind, p.ended, p.err = playbackFold{}, false, false, nil
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
	p.fold.add(e.At, event)
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
