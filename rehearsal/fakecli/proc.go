package fakecli

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// leaveSignals end the process; the number is its exit code.
var leaveSignals = map[os.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129}

// ownSession gives a command its own session, and with it a process group.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killSession kills the process group that a command's session began with.
func killSession(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// killSelf ends this process as a crash would.
func killSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// pollable makes a file's reads end when it is closed: a read that blocks in the kernel
// would keep the pipe open.
func pollable(f *os.File) *os.File {
	fd := f.Fd()
	if syscall.SetNonblock(int(fd), true) != nil {
		return f
	}
	return os.NewFile(fd, f.Name())
}
