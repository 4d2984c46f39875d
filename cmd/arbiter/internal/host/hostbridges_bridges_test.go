package host

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// remoteLoop is a run with a state.
type remoteLoop struct {
	state atomic.Pointer[supervisor.State]
}

func (l *remoteLoop) Put(input.Body) bool           { return true }
func (l *remoteLoop) Event(bridge.Event)            {}
func (l *remoteLoop) Snapshot() *supervisor.State   { return l.state.Load() }
func (l *remoteLoop) Done() <-chan struct{}         { return nil }
func (l *remoteLoop) Handler(string) bridge.Handler { return nil }

// lost returns the state of a run that has lost the bridge of a host until a time.
func lost(host string, until time.Time, parked bool) *supervisor.State {
	s, c := &supervisor.State{}, &effect.Collector{}
	s.Lifecycle.Start(bridge.ClaudeInfo{})
	s.Lifecycle.Back(c, host, bridge.ClaudeInfo{}, "/srv")
	s.Lifecycle.Lost(c, host, "the link broke", until)
	if parked {
		s.Lifecycle.Park(c, host, "gone")
	}
	return s
}

// TestWaitingForAHost: an operation that needs a host waits for its bridge until the host is parked.
func TestWaitingForAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, board := &remoteLoop{}, &Board{}
		emit := board.Sink(func(time.Time, contract.Event) {})
		l.state.Store(lost("box", time.Time{}, false))
		b := NewBridges(RemoteRun{Loop: l, Board: board, Log: slog.New(slog.DiscardHandler)})
		usable, release := b.untilParked(t.Context(), "box")
		defer release()
		ended := make(chan error)
		go func() {
			_, err := b.await(usable, "box")
			ended <- err
		}()
		emit(time.Now(), contract.Event{Body: contract.Host{Name: "node"}})
		emit(time.Now(), contract.Event{Body: contract.Host{Name: "box"}})
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("not waited for: %v", err)
		default:
		}
		l.state.Store(lost("box", time.Time{}, true))
		emit(time.Now(), contract.Event{Body: contract.Host{Name: "box"}})
		if err := <-ended; !errors.Is(err, errParked) {
			t.Errorf("parked: %v", err)
		}
	})
}

// TestAgentsElsewhere: agents on a host that was never reached have no process, and those on a lost host may have one
// until its lease ends.
func TestAgentsElsewhere(t *testing.T) {
	l := &remoteLoop{}
	b := NewBridges(RemoteRun{Loop: l, Log: slog.New(slog.DiscardHandler)})
	for until, want := range map[time.Duration]int{time.Hour: 1, -time.Hour: 0} {
		s := lost("box", time.Now().Add(until), false)
		for id, host := range map[string]string{"orch-1": supervisor.LifecycleHere, "orch-2": "box"} {
			a := &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: id}},
				AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentDown}}
			a.Host = host
			s.Agents = append(s.Agents, a)
		}
		l.state.Store(s)
		if got := b.Agents(); got != nil {
			t.Errorf("with a process: %q", got)
		}
		got := b.Lost()
		if len(got) != want || slices.ContainsFunc(got, func(s string) bool { return !strings.HasPrefix(s, "orch-2 @box") }) {
			t.Errorf("with a lease for %s: %q", until, got)
		}
	}
}
