//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// isolate gives git a session of its own: keys of the terminal do not reach it, and it cannot ask there.
// When it is ended, its filters are ended, too.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
