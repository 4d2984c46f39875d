package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/sourcegraph/jsonrpc2"
)

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

func (t *fakeTerminal) PID() int { return 4712 }

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
		if res, err := r.PTYOpen(r.ctx, onePTY("orch-1", 2)); err != nil || res.PID != 4712 {
			t.Fatalf("open: %+v %v", res, err)
		}
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
		if err := r.PTYResize(r.ctx, PTYResizeParams{ref, 120, 40}); err != nil || string(term.typed) != "hello\r" ||
			term.size != [2]int{120, 40} {
			t.Errorf("typed %q, size %v, %v", term.typed, term.size, err)
		}
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
		if err := r.Kill(r.ctx, KillParams{AgentRef: AgentRef{"a", 1}}); err != nil {
			t.Error(err)
		}
		if res, err := r.Shutdown(r.ctx, ShutdownParams{}); err != nil || res.Stopped != 1 {
			t.Errorf("shutdown: %+v %v", res, err)
		}
		if _, err := r.PTYOpen(r.ctx, onePTY("c", 1)); codeOf(err) != CodeShuttingDown {
			t.Errorf("open after that: %v", err)
		}
	})
}

func TestTerminalParametersAreChecked(t *testing.T) {
	testkit.WithoutRace(t)
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		ref := AgentRef{"a", 1}
		for name, err := range map[string]error{
			"no session": errOf(r.PTYOpen(r.ctx, PTYOpenParams{AgentRef: ref, Config: AgentConfig{CWD: "/w"}, Cols: 1,
				Rows: 1})),
			"no size": errOf(r.PTYOpen(r.ctx,
				PTYOpenParams{AgentRef: ref, Config: AgentConfig{SessionID: "s", CWD: "/w"}})),
			"odd name": errOf(r.PTYOpen(r.ctx,
				PTYOpenParams{AgentRef: ref, Config: AgentConfig{SessionID: "s", CWD: "/w"},
					Cols: 1, Rows: 1, Term: "../../etc\x1b"})),
			"no data":       r.PTYWrite(r.ctx, PTYWriteParams{AgentRef: ref}),
			"too much":      r.PTYWrite(r.ctx, PTYWriteParams{ref, []byte(strings.Repeat("x", MaxPTYWrite+1))}),
			"size too big":  r.PTYResize(r.ctx, PTYResizeParams{ref, 1 << 20, 1}),
			"negative size": r.PTYResize(r.ctx, PTYResizeParams{ref, -1, 1}),
		} {
			testkit.Same(t, fmt.Sprintf("%s: %v", name, err), jsonrpc2.CodeInvalidParams, codeOf(err))
		}
	})
}

// TestWriteEndsWithItsCaller: a write that is never read ends with its caller.
func TestWriteEndsWithItsCaller(t *testing.T) {
	inRig(t, &fakeLauncher{}, &recorder{}, func(t *testing.T, r *rig) {
		testkit.Must(r.PTYOpen(r.ctx, onePTY("a", 1)))(t)
		ended := false
		r.l.terminal(AgentRef{"a", 1}).write = func(ctx context.Context) error {
			<-ctx.Done()
			ended = true
			return ctx.Err()
		}
		ctx, cancel := context.WithCancel(r.ctx)
		failed := make(chan error)
		go func() { failed <- r.PTYWrite(ctx, PTYWriteParams{AgentRef{"a", 1}, []byte("x")}) }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if !ended {
			t.Error("the bridge goes on with it")
		}
	})
}
