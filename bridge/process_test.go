package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const childEnv = "ARBITER_BRIDGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if kind := os.Getenv(childEnv); kind != "" {
		os.Exit(child(kind))
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// child is the main function of the program that a test starts as "arbiter bridge".
func child(kind string) int {
	switch kind {
	case "bridge":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		fmt.Fprintln(os.Stderr, "serving")
		if err := NewServer(scriptedLauncher(),
			ServerOptions{Version: "child", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}).Serve(ctx,
			Stdio()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case "group": // answers every line with its process group, until TERM
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Printf(`{"jsonrpc":"2.0","method":"event","params":{"n":1,"id":"g","generation":%d,"event":"notice","text":"group"}}`+"\n", syscall.Getpgrp())
		}
	case "crash":
		fmt.Fprintln(os.Stderr, "something\nwent wrong")
		return 3
	case "termed": // ends by TERM only
		wait := make(chan os.Signal, 1)
		signal.Notify(wait, syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "ready")
		<-wait
		fmt.Fprintln(os.Stderr, "got TERM")
	case "deaf": // only by KILL
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "ready")
		select {}
	case "flood":
		fmt.Fprintln(os.Stderr, strings.Repeat("e", 3<<20)+"\nend")
		io.Copy(io.Discard, os.Stdin)
	}
	return 0
}

// lineLog is a log whose lines a test can wait for.
type lineLog struct {
	mu       sync.Mutex
	lines    []string
	received chan string
}

func newLineLog() (*lineLog, *slog.Logger) {
	l := &lineLog{received: make(chan string, 1000)}
	return l, slog.New(slog.NewTextHandler(l, nil))
}

func (l *lineLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.lines = append(l.lines, string(b))
	l.mu.Unlock()
	l.received <- string(b)
	return len(b), nil
}

func (l *lineLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

func (l *lineLog) await(t *testing.T, text string) string {
	t.Helper()
	late := time.After(waitTimeout)
	for {
		select {
		case line := <-l.received:
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			t.Fatalf("%q was never logged", text)
		}
	}
}

func startChild(t *testing.T, ctx context.Context, kind string, h Handler) (*Client, *lineLog, *exec.Cmd) {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	cmd := exec.Command(self)
	// without GORACE a child takes a second to exit under -race
	cmd.Env = []string{childEnv + "=" + kind, "GORACE=atexit_sleep_ms=0"}
	lines, log := newLineLog()
	c := testkit.Must(StartProcess(ctx, cmd, h, log, nil))(t)
	t.Cleanup(func() { c.Close() })
	return c, lines, cmd
}

// waitTimeout ends a test that hangs. No test measures it.
const waitTimeout = 2 * time.Minute

// awaitDone waits for Done, and fails the test instead of hanging.
func awaitDone(t *testing.T, c *Client) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(waitTimeout):
		t.Fatal("the client does not end")
	}
}

func TestProcessServesAndEndsWithItsInput(t *testing.T) {
	c, lines, cmd := startChild(t, t.Context(), "bridge", &recorder{})
	lines.await(t, "serving")
	testkit.Must(c.Initialize(t.Context(), InitializeParams{Client: "test", Run: "r"}))(t)
	testkit.Must(c.Spawn(t.Context(), spawnParams("a", 1)))(t)
	testkit.OK(t, c.Message(t.Context(), MessageParams{AgentRef{"a", 1}, "m", "hello", false, nil}))
	c.Close()
	if state := cmd.ProcessState; state == nil || !state.Success() {
		t.Errorf("the bridge ended with %v", state)
	}
	if err := c.Err(); err != nil {
		t.Errorf("Err after Close: %v", err)
	}
}

func TestProcessHasItsOwnGroup(t *testing.T) {
	groups := make(chan int, 1)
	h := &recorder{event: func(ev Event) { groups <- ev.Generation }}
	c, _, cmd := startChild(t, t.Context(), "group", h)
	c.Message(expired(t), MessageParams{}) // its line is all that the child needs
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer cancel(); <-groups }()
	c.Context(ctx, AgentRef{"g", 1})
	c.Close()
	if all := h.all(); len(all) == 0 || all[0].Generation != cmd.Process.Pid || all[0].Generation == syscall.Getpgrp() {
		t.Errorf("groups: %v; the child is %d", all, cmd.Process.Pid)
	}
}

func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestProcessThatCrashes(t *testing.T) {
	c, _, _ := startChild(t, t.Context(), "crash", &recorder{})
	awaitDone(t, c)
	if err := c.Err(); err == nil || err.Error() != "the bridge ended: exit status 3: went wrong" {
		t.Errorf("Err: %v", err)
	}
	if _, err := c.Initialize(t.Context(), InitializeParams{Run: "r"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a call: %v", err)
	}
}

func TestProcessThatOutstaysItsInput(t *testing.T) {
	for kind, signal := range map[string]string{"termed": "", "deaf": "killed"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, lines, cmd := startChild(t, t.Context(), kind, &recorder{})
			lines.await(t, "ready")
			c.Close()
			if got := cmd.ProcessState.String(); (signal == "") != cmd.ProcessState.Success() ||
				!strings.Contains(got, signal) {
				t.Errorf("ended with %s", got)
			}
		})
	}
}

func TestProcessEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c, lines, cmd := startChild(t, ctx, "bridge", &recorder{})
	lines.await(t, "serving")
	why := errors.New("enough")
	cancel(why)
	awaitDone(t, c)
	if err := c.Err(); !errors.Is(err, why) {
		t.Errorf("Err: %v", err)
	}
	if !cmd.ProcessState.Success() {
		t.Errorf("ended with %v", cmd.ProcessState)
	}
}

// Serve must leave a read of stdin that would never return on its own.
func TestServeOverStdioEndsByTERM(t *testing.T) {
	c, lines, cmd := startChild(t, t.Context(), "bridge", &recorder{})
	lines.await(t, "serving")
	testkit.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	awaitDone(t, c)
	if err := c.Err(); err == nil ||
		!strings.Contains(err.Error(), "exit status 1: serve bridge: terminated signal received") {
		t.Errorf("Err: %v", err)
	}
	for _, line := range lines.all() {
		if strings.Contains(line, "left behind") {
			t.Errorf("logged %s", line)
		}
	}
}

// A pipe without a reader is full at 64 KiB, and then the child blocks.
func TestProcessStderrIsDrainedAndBounded(t *testing.T) {
	c, lines, _ := startChild(t, t.Context(), "flood", &recorder{})
	line := lines.await(t, "cut=true")
	if len(line) > maxStderrLine+1000 {
		t.Errorf("a line of %d bytes was logged", len(line))
	}
	lines.await(t, "line=end")
	c.Close()
}

func TestProcessThatCannotStart(t *testing.T) {
	if _, err := StartProcess(t.Context(), exec.Command("/no/such/program"), &recorder{}, nil, nil); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Sandbox makes the fake launcher a [Sandboxer].
func (l *fakeLauncher) Sandbox(_ context.Context, of Owner, p SandboxParams) (SandboxResult, error) {
	return SandboxResult{Reason: of.Run + " in " + p.CWD, Version: "0.8.0"}, nil
}

var oneTrial = SandboxParams{CWD: "/w", Env: map[string]string{"X": "y"},
	Config: SandboxConfig{Program: "/usr/bin/bwrap", Write: []string{"/a"}, Hide: []string{"/b"},
		Reach: []string{"/b/c"}}}

func TestSandboxReachesTheSandboxer(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		got, err := r.Sandbox(r.ctx, oneTrial)
		if diff := cmp.Diff(SandboxResult{Reason: "run-1 in /w", Version: "0.8.0"}, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	})
}

func TestSandboxParametersAreChecked(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		relative := &SandboxConfig{Program: "bwrap"}
		for name, ask := range map[string]func() error{
			"no program": func() error { _, err := r.Sandbox(r.ctx, SandboxParams{CWD: "/w"}); return err },
			"no directory": func() error {
				_, err := r.Sandbox(r.ctx, SandboxParams{Config: oneTrial.Config})
				return err
			},
			"a relative program": func() error {
				_, err := r.Sandbox(r.ctx, SandboxParams{CWD: "/w", Config: *relative})
				return err
			},
			"a relative path": func() error {
				_, err := r.Sandbox(r.ctx,
					SandboxParams{CWD: "/w", Config: SandboxConfig{Program: "/b", Hide: []string{"x"}}})
				return err
			},
			"of an agent": func() error {
				_, err := r.Spawn(r.ctx,
					SpawnParams{AgentRef: AgentRef{"orch-1", 1},
						Config: AgentConfig{SessionID: "s", CWD: "/w", Sandbox: relative}})
				return err
			},
			"of a check": func() error {
				_, err := r.Check(r.ctx, CheckParams{Command: "true", CWD: "/w", Sandbox: relative})
				return err
			},
			"of a query": func() error { q := oneQuery; q.Sandbox = relative; _, err := r.Query(r.ctx, q); return err },
		} {
			var rpc *RPCError
			if err := ask(); !errors.As(err, &rpc) || rpc.Code != jsonrpc2.CodeInvalidParams {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestNotServed: a bridge whose launcher or collector lacks a part does not claim to serve it, and refuses its calls.
func TestNotServed(t *testing.T) {
	for method, call := range map[string]func(*rig) error{
		MethodQuery:   func(r *rig) error { return errOf(r.Query(r.ctx, oneQuery)) },
		MethodPTYOpen: func(r *rig) error { return errOf(r.PTYOpen(r.ctx, onePTY("a", 1))) },
		MethodSandbox: func(r *rig) error { return errOf(r.Sandbox(r.ctx, oneTrial)) },
		MethodCheck:   func(r *rig) error { return errOf(r.Check(r.ctx, oneCheck)) },
		MethodInspect: func(r *rig) error { return errOf(r.Inspect(r.ctx, oneInspection)) },
	} {
		t.Run(method, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := joinedRigOf(t, noQuerier{&fakeLauncher{}}, &recorder{}, nil)
				defer r.leave(t)
				res := testkit.Must(r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run-1"}))(t)
				if err := call(r); slices.Contains(res.Capabilities, method) || codeOf(err) != CodeUnsupported ||
					method == MethodSandbox && !strings.Contains(err.Error(), "no sandbox") {
					t.Errorf("served: %v, %v", res.Capabilities, err)
				}
			})
		})
	}
}
