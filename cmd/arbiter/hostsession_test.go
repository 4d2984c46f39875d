package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestRunEndsBeforeItsFrontendConnects: the frontend still learns why a run could not begin.
func TestRunEndsBeforeItsFrontendConnects(t *testing.T) {
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	c := testkit.Must(runPort{env{}, state}.choices(dir, "", []string{"--claude", filepath.Join(dir, "nowhere")}))(t)
	c.Options.Task, c.StateDir = "Weave", state
	raw := testkit.Must(json.Marshal(host.ProcessSpec{Choices: c, Given: c.Given}))(t)
	cmd := exec.Command("arbiter", host.ProcessCommand, dir)
	cmd.Stdin, cmd.Env = bytes.NewReader(raw), []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.OK(t, err)
	var ready host.Ready
	testkit.OK(t, json.NewDecoder(out).Decode(&ready))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its exit code is that of the run
	}()
	defer func() { <-ended }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for log := ""; !strings.Contains(log, "ended before its frontend connected"); {
		select {
		case <-tick.C:
		case <-ended:
			t.Fatalf("the process has not waited for its frontend: %s", log)
		}
		raw, _ := os.ReadFile(filepath.Join(state, "runs", ready.Run, runstore.LogName)) // it may not exist yet
		log = string(raw)
	}
	var untried atomic.Bool // no sandbox was tried, and that is what the run says
	s := testkit.Must(clients.OpenSession(t.Context(), ready.Socket, nil, journal.LogPosition{},
		func(_ time.Time, e contract.Event) {
			b, ok := e.Body.(contract.Session)
			if ok && strings.HasPrefix(b.SandboxReason, "it was not tried") {
				untried.Store(true)
			}
		}))(t)
	s.Watch()
	if o := s.Outcome(); o.Exit != contract.ExitEnvironment || !strings.Contains(o.Text, "cannot find the Claude CLI") {
		t.Errorf("the run ended with %d: %s", o.Exit, o.Text)
	}
	if !untried.Load() {
		t.Error("the run does not say that the sandbox was not tried")
	}
}

// TestSessionReconnects: a frontend whose connection is lost receives every event once, and the end of the run.
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
	s := testkit.Must(clients.OpenSession(t.Context(), filepath.Join(b.stateDir(), "runs", b.run, control.SocketName), nil,
		journal.LogPosition{}, sink))(t)
	var watching sync.WaitGroup
	watching.Go(s.Watch)
	defer watching.Wait()
	for range 3 {
		lost := s.Connection()
		lost.Close()
		late := time.After(waitTimeout)
		for s.Connection() == lost {
			select {
			case <-s.Changed(): // a new connection begins with the state
			case <-late:
				t.Fatal("it did not connect again")
			}
		}
	}
	if !s.Put(contract.Command{Ref: "again", Body: contract.Interrupt{ID: "orch-9"}}) {
		t.Error("a command was not taken")
	}
	await(b.script, "the answer", func(_ string, r contract.Rejected) bool { return r.Ref == "again" })
	testkit.OK(t, os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600))
	b.finish(contract.ExitComplete)
	s.Close()
	if s.Outcome().Exit != contract.ExitComplete || s.Outcome().Lost {
		t.Errorf("the outcome is %+v", s.Outcome())
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

// TestRunOfAnotherVersion: a frontend says so if it cannot read the state of a live run of another version.
func TestRunOfAnotherVersion(t *testing.T) {
	dir, err := os.MkdirTemp("", "v-") // a short path for a socket
	testkit.OK(t, err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, control.SocketName)
	l := testkit.Must(net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}))(t)
	server := control.Serve(l, foreignRun{}, slog.New(slog.DiscardHandler))
	defer server.Close()
	var version *supervisor.VersionError
	_, err = clients.OpenSession(t.Context(), path, nil, journal.LogPosition{}, func(time.Time, contract.Event) {})
	if !errors.As(err, &version) {
		t.Errorf("the error is %v", err)
	}
}
