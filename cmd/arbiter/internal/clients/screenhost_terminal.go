package clients

import (
	"cmp"
	"errors"
	"fmt"
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

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
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

// openEditor opens a file in the user's editor at a line, counted from 1.
func (h *ScreenHost) openEditor(file string, line int) error {
	return h.runEditor(editorPlace(editorName(), file, line)...)
}

// editorName returns the user's editor.
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
