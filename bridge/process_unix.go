//go:build unix

package bridge

import (
	"os/exec"
	"syscall"
)

// ownGroup protects a command from the terminal's signals. If the caller has requested a session, nothing
// is changed: the kernel refuses both together (EPERM).
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
}

// terminate sends TERM to the bridge only: the bridge knows in which order its agents must end.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }

// killGroup kills what is left in the child's group. The child was not waited for yet, so its number cannot
// have been reused.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}
