package testkit

import "syscall"

// ownGroup puts a server into a process group of its own, and makes it end with the process of the test,
// for whatever reason that ends: a killed test cannot clean up.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
