package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

const (
	// connects is how long the process that plays a run may take to answer.
	connects = 5 * time.Second
	// webBetween is the minimum time between two status requests.
	webBetween = 150 * time.Millisecond
	// waiting is how many parts may wait for a browser. Further parts wait in the run's own queue; if that is full,
	// the run disconnects this client.
	waiting = 8
)

// live follows the process that plays the run until the process or the connection ends.
func (f *webFollower) live(ctx context.Context, info journal.Info) {
	ctx, cancel := context.WithCancel(ctx)
	dialing, connected := context.WithTimeout(ctx, connects)
	client, st, err := f.server.runs.Dial(dialing, f.server.run)
	connected()
	if err != nil {
		cancel()
		f.send(about(info, stateSilent, err.Error()))
		return
	}
	l := &connection{
		webFollower: f, client: client, parts: make(chan any, waiting),
		ask: make(chan struct{}, 1), statuses: make(chan control.Status, 1),
	}
	var asking sync.WaitGroup
	asking.Go(func() { l.askStatus(ctx) })
	defer asking.Wait()
	defer client.Close()
	defer cancel() // runs first: both wait for it
	f.send(about(info, stateLive, ""))
	l.status(st)
	if err := f.catchUp(ctx, st); err != nil {
		f.send(about(info, stateSilent, err.Error()))
		return
	}
	since := int64(f.at.Seq)
	err = client.Subscribe(ctx, control.SubscribeParams{Since: since, Pieces: true}, func(part any) {
		select {
		case l.parts <- part:
		case <-ctx.Done():
		}
	})
	if err == nil {
		l.run(ctx)
	}
}

// connection is a follower's connection to the process that plays the run.
type connection struct {
	*webFollower
	client   *control.Client
	parts    chan any
	ask      chan struct{} // capacity 1
	statuses chan control.Status
	shown    json.RawMessage // the status that the page shows
}

// run passes on what the process sends, until the connection ends.
func (l *connection) run(ctx context.Context) {
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	for l.out.err == nil {
		select {
		case part := <-l.parts:
			l.pass(part)
		case st := <-l.statuses:
			l.status(st)
		case <-beats.C:
			l.out.beat()
			l.wantStatus() // for changes without an event
		case <-ctx.Done():
			return
		case <-l.client.Done():
			for l.out.err == nil {
				select {
				case part := <-l.parts:
					l.pass(part)
				default:
					return
				}
			}
		}
	}
}

func (l *connection) pass(part any) {
	events, ok := part.(control.Events)
	if !ok {
		return // the end is sent when no process plays the run any more
	}
	if events.Skipped > 0 {
		l.out.send(partSkipped, "", skippedPart{events.Skipped})
	}
	var changed bool
	var list portion
	for _, text := range events.Lines {
		line := []byte(text)
		at := webPlace{Process: l.at.Process, Seq: max(l.at.Seq, seqOf(line)), Set: true}
		changed = changed || contract.EventNameOf(line) != (contract.Delta{}).EventName()
		list.add(l.webFollower, pageLine(line), at)
	}
	list.send(l.webFollower)
	if changed {
		l.wantStatus()
	}
}

// wantStatus requests the status soon.
func (l *connection) wantStatus() {
	backlog.Hint(l.ask)
}

// askStatus requests the status when it is wanted, but not more often than a person can notice. It must not run on
// the goroutine that writes to the browser: the response comes over the connection whose parts that goroutine
// receives.
func (l *connection) askStatus(ctx context.Context) {
	for {
		select {
		case <-l.ask:
		case <-ctx.Done():
			return
		}
		asked, done := context.WithTimeout(ctx, connects)
		st, err := l.client.Status(asked)
		done()
		if err != nil {
			continue // the connection has ended, or the next event asks again
		}
		select {
		case l.statuses <- st:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(webBetween):
		case <-ctx.Done():
			return
		}
	}
}

// status sends a status if it differs from the one that the page shows.
func (l *connection) status(st control.Status) {
	st.Seq = 0 // changes with each event, and is not shown
	raw, err := pageStatus(st)
	if err != nil || bytes.Equal(raw, l.shown) {
		return
	}
	l.shown = raw
	l.out.send(partStatus, "", raw)
}
