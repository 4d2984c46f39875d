package keeper

import (
	"os/exec"
	"syscall"
)

// follow makes the kernel kill a command when the thread that starts it ends.
func follow(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
