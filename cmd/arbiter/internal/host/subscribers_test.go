package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func newGroup() *Group {
	return NewGroup(Followed{
		OpenLog:  func() (*journal.EventLog, error) { return nil, errors.New("none") },
		Snapshot: func() *supervisor.State { return &supervisor.State{} },
		Log:      slog.New(slog.DiscardHandler),
	})
}

// TestClientReceivesAllEventsAndTheEnd: a client that subscribes late gets the events it asks for, and how the run
// ended. End waits for that.
func TestClientReceivesAllEventsAndTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		sink := g.Sink(func(time.Time, contract.Event) {})
		sink(time.Now(), contract.Event{Body: contract.Takeover{State: "open"}})
		var received []string
		go g.Subscribe(t.Context(), control.SubscribeParams{Since: 0, State: true}, func(part any) error {
			received = append(received, fmt.Sprintf("%T", part))
			return nil
		})
		synctest.Wait()
		sink(time.Now(), contract.Event{Body: contract.Takeover{State: "ended"}})
		if g.Count() != 1 || g.Last() != 2 {
			t.Errorf("%d clients, %d events", g.Count(), g.Last())
		}
		g.End(control.RunEnded{Text: "complete"})
		want := []string{"control.StateChange", "control.Events", "control.Events", "control.RunEnded"}
		if !slices.Equal(received, want) || g.Count() != 0 {
			t.Errorf("heard %q, %d clients are left", received, g.Count())
		}
	})
}

// TestStuckClient: the end of a run waits a limited time for a client that does not read.
func TestStuckClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go g.Subscribe(ctx, control.SubscribeParams{State: true}, func(any) error {
			<-ctx.Done()
			return ctx.Err()
		})
		synctest.Wait()
		began := time.Now()
		g.End(control.RunEnded{})
		if waited := time.Since(began); waited != lastEvents {
			t.Errorf("waited for %s", waited)
		}
	})
}

// TestAwaitFirst: the first client is waited for only if there was none yet.
func TestAwaitFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup()
		began, absent := time.Now(), 0
		g.AwaitFirst(time.Minute, func() { absent++ })
		if waited := time.Since(began); waited != time.Minute || absent != 1 {
			t.Errorf("nobody came: waited for %s, %d calls", waited, absent)
		}
		g.Subscribe(t.Context(), control.SubscribeParams{State: true}, func(any) error { return errors.New("gone") })
		began = time.Now()
		g.AwaitFirst(time.Minute, func() { absent++ })
		if waited := time.Since(began); waited != 0 || absent != 1 {
			t.Errorf("one had come: waited for %s, %d calls", waited, absent)
		}
	})
}
