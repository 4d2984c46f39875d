package host

// This part of the package sends the events of a run to the clients that subscribe to it: events in order,
// changes of the state, and finally how the run ended. Each client reads at its own pace, in the goroutine of
// its request.

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// lastEvents is how long clients may take to read the last events of a run.
const lastEvents = 2 * time.Second

// Group has all clients that are subscribed to a run. Create one with [NewGroup].
type Group struct {
	run   Followed
	hub   *Hub
	start journal.LogPosition // end of the event log when this process started

	ended     chan struct{} // closed when end is set
	end       control.RunEnded
	work      sync.WaitGroup
	count     atomic.Int64  // number of clients
	connected chan struct{} // closed with the first client
	first     sync.Once     // for closing it
}

// Followed is the run that clients subscribe to.
type Followed struct {
	OpenLog  func() (*journal.EventLog, error) // an error: there is no log yet
	Snapshot func() *supervisor.State
	Log      *slog.Logger
}

// NewGroup makes a group without clients, and finds where the events of this process start in the run's log.
func NewGroup(run Followed) *Group {
	g := &Group{run: run, hub: NewHub(HubKeep), ended: make(chan struct{}), connected: make(chan struct{})}
	if err := g.findStart(); err != nil {
		run.Log.Warn("the end of the event log cannot be read", "err", err)
	}
	return g
}

func (g *Group) findStart() error {
	log, err := g.run.OpenLog()
	if err != nil {
		return nil // there is no log yet
	}
	defer log.Close()
	return log.Backward(context.Background(), journal.LogPosition{}, func(e journal.LogEntry) bool {
		g.start = e.Next()
		return false
	})
}

// Sink passes events to next and to the clients.
func (g *Group) Sink(next runloop.Sink) runloop.Sink { return g.hub.Sink(next) }

// Last returns the number of the last event of this process.
func (g *Group) Last() uint64 { return g.hub.Last() }

// LogLines returns how many events the run's log had when this process started.
func (g *Group) LogLines() uint64 { return g.start.Prev.N }

// Count returns how many clients are currently subscribed.
func (g *Group) Count() int { return int(g.count.Load()) }

// AwaitFirst waits until one client has subscribed, at most within. It calls absent before it waits.
func (g *Group) AwaitFirst(within time.Duration, absent func()) {
	select {
	case <-g.connected:
		return
	default:
		absent()
	}
	select {
	case <-g.connected:
	case <-time.After(within):
	}
}

// End reports to the clients, once, how the run ended, and waits a limited time until they have read it.
func (g *Group) End(end control.RunEnded) {
	g.end = end
	close(g.ended)
	done := make(chan struct{})
	go func() { // ends with the subscriptions, which end at the latest with the connections of their clients
		g.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(lastEvents):
	}
}

// Subscribe sends to one client until ctx ends, send fails or the run has ended: [control.Events],
// [control.StateChange] and finally [control.RunEnded].
func (g *Group) Subscribe(ctx context.Context, p control.SubscribeParams, send func(any) error) {
	g.work.Add(1)
	g.count.Add(1)
	g.first.Do(func() { close(g.connected) })
	defer func() {
		g.count.Add(-1)
		g.work.Done()
	}()
	since := g.hub.Last()
	if p.Since >= 0 {
		since = uint64(p.Since)
	}
	s := subscription{group: g, send: send, state: p.State}
	s.cursor = g.hub.Cursor(since, p.Pieces, g.start, g.run.OpenLog)
	watch := g.hub.Watch()
	defer watch.Close()
	if err := s.follow(ctx, watch); err != nil && ctx.Err() == nil {
		g.run.Log.Warn("a client's subscription ended", "err", err)
	}
}

const (
	// eventBatch is how many events are sent to a client in one message.
	eventBatch = 16
	// clientPause is the minimum time between two messages to a client: the cost of many clients must not grow with
	// the number of events.
	clientPause = 10 * time.Millisecond
)

// subscription is the subscription of one client.
type subscription struct {
	group  *Group
	cursor *Cursor
	send   func(any) error
	state  bool // send the state, too
	sender StateSender
	sent   time.Time // time of the last message
}

// follow sends events and changes until the run has ended.
func (s *subscription) follow(ctx context.Context, watch *HubWatch) error {
	for {
		var over bool
		select {
		case <-s.group.ended: // checked first: what is sent afterwards is complete
			over = true
		default:
		}
		more, err := s.pass(ctx)
		switch {
		case err != nil:
			return err
		case more:
			continue
		case over:
			return s.send(s.group.end)
		}
		select {
		case <-watch.C():
		case <-s.group.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
		if pause := clientPause - time.Since(s.sent); pause > 0 {
			select { // many events and changes become one message
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// pass sends everything available now, and reports whether there may be more. The state that it sends is at least
// as new as the events that follow.
func (s *subscription) pass(ctx context.Context) (more bool, err error) {
	lines, skipped, more, err := s.cursor.Next(ctx, eventBatch)
	if err != nil {
		return false, err
	}
	if s.state {
		change, changed, err := s.sender.Change(s.group.run.Snapshot())
		if err == nil && changed {
			s.sent = time.Now()
			err = s.send(change)
		}
		if err != nil {
			return false, err
		}
	}
	if len(lines) == 0 {
		return more, nil
	}
	s.sent = time.Now()
	return more, s.send(control.Events{Lines: lines, Skipped: skipped})
}
