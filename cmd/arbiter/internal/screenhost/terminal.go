package screenhost

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

	"github.com/arbiter-cli/arbiter/bridge/childenv"
	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/workspacecmd"
)

// Edit implements tui.Host: $VISUAL, else $EDITOR, else vi.
func (h *Host) Edit(text string) (string, error) {
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

// openEditor opens a file in the user's editor, at a line that is counted from 1.
func (h *Host) openEditor(file string, line int) error {
	return h.runEditor(editorPlace(editorName(), file, line)...)
}

// editorName is the user's editor.
func editorName() string { return cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi") }

// runEditor runs the user's editor in the terminal.
func (h *Host) runEditor(args ...string) error {
	editor := editorName()
	// It stays in our group, so that one Ctrl+Z of the editor's suspends both.
	cmd := exec.CommandContext(h.ctx, "/bin/sh", append([]string{"-c", workspacecmd.EditorScript(editor), "editor"},
		args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	back := h.withTerminal(func() {}) // Ctrl+C goes to the whole group, and is the editor's
	err := cmd.Run()
	back()
	if err != nil {
		return fmt.Errorf("%w of the editor (%s)", err, editor)
	}
	return nil
}

// Editors by how they take a line number. Others open the file at its beginning.
var (
	plusLine = []string{"vi", "vim", "nvim", "view", "vimx", "nano", "pico", "micro", "emacs", "emacsclient", "kak", "joe",
		"jed", "mcedit", "ne", "mg", "zile", "gedit", "kwrite"}
	colonLine = []string{"hx", "helix", "subl", "zed", "zeditor"}
	gotoLine  = []string{"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"}
)

// editorPlace are the arguments that open a file at a line.
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

// underWay is how long a signal that was meant for another may be on its way. The
// screen's own Ctrl+C is a key, and no signal.
const underWay = 250 * time.Millisecond

// withTerminal passes Ctrl+C to heed until back is called. Until then it
// watches the terminal: the program that has it, and may never look at it, is ended when it is gone.
func (h *Host) withTerminal(heed func()) (back func()) {
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

// watchEvery is how often the terminal is looked at while it is lent. No signal reports its
// end where we lead no session, or were started to ignore SIGHUP.
const watchEvery = time.Second

// watchTerminal ends the program that has the terminal when it is gone, for it does not come back.
func (h *Host) watchTerminal(stop <-chan struct{}) {
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

// Login implements tui.Host: `claude auth login` in a terminal of its own, with the
// environment that agents get.
func (h *Host) Login() error {
	path := cmp.Or(h.choices.Claude, "claude")
	cmd := exec.Command(path, "auth", "login")
	cmd.Dir = h.choices.Place
	cmd.Env = childenv.List(childenv.From(os.Environ(), h.choices.Options.Env))
	fmt.Fprint(h.env.Stderr, "\nclaude logs in. Ctrl+] comes back to arbiter.\n\n")
	exit, err := ptyproxy.Run(h.ctx, cmd, os.Stdin)
	if errors.Is(err, ptyproxy.ErrDetached) || h.ctx.Err() != nil {
		return nil // whether it was done is looked for anyway
	}
	if err != nil {
		return fmt.Errorf("log in through %s: %w", path, err)
	}
	if exit != 0 {
		return fmt.Errorf("%s auth login ended with %d", path, exit)
	}
	return nil
}

// notStopped is how long a stop may take to come about.
const notStopped = 250 * time.Millisecond

// Suspend implements tui.Host: it stops the process group as Ctrl+Z does, and returns
// when it is continued. Any thread may take the signal, so that this one may run on for
// a moment: the screen must not be back by then. A group without a shell above it, an
// orphaned one, is not stopped by that signal at all.
func (h *Host) Suspend() error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return fmt.Errorf("suspend: %w", err)
	}
	select {
	case <-continued:
	case <-time.After(notStopped):
	}
	return nil
}
