package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	s := testkit.Must(p.Wait(p.ctx, ok))(p.t)
	return s
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
	state := testkit.Must(p.Exit(p.ctx))(p.t)
	return state
}

// clear empties the input line.
func (p *pane) clear() {
	p.t.Helper()
	p.press("Ctrl+C")
	p.until(func(s pty.Screen) bool { return s.Shows("› Speak") })
}

// peak returns the maximum memory that a process has used, in bytes.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB := testkit.Must(strconv.Atoi(strings.Fields(rest)[0]))(t)
	return kB << 10
}

// weaving starts a play in which an Orchestrator works for a long time.
func weaving(t *testing.T, size pty.Size) *pane {
	t.Helper()
	p := show(t, size, "", nil, "--stand-in", "--scenario", scenarioFile(t, spin("sleep 1000")), "--task", "Weave")
	p.await("THE WEAVING", "Orchestrator I", "Bash sleep 1000", "Spin it.", "The thread continues.")
	return p
}

// TestHugePaste pastes ten megabytes, with bytes that have special meanings, in two parts. The screen executes
// and sends none of it, keeps running meanwhile, shows the paste as a chip, and keeps what it cannot send.
func TestHugePaste(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	onlyLinux(t)
	p := weaving(t, pty.Size{Columns: 100, Rows: 30})
	before := peak(t, p.Process().Pid)
	evil := "/quit\r\x03\x03y\x1b[201;1~/quit\r\x1b[0201~\x1b]0;owned\x1bP\x1b_\x1b[20" +
		"\x1b[200~1~\x1b[<0;2;2M\x1b[<0;2;2m\u009b201~\x9b201~/kill orch-1\r\x07\x1a\x00é世\r\n"
	part := strings.Repeat(evil, (5<<20)/len(evil)+1)
	p.Send("\x1b[200~" + part)
	for range 4 { // animations continue while the rest is on its way
		at := p.Screen().Row(-1)
		p.until(func(s pty.Screen) bool { return s.Row(-1) != at })
	}
	began := time.Now()
	p.Send(part + "\x1b[201~")
	s := p.await("› [paste 1: ", "MB]")
	t.Logf("the second half took %v; %d MB at most, %d MB before", time.Since(began).Round(time.Millisecond),
		peak(t, p.Process().Pid)>>20, before>>20)
	if grown := peak(t, p.Process().Pid) - before; grown > 150<<20 {
		t.Errorf("it took %d MB", grown>>20)
	}
	chip := s.Row(-2)
	p.press("Enter")
	if s = p.await("Too long, not sent"); s.Row(-2) != chip || s.Shows("quit") || !s.Shows("name it with @") {
		t.Errorf("refused, but:\n%s", s.Text())
	}
	if faults := pty.FullScreen.Check(p.Output()); faults != nil || strings.Contains(s.Title, "owned") {
		t.Errorf("sent: %q, title %q", faults, s.Title)
	}
	p.clear()
	p.Paste("a short one")
	p.await("› a short one")
	p.press("Enter")
	if s = p.await("You → The Arbiter", "▌ a short one"); !s.Shows("Bash sleep 1000") || s.Shows("Leave?") {
		t.Errorf("something else was done:\n%s", s.Text())
	}
	p.leave()
}

// window sets a terminal's size in the kernel, without informing the emulator.
func window(t *testing.T, p *pane, columns, rows uint16) {
	t.Helper()
	tty := testkit.Must(os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", p.Process().Pid), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	defer tty.Close()
	testkit.OK(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}))
}

// passing matches parts of a screen that change although nothing happens.
var passing = regexp.MustCompile(`[·•⠀-⣿]+|[━╸─]{2,}|\s*\d+[smh]\b| {2,}|\d\d:\d\d|\$\S+|\S+ tok`)

func unmoved(s pty.Screen) string {
	return passing.ReplaceAllString(strings.Join(s.Rows()[:max(len(s.Cells)-1, 0)], "\n"), "")
}

// TestScreenResizeStorm: the window gets absurd sizes, one by one and at once. The screen does not crash, its
// memory is bounded, and afterwards it looks as before.
func TestScreenResizeStorm(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	onlyLinux(t)
	normal := pty.Size{Columns: 80, Rows: 24}
	p := weaving(t, normal)
	// No more changes are to come: both contexts were measured, and the message was delivered.
	at := p.until(func(s pty.Screen) bool { return strings.Count(s.Text(), "%") == 2 && s.Shows("brief ✓") })
	before, used := unmoved(at), peak(t, p.Process().Pid)
	for i := range 200 {
		testkit.OK(t, p.Resize(pty.Size{Columns: 1 + i*7%130, Rows: 1 + i*5%50}))
	}
	for _, size := range [][2]int{{1, 1}, {0, 0}, {10_000, 24}, {3, 1000}, {1, 50}, {200, 1}, {2, 2}, {400, 120}} {
		testkit.OK(t, p.Resize(pty.Size{Columns: size[0], Rows: size[1]}))
		if size[0] > 300 && size[1] > 20 {
			p.await("THE WEAVING", "F1 help")
		}
	}
	giants := [][2]uint16{{65535, 65535}, {1, 65535}, {65535, 1}, {30_000, 1000}, {65535, 65535}}
	if underRace {
		giants = nil // a million cells take minutes with the race detector
	}
	for _, size := range giants {
		sent := len(p.Output())
		window(t, p, size[0], size[1])
		if size[0] > 1 && size[1] > 1 { // painting needs that many bytes
			p.until(func(pty.Screen) bool { return len(p.Output()) > sent+1<<20 })
		}
	}
	testkit.OK(t, p.Resize(normal))
	s, err := p.Wait(p.ctx, func(s pty.Screen) bool { return s.Size == normal && unmoved(s) == before })
	if err != nil {
		t.Fatalf("%v\nbefore it was\n%s", err, before)
	}
	grown := peak(t, p.Process().Pid) - used
	t.Logf("%d MB more at most", grown>>20)
	if grown > 1<<30 {
		t.Errorf("it took %d MB", grown>>20)
	}
	if !strings.HasSuffix(s.Row(-1), "F1 help") {
		t.Errorf("the last row is %q", s.Row(-1))
	}
	p.leave()
}

// TestScreenIsLeft: a run continues when its screen is left, killed, or loses its terminal, and another screen
// shows all of it.
func TestScreenIsLeft(t *testing.T) {
	testkit.Long(t)
	for _, way := range []struct {
		name string
		do   func(p *pane)
		exit int // -1: it was killed
		back []string
	}{
		{"Ctrl+D", func(p *pane) { p.press("Ctrl+D") }, int(contract.ExitComplete), []string{"--resume"}},
		{"d", func(p *pane) { p.press("Ctrl+C"); p.await("Leave?"); p.press("d") }, int(contract.ExitComplete), nil},
		{"hang-up", func(p *pane) { p.HangUp() }, int(contract.ExitTerminated), []string{"attach"}},
		{"kill", func(p *pane) { _ = p.Process().Signal(syscall.SIGKILL) }, -1, []string{"attach", "RUN"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			p := h.asking()
			host := h.hosts()
			way.do(p)
			state := testkit.Must(p.Exit(p.ctx))(t)
			if got := state.ExitCode(); got != way.exit {
				t.Errorf("exit code %d (%v), want %d, with the screen\n%s", got, state, way.exit, p.Screen().Text())
			}
			text, back := p.Screen().Text(), "arbiter attach "+h.runs()[0][:8]
			if way.exit == int(contract.ExitComplete) && !strings.Contains(text, back) {
				t.Errorf("it is not said how to come back:\n%s", text)
			}
			for i, arg := range way.back {
				if arg == "RUN" {
					way.back[i] = h.runs()[0][:8]
				}
			}
			p = h.open(way.back...)
			p.await("What shall it be called?", "The Arbiter awaits your answer.", "Make a thing")
			testkit.Same(t, "what plays the run", host, h.hosts())
			p.typed("call it dawn\n", "y Allow once")
			p.finish()
			h.over(p)
		})
	}
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
	state := testkit.Must(p.Exit(p.ctx))(t)
	testkit.Same(t, "exit code", int(contract.ExitInterrupted), state.ExitCode())
	testkit.Includes(t, "it says", p.Screen().Text(), "arbiter --plain --resume --session")
	testkit.Empty(t, "left behind", h.alive())
	p = h.open("--plain", "--resume")
	p.await("What shall it be called?")
	p.typed("call it dawn\n", "1 y")
	p.Type("1 y\n")
	h.ended(p, contract.ExitComplete)
}
