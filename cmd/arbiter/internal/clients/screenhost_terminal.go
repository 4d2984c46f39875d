package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui"
)

// Edit implements tui.Host. The editor is $VISUAL, or else $EDITOR, or else vi.
func (h *ScreenHost) Edit(text string) (string, error) {
	dir, err := os.MkdirTemp("", "arbiter-")
	if err != nil {
		return text, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "message.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return text, err
	}
	if err := h.runEditor(path); err != nil {
		return text, fmt.Errorf("the text is as it was: %w", err)
	}
	edited, err := os.ReadFile(path)
	if err != nil {
		return text, err
	}
	return strings.TrimSuffix(string(edited), "\n"), nil
}

func editorName() string { return cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi") }

// runEditor runs the user's editor in the terminal.
func (h *ScreenHost) runEditor(args ...string) error {
	editor := editorName()
	// The editor stays in our process group, so that its Ctrl+Z suspends both.
	cmd := exec.CommandContext(h.ctx, "/bin/sh", append([]string{"-c", subcommands.EditorScript(editor), "editor"},
		args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	back := h.withTerminal(func() {}) // Ctrl+C goes to the whole group, but is meant for the editor
	err := cmd.Run()
	back()
	if err != nil {
		return fmt.Errorf("%w of the editor (%s)", err, editor)
	}
	return nil
}

// Editors by their syntax for a line number. Other editors open the file at its beginning.
var (
	plusLine = []string{"vi", "vim", "nvim", "view", "vimx", "nano", "pico", "micro", "emacs", "emacsclient", "kak", "joe",
		"jed", "mcedit", "ne", "mg", "zile", "gedit", "kwrite"}
	colonLine = []string{"hx", "helix", "subl", "zed", "zeditor"}
	gotoLine  = []string{"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"}
)

// editorPlace returns the arguments that open a file at a line.
func editorPlace(editor, file string, line int) []string {
	first, _, _ := strings.Cut(strings.TrimSpace(editor), " ")
	switch name := filepath.Base(first); {
	case line <= 1:
	case slices.Contains(plusLine, name):
		return []string{"+" + strconv.Itoa(line), file}
	case slices.Contains(colonLine, name):
		return []string{file + ":" + strconv.Itoa(line)}
	case slices.Contains(gotoLine, name):
		return []string{"--goto", file + ":" + strconv.Itoa(line)}
	}
	return []string{file}
}

// underWay is how long a signal for another program may take to arrive. Ctrl+C in the screen itself is a key, not a
// signal.
const underWay = 250 * time.Millisecond

// withTerminal passes Ctrl+C to heed until back is called. Until then it watches the terminal: when the terminal is
// gone, it ends the program that has the terminal, because that program may never read it.
func (h *ScreenHost) withTerminal(heed func()) (back func()) {
	h.onInterrupt.Store(&heed)
	h.awayUntil.Store(math.MaxInt64)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { h.watchTerminal(stop) })
	return func() {
		close(stop)
		watching.Wait()
		h.awayUntil.Store(time.Now().Add(underWay).UnixNano())
	}
}

// watchEvery is how often the terminal is checked while it is lent. No signal reports its end if we are not the
// session leader or were started with SIGHUP ignored.
const watchEvery = time.Second

// watchTerminal ends the program that has the terminal when the terminal is gone, because the terminal does not
// come back.
func (h *ScreenHost) watchTerminal(stop <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if _, _, err := ptyproxy.Size(os.Stdin); err != nil {
			h.recall()
			return
		}
	}
}

// Login implements tui.Host. It runs `claude auth login` in its own terminal, with the environment that agents get.
func (h *ScreenHost) Login() error {
	path := cmp.Or(h.choices.Claude, "claude")
	cmd := exec.Command(path, "auth", "login")
	cmd.Dir = h.choices.Place
	cmd.Env = proctree.EnvList(proctree.EnvFrom(os.Environ(), h.choices.Options.Env))
	fmt.Fprint(h.env.Stderr, "\nclaude logs in. Ctrl+] comes back to arbiter.\n\n")
	exit, err := ptyproxy.Run(h.ctx, cmd, os.Stdin)
	if errors.Is(err, ptyproxy.ErrDetached) || h.ctx.Err() != nil {
		return nil // the login is checked later in any case
	}
	if err != nil {
		return fmt.Errorf("log in through %s: %w", path, err)
	}
	if exit != 0 {
		return fmt.Errorf("%s auth login ended with %d", path, exit)
	}
	return nil
}

// notStopped is how long a stop may take to become effective.
const notStopped = 250 * time.Millisecond

// Suspend implements tui.Host: it stops the process group like Ctrl+Z, and returns when the group is continued. Any
// thread may receive the signal, so this one may run on for a moment; the screen must not be restored by then. Without
// a shell above it, nothing could continue the group, and it is not stopped.
func (h *ScreenHost) Suspend() error {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return errors.New("no shell can continue arbiter here: it is the first program of this terminal")
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend: %w", err)
	}
	select {
	case <-continued:
	case <-time.After(notStopped):
	}
	return nil
}

// Attach implements tui.Host: it shows the session of an agent in the terminal of the screen.
func (h *ScreenHost) Attach(agent string) error {
	l := h.Session()
	if l == nil {
		return errors.New("nothing runs")
	}
	cols, rows, err := ptyproxy.Size(os.Stdin)
	if err != nil {
		return err
	}
	// While the session is being opened, Ctrl+C gives up, and does not end the run.
	ctx, stop := context.WithCancel(h.ctx)
	defer stop()
	defer h.withTerminal(stop)()
	progress := subcommands.Progress(h.env.Stderr)
	progress("Attaching to " + agent + ". Ctrl+C gives up.")
	client, _, err := control.Dial(ctx, l.Socket(), progress)
	if err != nil {
		return err
	}
	defer client.Close()
	p := control.AttachParams{Agent: agent, Size: control.Size{Cols: max(cols, 1), Rows: max(rows, 1)},
		Term: os.Getenv("TERM"), Frontend: input.ChannelScreen}
	r, err := client.Attach(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return nil // the person who gave up knows
		}
		return err
	}
	err = subcommands.ShowAttach(h.ctx, h.env.Stderr, r, ptyproxy.Proxy{}, client)
	if h.ctx.Err() != nil {
		return nil
	}
	return err
}

// asItWas resets everything that a screen may have changed: mouse, paste and focus reports, keys, colours and
// cursor, the alternate screen, and the title, which the terminal had saved.
const asItWas = "\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1004l\x1b[?9001l" +
	"\x1b[<u\x1b[>4;0m\x1b[?1l\x1b>\x1b[?7h\x1b[0m\x1b[0 q\x1b[?25h\x1b[23;2t\x1b[?1049l"

// resetTerminal is for a screen that hangs and cannot reset the terminal itself. The returned function resets the
// terminal as far as possible without blocking. Call resetTerminal before the screen starts.
func resetTerminal(in *os.File, out io.Writer) (last func()) {
	was, err := term.GetState(int(in.Fd()))
	return func() {
		if err != nil {
			return // no terminal
		}
		_ = term.Restore(int(in.Fd()), was) // an error means that the terminal is gone
		written := make(chan struct{})
		go func() { // may block if the terminal is not read; the process ends anyway
			defer close(written)
			_, _ = io.WriteString(out, asItWas)
		}()
		select {
		case <-written:
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Time limits for ending a command of the user.
const (
	shellGrace = 500 * time.Millisecond // between the request to end and the kill
	shellEnds  = 5 * time.Second        // until all processes that it started are gone
)

// Shell implements tui.Host: the user's own shell runs a line, without a terminal and without input.
func (h *ScreenHost) Shell(ctx context.Context, dir, line string, out io.Writer) (code int, err error) {
	program := os.Getenv("SHELL")
	if !filepath.IsAbs(program) {
		program = "/bin/sh"
	}
	cmd := exec.Command(program, "-c", line)
	cmd.Dir, cmd.Env = dir, os.Environ()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = shellGrace                           // background processes hold the output, too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it cannot prompt on the terminal of the screen
	child, err := proctree.Start(cmd, proctree.Mark{Run: uuid.NewString()})
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", program, err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Remember()
		_ = child.Signal(syscall.SIGTERM) // Kill follows in any case
		select {
		case <-child.Done():
		case <-time.After(shellGrace):
		}
	}
	ending, cancel := context.WithTimeout(context.Background(), shellEnds)
	defer cancel()
	if _, err := child.Kill(ending); err != nil { // also ends background processes
		return 0, fmt.Errorf("end what %q has started: %w", line, err)
	}
	var exit *exec.ExitError
	if err := child.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, err
	}
	if s := child.State(); s != nil {
		code = s.ExitCode()
	}
	return code, nil
}

// Show runs the frontend until it is left, ends the running session, and prints final messages. The terminal is
// restored before anything is written to stderr.
func (h *ScreenHost) Show(f *tui.Frontend) error {
	stop := h.HandleSignals(f.Leave, resetTerminal(os.Stdin, os.Stdout))
	defer stop()
	failed := f.Run(context.Background())
	var fault *tui.Fault
	broke, end := errors.As(failed, &fault), "INT"
	if failed != nil && !broke {
		end = "TERM"
	}
	if lost := (*tui.LostError)(nil); errors.As(failed, &lost) {
		h.Lost() // whether or not there was a signal
	}
	outcome := h.End(end)
	if broke {
		return h.screenFault(fault)
	}
	switch {
	case failed != nil && !h.played():
		return command.Environmentf("%v; use --plain for lines of text, or --json for scripts", failed)
	case failed != nil:
		fmt.Fprintln(h.env.Stderr, "arbiter: the terminal was lost: "+sanitize.Line(failed.Error(), 300))
	}
	if outcome.Exit == contract.ExitComplete {
		return nil
	}
	if outcome.Exit == contract.ExitInterrupted && h.signal == "" {
		outcome.Text = "the run was stopped before it was done"
	}
	return &command.Error{Code: outcome.Exit, Text: outcome.Text}
}

// Lost records that the terminal is gone: the run continues, or [ScreenHost.End] stops it.
func (h *ScreenHost) Lost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.signal == "" {
		h.signal = "TERM"
		h.hungUp()
	}
}

// hungUp leaves the run if the settings say so. The caller holds mu.
func (h *ScreenHost) hungUp() (left bool) {
	if h.choices.Screen.OnHangup == settings.HangupStop {
		return false
	}
	if h.last != nil {
		h.last.Leave()
	}
	return true
}

// played reports whether a run was started or a signal was received.
func (h *ScreenHost) played() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last != nil || h.signal != ""
}

func (h *ScreenHost) screenFault(fault *tui.Fault) error {
	if l := h.Session(); l != nil {
		r := l.Reporter(h.choices)
		r.Panicked(&runloop.Fault{Panic: fault.Panic, Stack: fault.Stack})
		r.Close()
		for _, path := range r.Written() {
			fmt.Fprintln(h.env.Stderr, "arbiter: a crash report was written to "+path)
		}
	} else {
		fmt.Fprintf(h.env.Stderr, "%s\n", fault.Stack)
	}
	return &command.Error{Code: contract.ExitBug, Text: fault.Error()}
}

// HandleSignals ends the run and leaves the frontend when the terminal is closed or a signal asks for it.
func (h *ScreenHost) HandleSignals(leave, last func()) (stop func()) {
	command.OutliveReaders()
	return command.HandleSignals(func(name string, _ int) bool { return h.handles(name, leave) }, func() {
		if l := h.Session(); l != nil {
			l.HaltAtOnce()
		}
	}, last)
}

// handles reports whether a signal was meant for this program. Ctrl+C is only a key for the program that has the
// terminal.
func (h *ScreenHost) handles(name string, leave func()) bool {
	if name == "INT" && time.Now().UnixNano() < h.awayUntil.Load() {
		(*h.onInterrupt.Load())()
		return false
	}
	h.signalled(name)
	leave()
	return true
}

// signalled ends the current run, or leaves it if the terminal hung up. Without a run, the signal determines the
// exit code.
func (h *ScreenHost) signalled(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.signal = name
	h.recall() // end the program that has the terminal
	if name == "HUP" && h.hungUp() || h.last == nil {
		return
	}
	h.last.StopBy(name)
}
