package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
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

// pane is a terminal with arbiter's screen.
type pane struct {
	*pty.Terminal
	t   *testing.T
	ctx context.Context
	cmd *exec.Cmd
}

// show starts arbiter in a terminal of that size, with a private home and, of our environment, only PATH. A
// variable in env replaces one of the same name.
func show(t *testing.T, size pty.Size, dir string, env []string, args ...string) *pane {
	t.Helper()
	return showProgram(t, "arbiter", size, dir, env, args...)
}

// showProgram is like show, for a program that executes arbiter.
func showProgram(t *testing.T, program string, size pty.Size, dir string, env []string, args ...string) *pane {
	t.Helper()
	home := t.TempDir()
	if dir == "" {
		dir = home
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + host.CacheHome(), "TMPDIR=" + t.TempDir(),
		"LANG=C.UTF-8", "COLORFGBG=15;0", "GORACE=atexit_sleep_ms=0",
	}, env...)
	term := testkit.Must(pty.Start(cmd, size))(t)
	t.Cleanup(term.Close)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	return &pane{Terminal: term, t: t, ctx: ctx, cmd: cmd}
}

// await waits until the screen shows all of the texts.
func (p *pane) await(texts ...string) pty.Screen {
	p.t.Helper()
	return p.until(pty.Shows(texts...))
}

func (p *pane) until(ok func(pty.Screen) bool) pty.Screen {
	p.t.Helper()
	return testkit.Must(p.Wait(p.ctx, ok))(p.t)
}

// press presses keys in order.
func (p *pane) press(names ...string) {
	p.t.Helper()
	testkit.OK(p.t, p.Press(names...))
}

// pressed is a step of a user, who presses a key and sees what follows.
func (p *pane) pressed(key string, texts ...string) {
	p.t.Helper()
	p.press(key)
	p.await(texts...)
}

// typed is the same with a text.
func (p *pane) typed(text string, texts ...string) {
	p.t.Helper()
	p.Type(text)
	p.await(texts...)
}

// leave ends arbiter by keys and waits for its end.
func (p *pane) leave() *os.ProcessState {
	p.t.Helper()
	p.press("Ctrl+C", "Ctrl+C", "y")
	return testkit.Must(p.Exit(p.ctx))(p.t)
}

// clear empties the input line.
func (p *pane) clear() {
	p.t.Helper()
	p.press("Ctrl+C")
	p.until(func(s pty.Screen) bool { return s.Shows("› Speak") })
}

// TestHostIsKilled: when a run's host process is killed, no process keeps running, the screen says so, and the
// screen can resume the run: it continues there, and nothing is shown again. So can another screen.
func TestHostIsKilled(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.asking()
	kill := func() { testkit.OK(t, syscall.Kill(h.hosts()[0], syscall.SIGKILL)) }
	offered := func() {
		p.await("was killed or crashed", "Resume it", "interrupted")
		awaitGone(t, h.runs()[0])
		p.armed("n Not now")
	}
	kill()
	next := "arbiter --resume --session " + h.runs()[0][:8]
	for _, command := range []string{"status", "send hello", "allow", "stop", "watch", "halt"} {
		testkit.Includes(t, fmt.Sprintf("%s does not name the run and the command", command),
			h.fails(contract.ExitUsage, strings.Fields(command)...), next)
	}
	offered()
	p.pressed("r", "The thread continues.", "The Arbiter awaits your answer.")
	p.press("PgUp", "PgUp")
	s := p.until(func(s pty.Screen) bool { return strings.Contains(s.Text(), "──\n▌ The weaving begins.") })
	testkit.Same(t, "beginnings", 1, strings.Count(s.Text(), "The weaving begins."))
	kill()
	offered()
	p.press("n", "Ctrl+C")
	h.ended(p, contract.ExitFailed)
	p = h.open("--resume")
	p.await("What shall it be called?", "The Arbiter awaits your answer.", "Make a thing")
	h.interrupted(p)
}

// TestInboxOfAllRuns: what waits in any run is listed with numbers, and answered by them from another directory.
func TestInboxOfAllRuns(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.asking()
	cmd := exec.Command("arbiter", "inbox")
	other := h.run(cmd)
	other.await("1. run "+h.runs()[0][:8], "What shall it be called?", "Answer (NUMBER y")
	testkit.Excludes(t, "the commands name a directory that is used anyway", other.Screen().Text(), "--state-dir")
	other.Send("2 Dawn\r")
	other.await("begin with a number from 1 to 1")
	other.Send("1 dawn\r")
	other.await("Run " + h.runs()[0][:8] + ": message to arbiter")
	other.Send("\r")
	testkit.Must(other.Exit(other.ctx))(t)
	h.interrupted(p)
}

// TestPlainIsLeft: --plain leaves its run when its terminal is gone, and a plain client of a live run prints
// the same story. Ctrl+C ends the run in order, and --plain resumes it.
func TestPlainIsLeft(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.run(exec.Command("arbiter", append(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")), "--plain",
		"--task", "Make a thing")...))
	p.await("What shall it be called?")
	host := h.hosts()
	p.HangUp()
	testkit.Must(p.Exit(p.ctx))(t)
	p = h.run(exec.Command("arbiter", "--plain"))
	p.await("What shall it be called?")
	testkit.Same(t, "what plays the run", host, h.hosts())
	p.press("Ctrl+C")
	testkit.Same(t, "exit code", int(contract.ExitInterrupted), testkit.Must(p.Exit(p.ctx))(t).ExitCode())
	testkit.Includes(t, "it says", p.Screen().Text(), "arbiter --plain --resume --session")
	testkit.Empty(t, "left behind", h.alive())
	p = h.open("--plain", "--resume")
	p.await("What shall it be called?")
	p.typed("call it dawn\n", "1 y")
	p.Type("1 y\n")
	h.ended(p, contract.ExitComplete)
}
