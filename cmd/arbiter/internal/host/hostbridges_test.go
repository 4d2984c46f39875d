package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// remoteLoop is a run with a state.
type remoteLoop struct {
	inputLoop
	state atomic.Pointer[supervisor.State]
}

func (l *remoteLoop) Put(input.Body) bool         { return true }
func (l *remoteLoop) Snapshot() *supervisor.State { return l.state.Load() }

// lost returns the state of a run that has lost the bridge of a host until a time.
func lost(host string, until time.Time, parked bool) *supervisor.State {
	s, c := &supervisor.State{}, &input.Collector{}
	s.Lifecycle.Start(bridge.ClaudeInfo{})
	s.Lifecycle.Back(c, host, bridge.ClaudeInfo{}, "/srv", 0)
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
		emit := board.publish
		l.state.Store(lost("box", time.Time{}, false))
		b := &Bridges{Input: NewSender(l, board), Log: slog.New(slog.DiscardHandler)}
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
		err := <-ended
		testkit.Check(t, errors.Is(err, errParked), "parked: %v", err)
	})
}

// TestAgentsElsewhere: agents on a host that was never reached have no process, and those on a lost host may have one
// until its lease ends.
func TestAgentsElsewhere(t *testing.T) {
	l := &remoteLoop{}
	b := &Bridges{Input: NewSender(l, &Board{}), Log: slog.New(slog.DiscardHandler)}
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

// TestHostsAreFencedBeforeARunContinues: for a host on which processes of an earlier process may still run, the
// `end` command runs. The host counts as fenced if the command succeeds.
func TestHostsAreFencedBeforeARunContinues(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ended")
	end := func(name, then string) hosts.Host {
		return hosts.Host{Name: name, End: []string{"sh", "-c", "echo " + name + " >> " + mark + "; " + then}}
	}
	var left supervisor.LifecycleState
	left.Start(bridge.ClaudeInfo{})
	c := &input.Collector{}
	for _, name := range []string{"pod", "node", "box", "old"} {
		left.Back(c, name, bridge.ClaudeInfo{}, "/srv", 0)
	}
	left.Leave(c, "old") // no agent was there any more
	log := slog.New(slog.DiscardHandler)
	got := FenceHost(t.Context(), hosts.Config{}, "", nil, log)
	testkit.Check(t, got == nil, "of a new run: %v", got)
	resumed := &supervisor.State{}
	resumed.Lifecycle = left
	known := hosts.Config{Hosts: []hosts.Host{end("pod", "exit 0"), end("node", "exit 3"), {Name: "box"},
		end("old", "exit 0")}}
	testkit.Same(t, "fenced", []string{"pod"}, FenceHost(t.Context(), known, "", resumed, log))
	raw, err := os.ReadFile(mark)
	text := string(raw)
	testkit.Check(t, err == nil && (text == "pod\nnode\n" || text == "node\npod\n"), "ended: %q, %v", text, err)
}

// TestEndOfAHostLeavesNothing: an end command that takes too long is ended with what it started.
func TestEndOfAHostLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const run = "end-of-a-host"
	pipe := filepath.Join(t.TempDir(), "pipe")
	testkit.OK(t, syscall.Mkfifo(pipe, 0o600))
	go func() { // opening it waits for the command
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		testkit.Works(t, "open", err)
		cancel()
		f.Close()
	}()
	host := hosts.Host{Name: "box", End: []string{"sh", "-c", "sleep 60 & read x < " + pipe + "; wait"}}
	fenced, err := EndBridge(ctx, host, run)
	testkit.Fails(t, "it was ended", err, context.Canceled)
	testkit.Check(t, !fenced, "it counts as ended")
	testkit.Empty(t, "left", proctree.Survivors(run))
}

// sandboxOf answers the trial of a host's sandbox.
type sandboxOf func(p bridge.SandboxParams) (bridge.SandboxResult, error)

func (f sandboxOf) Sandbox(_ context.Context, p bridge.SandboxParams) (bridge.SandboxResult, error) {
	return f(p)
}

// TestSandboxOnAHost: a host whose sandbox is missing or does not hold is refused, if agents have one.
func TestSandboxOnAHost(t *testing.T) {
	bwrap := bridge.RemoteInfo{Dir: "/srv/far", Sandbox: "/usr/bin/bwrap"}
	holds := func(p bridge.SandboxParams) (bridge.SandboxResult, error) {
		testkit.Check(t, p.CWD == "/srv/far" && p.Config.Program == "/usr/bin/bwrap", "tried %+v", p)
		return bridge.SandboxResult{Holds: true}, nil
	}
	for name, c := range map[string]struct {
		here *bridge.SandboxConfig
		info bridge.RemoteInfo
		try  sandboxOf
		want string // in the error; empty: no error
	}{
		"none is wanted":  {nil, bridge.RemoteInfo{SandboxReason: "no bwrap"}, nil, ""},
		"it holds":        {&bridge.SandboxConfig{}, bwrap, holds, ""},
		"there is none":   {&bridge.SandboxConfig{}, bridge.RemoteInfo{SandboxReason: "no bwrap"}, nil, "no bwrap"},
		"it does not":     {&bridge.SandboxConfig{}, bwrap, sandboxOf(leaks), "a file got out"},
		"it is not tried": {&bridge.SandboxConfig{}, bwrap, sandboxOf(fails), "could not be tried"},
	} {
		b := &Bridges{Options: func() runconfig.Options { return runconfig.Options{Sandbox: c.here} },
			Log: slog.New(slog.DiscardHandler)}
		failed := b.trySandbox(t.Context(), "box", c.try, c.info)
		switch {
		case c.want == "" && failed != nil:
			t.Errorf("%s: %+v", name, failed)
		case c.want != "" && (failed == nil || failed.Category != bridge.CatSandbox ||
			!strings.Contains(failed.Message, c.want) || !strings.Contains(failed.Message, "host box")):
			t.Errorf("%s: %+v", name, failed)
		}
	}
}

func leaks(bridge.SandboxParams) (bridge.SandboxResult, error) {
	return bridge.SandboxResult{Reason: "a file got out"}, nil
}

func fails(bridge.SandboxParams) (bridge.SandboxResult, error) {
	return bridge.SandboxResult{}, errors.New("no answer")
}

// TestTransfersAreRetried: a broken connection and a branch that another transfer has moved are not the end of a
// transfer; only the former is waited for.
func TestTransfersAreRetried(t *testing.T) {
	broken := errors.New("the connection was closed")
	moved := fmt.Errorf("fetch from the host: %w", workspaces.ErrMoved)
	for name, tt := range map[string]struct {
		results []error
		want    error
		calls   int
		waited  time.Duration
	}{
		"at once":          {[]error{nil}, nil, 1, 0},
		"moved once":       {[]error{moved, nil}, nil, 2, 0},
		"always moved":     {[]error{moved}, workspaces.ErrMoved, transferAttempts, 0},
		"broken twice":     {[]error{broken, broken, nil}, nil, 3, 3 * transferPause},
		"always broken":    {[]error{broken}, broken, transferAttempts, 7 * transferPause},
		"no such branch":   {[]error{ErrNoBranch}, ErrNoBranch, 1, 0},
		"too large":        {[]error{ErrTooLarge}, ErrTooLarge, 1, 0},
		"moved and broken": {[]error{moved, broken, nil}, nil, 3, transferPause},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls, began := 0, time.Now()
			err := retried(t.Context(), func(context.Context) error {
				calls++
				return tt.results[min(calls, len(tt.results))-1]
			})
			testkit.Check(t, errors.Is(err, tt.want) && calls == tt.calls && time.Since(began) == tt.waited,
				"%s: %v after %d calls and %s", name, err, calls, time.Since(began))
		})
	}
}
