package hosttest

import "syscall"

// ownGroup puts a server into a process group of its own, and has it end with the process of the test, however that
// ends: a test that is killed cleans up nothing.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
