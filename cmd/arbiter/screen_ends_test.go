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
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.asking("--on-hangup", "stop")
	p.HangUp()
	testkit.Same(t, "exit code", int(contract.ExitTerminated), testkit.Must(p.Exit(p.ctx))(t).ExitCode())
	testkit.Empty(t, "left behind", h.alive())
	p = h.open("--resume")
	p.await("What shall it be called?", "The Arbiter awaits your answer.")
	h.interrupted(p)
}

// TestFatalSignal: a signal that ends the program at once leaves the terminal as it was, and the run goes on.
func TestFatalSignal(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.play(scenarioFile(t, spin("exec sleep 1000")), "--task", "Weave")
	p.await("THE WEAVING", "Orchestrator I", "works", "Bash")
	testkit.OK(t, p.Process().Signal(syscall.SIGSEGV))
	h.left(p, contract.Exit(128+int(syscall.SIGSEGV)))
	runs := h.runs()
	testkit.Need(t, len(runs) == 1 && len(survivors(runs[0])) != 0, "runs %v, and nothing of them goes on", runs)
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
	code := contract.Exit(state.ExitCode())
	testkit.Check(t, code == contract.ExitTerminated, "it ended with %v", state)
	h.restored(p)
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
			left := term.Screen().Leftovers()
			testkit.Check(t, len(left) == 0, "%s: %v", tt.name, left)
		} else {
			out, _ := cmd.CombinedOutput()
			text, code = string(out), cmd.ProcessState.ExitCode()
		}
		want := int(contract.ExitUsage)
		if tt.name == "unknown" {
			want = int(contract.ExitEnvironment)
		}
		testkit.Check(t, code == want && strings.Contains(text, tt.want), "%s: exit code %d, want %d:\n%s", tt.name,
			code, want, text)
	}
}
