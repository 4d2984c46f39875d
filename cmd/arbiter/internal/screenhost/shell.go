package screenhost

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

// Bounds of the end of a command of the user's own.
const (
	shellGrace = 500 * time.Millisecond // between the wish that it ends and its end
	shellEnds  = 5 * time.Second        // until all that it has started is gone
)

// Shell implements tui.Host: the user's own shell runs a line, without a terminal and without an input.
func (h *Host) Shell(ctx context.Context, dir, line string, out io.Writer) (code int, err error) {
	program := os.Getenv("SHELL")
	if !filepath.IsAbs(program) {
		program = "/bin/sh"
	}
	cmd := exec.Command(program, "-c", line)
	cmd.Dir, cmd.Env = dir, os.Environ()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = shellGrace                           // what goes on in the background has the output, too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it cannot ask on the terminal that the screen has
	child, err := proctree.Start(cmd, proctree.Mark{Run: uuid.NewString()})
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", program, err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Remember()
		_ = child.Signal(syscall.SIGTERM) // Kill follows, whatever happens to it
		select {
		case <-child.Done():
		case <-time.After(shellGrace):
		}
	}
	ending, cancel := context.WithTimeout(context.Background(), shellEnds)
	defer cancel()
	if _, err := child.Kill(ending); err != nil { // what it left in the background, too
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
