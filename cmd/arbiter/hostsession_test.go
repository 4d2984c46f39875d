package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// TestSessionReconnects shows that a frontend whose connection is lost hears every event once, and the end
// of the run.
func TestSessionReconnects(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	b := atWork(t, players(t)[0])
	var mu sync.Mutex
	var events []contract.Event
	sink := func(_ time.Time, e contract.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}
	s, err := openSession(t.Context(), filepath.Join(b.stateDir(), "runs", b.run, control.SocketName), nil,
		eventlog.Position{}, sink)
	if err != nil {
		t.Fatal(err)
	}
	var watching sync.WaitGroup
	watching.Go(s.watch)
	defer watching.Wait()
	for range 3 {
		lost := s.client.Load()
		lost.Close()
		late := time.After(patience)
		for s.client.Load() == lost {
			select {
			case <-s.changed: // a new connection begins with the state
			case <-late:
				t.Fatal("it did not connect again")
			}
		}
	}
	if !s.Put(contract.Command{Ref: "again", Body: contract.Interrupt{ID: "orch-9"}}) {
		t.Error("a command was not taken")
	}
	await(b.script, "the answer", func(_ string, r contract.Rejected) bool { return r.Ref == "again" })
	if err := os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.finish(contract.ExitComplete)
	s.close()
	if s.outcome.Exit != contract.ExitComplete || s.outcome.Lost {
		t.Errorf("the outcome is %+v", s.outcome)
	}
	if len(events) != len(b.lines) {
		t.Fatalf("%d events instead of %d", len(events), len(b.lines))
	}
	for i, e := range events {
		if got, want := e.Body.EventName(), b.lines[i].Body.EventName(); got != want {
			t.Errorf("event %d is %s, not %s", i, got, want)
		}
	}
}

// foreignRun is a run that another version of arbiter plays.
type foreignRun struct{ control.Service }

func (foreignRun) Status() control.Status { return control.Status{Run: "run", PID: os.Getpid()} }

func (foreignRun) Subscribe(ctx context.Context, _ control.SubscribeParams, send func(any) error) {
	_ = send(control.StateChange{Version: supervisor.StateVersion + 1}) // the client ends the connection
	<-ctx.Done()
}

// TestRunOfAnotherVersion shows that a frontend says so when it cannot read the state of a live run.
func TestRunOfAnotherVersion(t *testing.T) {
	dir, err := os.MkdirTemp("", "v-") // a socket's name is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, control.SocketName)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	server := control.Serve(l, foreignRun{}, slog.New(slog.DiscardHandler))
	defer server.Close()
	var version *supervisor.VersionError
	_, err = openSession(t.Context(), path, nil, eventlog.Position{}, func(time.Time, contract.Event) {})
	if !errors.As(err, &version) {
		t.Errorf("the error is %v", err)
	}
}
