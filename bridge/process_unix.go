//go:build unix

package bridge

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's signals away. A caller that wants a session
// instead has set that already; both together are refused by the kernel (EPERM).
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
}

// terminate asks the bridge alone: it knows in which order its agents end.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }

// killGroup kills what stayed in its group. The child was not waited for yet, so
// its number cannot be another's.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}
