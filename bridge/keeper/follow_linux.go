package keeper

import (
	"os/exec"
	"syscall"
)

// follow has the kernel kill a command when the thread ends that starts it.
func follow(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
