package proctree

import "golang.org/x/sys/unix"

func procAt(pid int) (proc, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return proc{}, err
	}
	return procOf(k), nil
}
