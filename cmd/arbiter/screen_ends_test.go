package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestWaysToLeave: while the Arbiter waits for an answer, arbiter is left in each possible way. The
// terminal is restored, no process is left, the exit code tells the ways apart, and the run can be resumed at
// the same point.
func TestWaysToLeave(t *testing.T) {
	testkit.Long(t)
	kill := func(sig syscall.Signal) func(p *pane) {
		return func(p *pane) { _ = p.Process().Signal(sig) }
	}
	for _, way := range []struct {
		name string
		do   func(p *pane)
		exit contract.Exit
	}{
		{"Ctrl+C and yes", func(p *pane) { p.press("Ctrl+C"); p.await("Leave?"); p.press("y") },
			contract.ExitInterrupted},
		{"Ctrl+C twice", func(p *pane) { p.press("Ctrl+C", "Ctrl+C") }, contract.ExitInterrupted},
		{"Ctrl+C many times", func(p *pane) {
			p.press("Ctrl+C", "Ctrl+C", "Ctrl+C", "Ctrl+C", "Ctrl+C")
		}, contract.ExitInterrupted},
		{"quit", func(p *pane) { p.Type("/quit\n"); p.await("Leave?"); p.press("y") }, contract.ExitInterrupted},
		{"q", func(p *pane) { p.press("Esc"); p.await("NORMAL"); p.press("q"); p.await("Leave?"); p.press("y") },
			contract.ExitInterrupted},
		{"cancel", func(p *pane) {
			p.typed("/cancel\n", "End the run?")
			p.pressed("y", "Speak again, or depart.")
			p.press("Ctrl+C")
		}, contract.ExitFailed},
		{"INT", kill(syscall.SIGINT), contract.ExitInterrupted},
		{"TERM", kill(syscall.SIGTERM), contract.ExitTerminated},
		{"HUP", kill(syscall.SIGHUP), contract.ExitTerminated},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			p := h.asking("--on-hangup", "stop")
			way.do(p)
			h.ended(p, way.exit)
			p = h.open("--resume")
			p.await("What shall it be called?", "The Arbiter awaits your answer.")
			p.typed("call it dawn\n", "y Allow once")
			p.finish()
			h.over(p)
		})
	}
}

// TestTerminalHangsUp: the window is closed. With --on-hangup stop the run is stopped in order, so that it can
// be resumed, and no process spins because its terminal is gone.
func TestTerminalHangsUp(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(map[bool]string{false: "idle", true: "playing"}[begun], func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			p := h.idle("--on-hangup", "stop")
			if begun {
				p.typed("Make a thing\n", "What shall it be called?", "The Arbiter awaits your answer.")
			}
			p.HangUp()
			state := testkit.Must(p.Exit(p.ctx))(t)
			if got := state.ExitCode(); got != int(contract.ExitTerminated) {
				t.Errorf("exit code %d (%v)", got, state)
			}
			testkit.Empty(t, "left behind", h.alive())
			if begun {
				p = h.open("--resume")
				p.await("What shall it be called?", "The Arbiter awaits your answer.")
				h.interrupted(p)
			}
		})
	}
}

// slow starts a run whose Orchestrator ignores everything but SIGKILL, so that it takes some seconds to end.
func (h *testHome) slow() *pane {
	h.t.Helper()
	onlyLinux(h.t)
	claude := sickClaude(h.t, sick{"orch-1.1": "hang"})
	p := h.open("--rehearse", "--claude", claude, "--scenario", scenarioFile(h.t, spin("echo spun")), "--task", "Weave")
	p.await("THE WEAVING", "Orchestrator I", "works", "Bash")
	return p
}

// TestOneSignalIsOrderly: a signal asks for an orderly end, which gives an agent time to end; the loss of the
// screen then does not count as a second signal.
func TestOneSignalIsOrderly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.slow()
	testkit.OK(t, p.Process().Signal(syscall.SIGTERM))
	h.ended(p, contract.ExitTerminated)
	want := []input.Signal{{Signal: "TERM"}}
	testkit.Same(t, "the run was asked to end", want,
		signalled(t, filepath.Join(h.home, ".local", "state", "arbiter"), h.runs()[0]))
}

// signalled lists the signals by which a run was asked to end, from its audit.
func signalled(t *testing.T, state, run string) []input.Signal {
	t.Helper()
	log := testkit.Must(journal.OpenLog(filepath.Join(state, "runs", run, journal.LogName)))(t)
	defer log.Close()
	var list []input.Signal
	testkit.OK(t, supervisor.AuditOf(t.Context(), log, run, false, func(l supervisor.AuditLine) error {
		if l.Entry.What == "signal" {
			name, _ := l.Entry.Detail["signal"].(string)
			fast, _ := l.Entry.Detail["fast"].(bool)
			list = append(list, input.Signal{Signal: name, Fast: fast})
		}
		return nil
	}))
	return list
}

// TestRepeatedSignals: arbiter reacts to further signals while it ends slowly, and restores the terminal in
// every case.
func TestRepeatedSignals(t *testing.T) {
	testkit.Long(t)
	for name, ask := range map[string]func(p *pane){
		"keys": func(p *pane) {
			p.press("Ctrl+C", "Ctrl+C")
			p.await("Ending")
			p.press("Ctrl+C")
			_, err := p.Wait(p.ctx, func(s pty.Screen) bool { return s.Shows("In haste") })
			if err != nil && !errors.Is(err, pty.ErrEnded) { // it may end before it says so
				p.t.Fatal(err)
			}
			p.press("Ctrl+C", "Ctrl+C", "Ctrl+C")
		},
		"signals": func(p *pane) {
			for range 3 {
				_ = p.Process().Signal(syscall.SIGTERM)
				<-time.After(50 * time.Millisecond) // two at the same time may count as one
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			p := h.slow()
			ask(p)
			state := testkit.Must(p.Exit(p.ctx))(t)
			if code := contract.Exit(state.ExitCode()); code != contract.ExitInterrupted &&
				code != contract.ExitTerminated {
				t.Errorf("it ended with %v", state)
			}
			h.restored(p)
			for _, run := range h.runs() {
				awaitGone(t, run) // the bridge may end a moment later
			}
		})
	}
}

// busyPane is a screen of a run whose Orchestrator runs a command that does not end.
func (h *testHome) busyPane() *pane {
	h.t.Helper()
	onlyLinux(h.t)
	p := h.play(scenarioFile(h.t, spin("exec sleep 1000")), "--task", "Weave")
	p.await("THE WEAVING", "Orchestrator I", "works", "Bash")
	return p
}

// TestFatalSignal: a signal that ends the program at once leaves the terminal as it was, and the run goes on.
func TestFatalSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGABRT, syscall.SIGSEGV} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			p := h.busyPane()
			testkit.OK(t, p.Process().Signal(sig))
			h.left(p, contract.Exit(128+int(sig)))
			runs := h.runs()
			if len(runs) != 1 || len(survivors(runs[0])) == 0 {
				t.Fatalf("runs %v, and nothing of them goes on", runs)
			}
		})
	}
}

// faultVariable names a file: once it exists, the screen of the test's arbiter panics, or hangs forever if the
// file contains "hang".
const (
	faultVariable = "ARBITER_TEST_SCREEN_FAULT"
	failureCaused = "it was provoked"
)

// causeFailure is called in the test's arbiter before it starts.
func causeFailure() {
	if mark := os.Getenv(faultVariable); mark != "" {
		painting = func() {
			what, err := os.ReadFile(mark)
			switch {
			case err == nil && string(what) == "hang":
				if os.WriteFile(mark+".hangs", nil, 0o600) == nil {
					select {}
				}
			case err == nil:
				panic(failureCaused)
			}
		}
	}
}

// TestScreenFault: after a panic in the screen's code the terminal is restored, there is a crash report and a
// separate exit code, and the run can be resumed.
func TestScreenFault(t *testing.T) {
	testkit.Long(t)
	for _, begun := range []bool{false, true} {
		t.Run(map[bool]string{false: "idle", true: "playing"}[begun], func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			mark := filepath.Join(t.TempDir(), "panic")
			env := h.env
			h.env = append(env, faultVariable+"="+mark)
			p := h.idle("--on-hangup", "stop")
			if begun {
				p.typed("Make a thing\n", "What shall it be called?", "The Arbiter awaits your answer.")
			}
			testkit.OK(t, os.WriteFile(mark, nil, 0o600))
			if !begun { // in a run, the clock causes a paint
				p.press("x")
			}
			after := h.ended(p, contract.ExitBug)
			testkit.Includes(t, "it says", after, "bug in arbiter's screen: "+failureCaused)
			if !begun {
				return
			}
			testkit.Includes(t, "no report", after, "a crash report was written to")
			h.env = env
			p = h.open("--resume")
			p.await("What shall it be called?", "The Arbiter awaits your answer.")
			h.interrupted(p)
		})
	}
}

// TestScreenHangs: the third signal ends arbiter at once, and the terminal is restored all the same.
func TestScreenHangs(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	mark := filepath.Join(t.TempDir(), "hang")
	h.env = append(h.env, faultVariable+"="+mark)
	p := h.idle()
	whole := mark + ".whole" // renamed when complete, since a paint may read it at any moment
	testkit.OK(t, errors.Join(os.WriteFile(whole, []byte("hang"), 0o600), os.Rename(whole, mark)))
	p.press("x")
	hangs := func() bool { _, err := os.Stat(mark + ".hangs"); return err == nil }
	for again := time.NewTicker(10 * time.Millisecond); !hangs(); {
		select {
		case <-again.C:
		case <-p.ctx.Done():
			t.Fatal("it does not hang")
		}
	}
	over := make(chan struct{})
	go func() { // repeat until the end: signals at the same time may count as one
		for again := time.NewTicker(50 * time.Millisecond); ; {
			_ = p.Process().Signal(syscall.SIGTERM)
			select {
			case <-again.C:
			case <-over:
				return
			}
		}
	}()
	state, err := p.Exit(p.ctx)
	close(over)
	testkit.OK(t, err)
	if code := contract.Exit(state.ExitCode()); code != contract.ExitTerminated {
		t.Errorf("it ended with %v", state)
	}
	h.restored(p)
}

// TestNothingToDrive: without claude the first screen says so. If the user leaves it without beginning
// anything, the exit code is that for the environment, and a script gets the same message.
func TestNothingToDrive(t *testing.T) {
	testkit.Long(t)
	bin := t.TempDir()
	self := testkit.Must(exec.LookPath("arbiter"))(t)
	testkit.OK(t, os.Symlink(self, filepath.Join(bin, "arbiter")))
	h := newTestHome(t, player{})
	h.env = append(h.env, "PATH="+bin+":/usr/bin:/bin") // these directories have no claude
	p := h.open()
	p.await("found none", "Rehearse")
	p.press("q")
	after := h.ended(p, contract.ExitEnvironment)
	testkit.Includes(t, "it says", after, "claude")
	// A task on the command line leads to the same end.
	p = h.open("--task", "Make a thing")
	p.await("Rehearse")
	p.press("q")
	h.ended(p, contract.ExitEnvironment)
	// A rehearsal plays the demo, and can be left as usual.
	p = h.open()
	p.await("Rehearse")
	p.pressed("r", "Speak, mortal.")
	p.typed("Make a thing\n", "Give invoice.sh a --csv flag")
	h.interrupted(p)
}

// TestNoScreen: if no screen can be shown, arbiter says so before it does anything.
func TestNoScreen(t *testing.T) {
	h := newTestHome(t, player{})
	for _, tt := range []struct {
		name, want string
		args       []string
		env        string
		tty        bool
	}{
		{name: "no terminal", want: "stdin is not a terminal"},
		{name: "dumb", want: "cannot place its cursor", env: "TERM=dumb", tty: true},
		{name: "unknown", want: "TERM=xterm-256color", env: "TERM=nothing-known", tty: true},
		{name: "two faces", want: "--plain", args: []string{"--plain", "--json"}, tty: true},
		{name: "theme", want: "use one of", args: []string{"--theme", "octarine"}, tty: true},
	} {
		cmd := exec.Command("arbiter", tt.args...)
		cmd.Env, cmd.Dir = append(h.env, tt.env), h.work
		text, code := "", 0
		if tt.tty {
			term := testkit.Must(pty.Start(cmd, wide))(t)
			defer term.Close()
			state := testkit.Must(term.Exit(t.Context()))(t)
			text, code = term.Screen().Text(), state.ExitCode()
			if left := term.Screen().Leftovers(); len(left) > 0 {
				t.Errorf("%s: %v", tt.name, left)
			}
		} else {
			out, _ := cmd.CombinedOutput()
			text, code = string(out), cmd.ProcessState.ExitCode()
		}
		want := int(contract.ExitUsage)
		if tt.name == "unknown" {
			want = int(contract.ExitEnvironment)
		}
		if code != want || !strings.Contains(text, tt.want) {
			t.Errorf("%s: exit code %d, want %d:\n%s", tt.name, code, want, text)
		}
	}
}
