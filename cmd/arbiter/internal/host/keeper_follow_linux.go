package host

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill a command when the thread that starts it ends.
func endWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
