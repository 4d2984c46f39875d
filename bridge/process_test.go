package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM) // with Ignore, Go would report a deadlock
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

// TestProcessServesAndEnds: with its input, with its context, and by TERM: Serve leaves a read of stdin that would
// never return on its own.
func TestProcessServesAndEnds(t *testing.T) {
	why := errors.New("enough")
	for name, tc := range map[string]struct {
		end  func(c *Client, cancel context.CancelCauseFunc, cmd *exec.Cmd)
		fine bool
		err  any // "" for none
	}{
		"its input":   {func(c *Client, _ context.CancelCauseFunc, _ *exec.Cmd) { c.Close() }, true, ""},
		"its context": {func(_ *Client, cancel context.CancelCauseFunc, _ *exec.Cmd) { cancel(why) }, true, why},
		"TERM": {func(_ *Client, _ context.CancelCauseFunc, cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGTERM) }, false,
			"exit status 1: serve bridge: terminated signal received"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c, lines, cmd := startChild(t, ctx, "bridge", &recorder{})
			lines.await(t, "serving")
			testkit.Must(c.Initialize(t.Context(), InitializeParams{Client: "test", Run: "r"}))(t)
			testkit.Must(c.Spawn(t.Context(), spawnParams("a", 1)))(t)
			testkit.OK(t, c.Message(t.Context(), MessageParams{AgentRef{"a", 1}, "m", "hello", false, nil}))
			tc.end(c, cancel, cmd)
			testkit.Receive(t, "the end of the client", c.Done())
			if tc.err == "" {
				testkit.Works(t, "Err after Close", c.Err())
			} else {
				testkit.Fails(t, "Err", c.Err(), tc.err)
			}
			testkit.Check(t, cmd.ProcessState.Success() == tc.fine, "the bridge ended with %v", cmd.ProcessState)
			testkit.Excludes(t, "logged", strings.Join(lines.all(), ""), "left behind")
		})
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
	testkit.Receive(t, "the end of the client", c.Done())
	err := c.Err()
	testkit.Check(t, err != nil && err.Error() == "the bridge ended: exit status 3: went wrong", "Err: %v", err)
	testkit.Fails(t, "a call", testkit.Err(c.Initialize(t.Context(), InitializeParams{Run: "r"})), ErrClosed)
}

func TestProcessThatOutstaysItsInput(t *testing.T) {
	for kind, signal := range map[string]string{"termed": "", "deaf": "killed"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c, lines, cmd := startChild(t, t.Context(), kind, &recorder{})
			lines.await(t, "ready")
			c.Close()
			got := cmd.ProcessState.String()
			testkit.Check(t, (signal == "") == cmd.ProcessState.Success() && strings.Contains(got, signal),
				"ended with %s", got)
		})
	}
}

// A pipe without a reader is full at 64 KiB, and then the child blocks.
func TestProcessStderrIsDrainedAndBounded(t *testing.T) {
	c, lines, _ := startChild(t, t.Context(), "flood", &recorder{})
	line := lines.await(t, "cut=true")
	testkit.Check(t, len(line) <= maxStderrLine+1000, "a line of %d bytes was logged", len(line))
	lines.await(t, "line=end")
	c.Close()
}

func TestProcessThatCannotStart(t *testing.T) {
	testkit.Fails(t, "StartProcess",
		testkit.Err(StartProcess(t.Context(), exec.Command("/no/such/program"), &recorder{}, nil, nil)), os.ErrNotExist)
}

func (l *fakeLauncher) Sandbox(_ context.Context, of Owner, p SandboxParams) (SandboxResult, error) {
	return SandboxResult{Reason: of.Run + " in " + p.CWD, Version: "0.8.0"}, nil
}

var oneTrial = SandboxParams{CWD: "/w", Env: map[string]string{"X": "y"},
	Config: SandboxConfig{Program: "/usr/bin/bwrap", Write: []string{"/a"}, Hide: []string{"/b"},
		Reach: []string{"/b/c"}}}

// fakeTerminal is a terminal whose program does nothing on its own.
type fakeTerminal struct {
	host Host
	p    PTYOpenParams

	mu    sync.Mutex
	typed []byte
	size  [2]int
	write func(ctx context.Context) error // nil: it is read

	once sync.Once
	done chan struct{}
}

func (t *fakeTerminal) Info() SpawnResult {
	return SpawnResult{SessionID: t.p.Config.SessionID, PID: 4712}
}

func (t *fakeTerminal) Write(ctx context.Context, data []byte) error {
	if t.write != nil {
		return t.write(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.typed = append(t.typed, data...)
	return nil
}

func (t *fakeTerminal) Resize(cols, rows int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = [2]int{cols, rows}
	return nil
}

func (t *fakeTerminal) Stop(context.Context, bool) error { t.end(); return nil }

func (t *fakeTerminal) Done() <-chan struct{} { return t.done }

func (t *fakeTerminal) end() {
	t.once.Do(func() {
		t.host.Emit(Event{Body: Done{SessionID: t.p.Config.SessionID, Exit: Exit{Expected: true}}})
		close(t.done)
	})
}

// OpenPTY gives the fake launcher terminals.
func (l *fakeLauncher) OpenPTY(_ context.Context, _ Owner, _ ClaudeSpec, p PTYOpenParams,
	host Host) (Terminal, error) {
	if p.Config.Model == "no-such-model" {
		return nil, errors.New("there is no pseudo terminal")
	}
	t := &fakeTerminal{host: host, p: p, done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terminals == nil {
		l.terminals = map[AgentRef]*fakeTerminal{}
	}
	l.terminals[p.AgentRef] = t
	return t, nil
}

func (l *fakeLauncher) terminal(ref AgentRef) *fakeTerminal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terminals[ref]
}

func onePTY(id string, generation int) PTYOpenParams {
	return PTYOpenParams{AgentRef: AgentRef{id, generation}, Config: AgentConfig{SessionID: "s-" + id, CWD: "/w",
		Sandbox: &SandboxConfig{Program: "/usr/bin/bwrap"}}, Settings: `{}`, Cols: 80, Rows: 24, Term: "xterm"}
}

func TestTerminalIsAnIncarnation(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		refused := func(what string, code int, err error) {
			t.Helper()
			testkit.Same(t, fmt.Sprintf("%s: the code of %v", what, err), code, codeOf(err))
		}
		r.spawn(t, "orch-1", 1)
		refused("while its agent lives", CodeAgentExists, errOf(r.PTYOpen(r.ctx, onePTY("orch-1", 2))))
		refused("a write to an agent", CodeRefused,
			r.PTYWrite(r.ctx, PTYWriteParams{AgentRef{"orch-1", 1}, []byte("x")}))
		testkit.OK(t, r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"orch-1", 1}}))
		refused("an old generation", CodeStale, errOf(r.PTYOpen(r.ctx, onePTY("orch-1", 1))))
		ref := AgentRef{"orch-1", 2}
		res, err := r.PTYOpen(r.ctx, onePTY("orch-1", 2))
		testkit.Need(t, err == nil && res.PID == 4712, "open: %+v %v", res, err)
		refused("a second one", CodeAgentExists, errOf(r.PTYOpen(r.ctx, onePTY("orch-1", 3))))
		other := onePTY("orch-2", 1)
		other.Config.SessionID = "s-orch-1"
		refused("another on its session", CodeAgentExists, errOf(r.PTYOpen(r.ctx, other)))
		spawn := spawnParams("orch-2", 1)
		spawn.Config.SessionID = "s-orch-1"
		refused("an agent on its session", CodeAgentExists, errOf(r.Spawn(r.ctx, spawn)))
		refused("a message", CodeRefused, r.Message(r.ctx, MessageParams{AgentRef: ref, MessageID: "m", Content: "x"}))
		refused("a question", CodeRefused, errOf(r.Ask(r.ctx, AskParams{ref, "why"})))

		term := r.l.terminal(ref)
		for _, piece := range []string{"hel", "lo", "\r"} {
			testkit.OK(t, r.PTYWrite(r.ctx, PTYWriteParams{ref, []byte(piece)}))
		}
		err = r.PTYResize(r.ctx, PTYResizeParams{ref, 120, 40})
		testkit.Check(t, err == nil && string(term.typed) == "hello\r" && term.size == [2]int{120, 40},
			"typed %q, size %v, %v", term.typed, term.size, err)
		term.host.Emit(Event{Body: PTY{Data: []byte("\x1b[2Jhi\xff")}})
		testkit.OK(t, r.PTYClose(r.ctx, ref))
		events := r.h.all()
		want := []Event{{ref, PTY{Data: []byte("\x1b[2Jhi\xff")}},
			{ref, Done{SessionID: "s-orch-1", Exit: Exit{Expected: true}}}}
		testkit.Same(t, "events", want, events[len(events)-2:])
		refused("a write to what has ended", CodeEnded, r.PTYWrite(r.ctx, PTYWriteParams{ref, []byte("x")}))
		refused("closing again", CodeEnded, r.PTYClose(r.ctx, ref))
		bad := onePTY("orch-1", 3)
		bad.Config.Model = "no-such-model"
		refused("one that cannot be had", CodeClaude, errOf(r.PTYOpen(r.ctx, bad)))
		r.spawn(t, "orch-1", 4) // the agent can be spawned again
	})
}

func TestTerminalEndsWithTheAgents(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		for _, id := range []string{"a", "b"} {
			testkit.Must(r.PTYOpen(r.ctx, onePTY(id, 1)))(t)
		}
		err := r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 1}})
		testkit.Check(t, err == nil, "%v", err)
		res, err := r.Shutdown(r.ctx, ShutdownParams{})
		testkit.Check(t, err == nil && res.Stopped == 1, "shutdown: %+v %v", res, err)
		_, err = r.PTYOpen(r.ctx, onePTY("c", 1))
		testkit.Check(t, codeOf(err) == CodeShuttingDown, "open after that: %v", err)
	})
}

// TestParametersAreChecked: the bridge refuses what no agent, terminal, check or query could mean.
func TestParametersAreChecked(t *testing.T) {
	testkit.WithoutRace(t)
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		ref, relative := AgentRef{"a", 1}, &SandboxConfig{Program: "bwrap"}
		session := AgentConfig{SessionID: "s", CWD: "/w"}
		confined := session
		confined.Sandbox = relative
		elsewhere := oneTrial.Config
		elsewhere.Hide = []string{"x"}
		check := func(p CheckParams) error { return errOf(r.Check(r.ctx, p)) }
		inspect := func(p InspectParams) error { return errOf(r.Inspect(r.ctx, p)) }
		query := func(p QueryParams) error { return errOf(r.Query(r.ctx, p)) }
		trial := func(p SandboxParams) error { return errOf(r.Sandbox(r.ctx, p)) }
		open := func(p PTYOpenParams) error { return errOf(r.PTYOpen(r.ctx, p)) }
		spawn := func(pending ...string) error {
			return errOf(r.Spawn(r.ctx, SpawnParams{AgentRef: ref, Config: session, Pending: pending}))
		}
		for name, err := range map[string]error{
			"spawn, an empty id":        spawn("m-1", ""),
			"spawn, a long id":          spawn(strings.Repeat("m", maxMessageID+1)),
			"spawn, too many messages":  spawn(make([]string, maxPending+1)...),
			"spawn, a relative program": errOf(r.Spawn(r.ctx, SpawnParams{AgentRef: ref, Config: confined})),

			"kill, no generation": r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 0}}),
			"message, no content": r.Message(r.ctx, MessageParams{AgentRef: ref, MessageID: "m"}),

			"open, no session":         open(PTYOpenParams{AgentRef: ref, Config: AgentConfig{CWD: "/w"}, Cols: 1, Rows: 1}),
			"open, no size":            open(PTYOpenParams{AgentRef: ref, Config: session}),
			"open, a relative program": open(PTYOpenParams{AgentRef: ref, Config: confined, Cols: 1, Rows: 1}),
			"open, an odd name": open(PTYOpenParams{AgentRef: ref, Config: session, Cols: 1, Rows: 1,
				Term: "../../etc\x1b"}),
			"write, no data":        r.PTYWrite(r.ctx, PTYWriteParams{AgentRef: ref}),
			"write, too much":       r.PTYWrite(r.ctx, PTYWriteParams{ref, []byte(strings.Repeat("x", MaxPTYWrite+1))}),
			"resize, too big":       r.PTYResize(r.ctx, PTYResizeParams{ref, 1 << 20, 1}),
			"resize, negative size": r.PTYResize(r.ctx, PTYResizeParams{ref, -1, 1}),

			"check, no command":           check(CheckParams{CWD: "/w"}),
			"check, no directory":         check(CheckParams{Command: "make"}),
			"check, a relative directory": check(CheckParams{Command: "make", CWD: "w"}),
			"check, a negative time":      check(CheckParams{Command: "make", CWD: "/w", TimeoutMS: -1}),
			"check, a NUL":                check(CheckParams{Command: "ma\x00ke", CWD: "/w"}),
			"check, a copy, no sandbox":   check(CheckParams{Command: "make", CWD: "/w", Scratch: true}),
			"check, too long":             check(CheckParams{Command: strings.Repeat("x", maxCommand+1), CWD: "/w"}),
			"check, a nameless variable":  check(CheckParams{Command: "make", CWD: "/w", Env: map[string]string{"": "x"}}),
			"check, a name with a sign":   check(CheckParams{Command: "make", CWD: "/w", Env: map[string]string{"A=B": "x"}}),
			"check, a NUL in a variable":  check(CheckParams{Command: "make", CWD: "/w", Env: map[string]string{"A": "\x00"}}),
			"check, a relative program":   check(CheckParams{Command: "true", CWD: "/w", Sandbox: relative}),

			"survey, no session":           inspect(InspectParams{CWD: "/w"}),
			"survey, no directory":         inspect(InspectParams{SessionID: "s"}),
			"survey, a relative directory": inspect(InspectParams{SessionID: "s", CWD: "."}),

			"query, no prompt":            query(QueryParams{CWD: "/w"}),
			"query, no directory":         query(QueryParams{Prompt: "p"}),
			"query, a relative directory": query(QueryParams{Prompt: "p", CWD: "."}),
			"query, a negative time":      query(QueryParams{Prompt: "p", CWD: "/w", TimeoutMS: -1}),
			"query, a negative budget":    query(QueryParams{Prompt: "p", CWD: "/w", MaxBudgetUSD: -1}),
			"query, too long":             query(QueryParams{Prompt: strings.Repeat("x", MaxQueryPrompt+1), CWD: "/w"}),
			"query, a schema that is no":  query(QueryParams{Prompt: "p", CWD: "/w", JSONSchema: json.RawMessage(`[1]`)}),
			"query, a nameless variable":  query(QueryParams{Prompt: "p", CWD: "/w", Env: map[string]string{"": "x"}}),
			"query, a relative program":   query(QueryParams{Prompt: "p", CWD: "/w", Sandbox: relative}),

			"trial, no program":         trial(SandboxParams{CWD: "/w"}),
			"trial, no directory":       trial(SandboxParams{Config: oneTrial.Config}),
			"trial, a relative program": trial(SandboxParams{CWD: "/w", Config: *relative}),
			"trial, a relative path":    trial(SandboxParams{CWD: "/w", Config: elsewhere}),
		} {
			testkit.Same(t, fmt.Sprintf("%s: %v", name, err), jsonrpc2.CodeInvalidParams, codeOf(err))
		}
	})
}
