package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge/inherit"
	"github.com/arbiter-cli/arbiter/bridge/lend"
)

// Edit implements tui.Host: $VISUAL, else $EDITOR, else vi.
func (h *host) Edit(text string) (string, error) {
	dir, err := os.MkdirTemp("", "arbiter-")
	if err != nil {
		return text, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "message.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return text, err
	}
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	// A shell, because the variable may hold arguments and quotes.
	cmd := exec.Command("/bin/sh", "-c", editor+` "$1"`, "editor", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return text, fmt.Errorf("the editor (%s) ended with an error, the text is as it was: %w", editor, err)
	}
	edited, err := os.ReadFile(path)
	if err != nil {
		return text, err
	}
	return strings.TrimSuffix(string(edited), "\n"), nil
}

// Login implements tui.Host: `claude auth login` in a terminal of its own, with the
// environment that agents get.
func (h *host) Login() error {
	path := cmp.Or(h.choices.Claude, "claude")
	cmd := exec.Command(path, "auth", "login")
	cmd.Dir = h.choices.Place
	cmd.Env = inherit.List(inherit.From(os.Environ(), h.choices.Options.Env))
	fmt.Fprint(h.env.stderr, "\nclaude logs in. Ctrl+] comes back to arbiter.\n\n")
	exit, err := lend.Run(context.Background(), cmd, os.Stdin)
	if errors.Is(err, lend.ErrDetached) {
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

// Suspend implements tui.Host: it stops the process group as Ctrl+Z does, and returns
// when it is continued.
func (h *host) Suspend() error {
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return errors.Join(errors.New("suspend"), err)
	}
	return nil
}
