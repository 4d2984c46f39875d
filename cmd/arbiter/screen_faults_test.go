package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
// screen can resume the run.
func TestHostIsKilled(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.asking()
	testkit.OK(t, syscall.Kill(h.hosts()[0], syscall.SIGKILL))
	p.await("was killed or crashed", "Resume it", "interrupted")
	awaitGone(t, h.runs()[0])
	next := "arbiter --resume --session " + h.runs()[0][:8]
	for _, command := range []string{"status", "send hello", "allow", "stop", "watch", "halt"} {
		testkit.Includes(t, fmt.Sprintf("%s does not name the run and the command", command),
			h.fails(contract.ExitUsage, strings.Fields(command)...), next)
	}
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
