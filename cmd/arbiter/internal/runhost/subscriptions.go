package runhost

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/eventhub"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/statesync"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const (
	// eventBatch is how many events are sent to a client at once.
	eventBatch = 16
	// clientPause is the least time between two things that a client is sent: what many clients cost the
	// run must not grow with how much happens in it.
	clientPause = 10 * time.Millisecond
	// lastEvents is how long clients may take to read the last events of a run.
	lastEvents = 2 * time.Second
	// frontendConnects is how long the frontend that started the process may take to connect.
	frontendConnects = 15 * time.Second
	// LonelyEnd is logged when a run ends before its frontend has connected.
	LonelyEnd = "the run has ended before its frontend connected"
)

// subscribers are the clients that hear what happens in a run.
type subscribers struct {
	hub   *eventhub.Hub
	start eventlog.Position // of the event log, when this process began
	ended chan struct{}     // closed when end is set
	end   control.RunEnded
	work  sync.WaitGroup
	count atomic.Int64  // of the clients
	came  chan struct{} // closed with the first of them
	first sync.Once     // of those that close it
}

func newSubscribers() subscribers {
	return subscribers{hub: eventhub.New(eventhub.Keep), ended: make(chan struct{}),
		came: make(chan struct{})}
}

// openSubscribers finds where the event log of this process begins.
func (r *runtimeRun) openSubscribers() {
	log, err := r.openLog()
	if err != nil {
		return // it has none yet
	}
	defer log.Close()
	err = log.Backward(context.Background(), eventlog.Position{}, func(e eventlog.Entry) bool {
		r.clients.start = e.Next()
		return false
	})
	if err != nil {
		r.log.Warn("the end of the event log cannot be read", "err", err)
	}
}

func (r *runtimeRun) openLog() (*eventlog.Log, error) {
	return r.store.EventLog(r.choices.Options.Run)
}

// watchState wakes the subscribers when the state changes, and has notifications posted, until the loop has ended.
func (r *runtimeRun) watchState() {
	for {
		select {
		case <-r.loop.Changed():
			r.clients.hub.Hint()
			r.notifyWaiting()
		case <-r.loop.Done():
			r.clients.hub.Hint()
			return
		}
	}
}

// awaitFrontend waits for the frontend that has started this process, but not for long: it connects when it hears
// that the process is ready, and a run that cannot begin may have ended by then.
func (r *runtimeRun) awaitFrontend() {
	if r.choices.Detach {
		return
	}
	select {
	case <-r.clients.came:
		return
	default:
		r.log.Info(LonelyEnd)
	}
	select {
	case <-r.clients.came:
	case <-time.After(frontendConnects):
	}
}

// announceEnd tells the subscribers how the run ended and waits until they have read it, but not for
// long.
func (r *runtimeRun) announceEnd(end control.RunEnded) {
	r.notifyEnd(end)
	r.clients.end = end
	close(r.clients.ended)
	done := make(chan struct{})
	go func() { // ends with the subscriptions, which closeControl ends at the latest
		r.clients.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(lastEvents):
	}
}

// State implements control.Service.
func (h controlService) State() (control.StateResult, error) {
	raw, err := jsonl.Marshal(h.run.loop.Snapshot())
	if err != nil {
		return control.StateResult{}, fmt.Errorf("encode state: %w", err)
	}
	return control.StateResult{Version: supervisor.StateVersion, State: raw}, nil
}

// Put implements control.Service.
func (h controlService) Put(ctx context.Context, p control.PutParams) error {
	c, channel := contract.ParseCommand(p.Command), input.ChannelSocket
	if p.Frontend == input.ChannelScreen {
		channel = input.ChannelScreen
	}
	if _, halt := c.Body.(contract.Halt); halt {
		h.run.attached.Go(func() { h.run.haltAs(c, channel) })
		return nil
	}
	return h.run.put(ctx, c, channel)
}

// Stop implements control.Service.
func (h controlService) Stop(_ context.Context, p control.StopParams) error {
	switch p.Signal {
	case "INT", "TERM", "HUP":
	default:
		return fmt.Errorf("signal %.20q: use INT, TERM or HUP", p.Signal)
	}
	if !h.run.loop.Put(input.Signal{Signal: p.Signal, Fast: p.Fast, ByClient: true}) {
		return runstore.ErrRunOver
	}
	return nil
}

// InputEnded implements control.Service. While others hear the run, they may answer.
func (h controlService) InputEnded(context.Context) error {
	if h.run.clients.count.Load() > 1 {
		return nil
	}
	if !h.run.loop.Put(input.InputEnded{}) {
		return runstore.ErrRunOver
	}
	return nil
}

// Subscribe implements control.Service.
func (h controlService) Subscribe(ctx context.Context, p control.SubscribeParams, send func(any) error) {
	r := h.run
	r.clients.work.Add(1)
	r.clients.count.Add(1)
	r.clients.first.Do(func() { close(r.clients.came) })
	defer func() {
		r.clients.count.Add(-1)
		r.clients.work.Done()
	}()
	since := r.clients.hub.Last()
	if p.Since >= 0 {
		since = uint64(p.Since)
	}
	s := subscription{run: r, send: send, state: p.State}
	s.cursor = r.clients.hub.Cursor(since, p.Pieces, r.clients.start, r.openLog)
	watch := r.clients.hub.Watch()
	defer watch.Close()
	if err := s.follow(ctx, watch); err != nil && ctx.Err() == nil {
		r.log.Warn("a client's subscription ended", "err", err)
	}
}

// subscription is what one client hears.
type subscription struct {
	run    *runtimeRun
	cursor *eventhub.Cursor
	send   func(any) error
	state  bool // is sent, too
	sender statesync.Sender
	sent   time.Time // when it was sent something
}

// follow sends what happens until the run has ended.
func (s *subscription) follow(ctx context.Context, watch *eventhub.Watch) error {
	for {
		var over bool
		select {
		case <-s.run.clients.ended: // looked at first: what is sent after it is all there is
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
			return s.send(s.run.clients.end)
		}
		select {
		case <-watch.C():
		case <-s.run.clients.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
		if pause := clientPause - time.Since(s.sent); pause > 0 {
			select { // many events and changes are sent as one
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// pass sends what is there now, and reports whether there may be more. The state that is sent is at
// least as new as the events behind it.
func (s *subscription) pass(ctx context.Context) (more bool, err error) {
	lines, skipped, more, err := s.cursor.Next(ctx, eventBatch)
	if err != nil {
		return false, err
	}
	if s.state {
		change, changed, err := s.sender.Change(s.run.loop.Snapshot())
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
