package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

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
