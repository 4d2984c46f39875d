//go:build unix

package proctree

import (
	"os/exec"
	"syscall"
)

// ownGroup makes pgid == pid, with Setsid (which a pty needs) or without. The kernel refuses both together
// (EPERM).
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
}
