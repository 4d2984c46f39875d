package proctree

import (
	"golang.org/x/sys/unix"
)

// stateZombie is SZOMB of <sys/proc.h>.
const stateZombie = 5

// processes lists all processes, by sysctl.
func processes() map[int]proc {
	all := map[int]proc{}
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return all
	}
	for i := range list {
		p := procOf(&list[i])
		all[p.pid] = p
	}
	return all
}

// lastPID is not known here.
func lastPID() int { return 0 }

func (snapshot) scanNew(int) {}

func procOf(k *unix.KinfoProc) proc {
	p := proc{
		pid: int(k.Proc.P_pid), ppid: int(k.Eproc.Ppid), pgrp: int(k.Eproc.Pgid),
		start: uint64(k.Proc.P_starttime.Sec)*1_000_000 + uint64(k.Proc.P_starttime.Usec),
		state: 'S', name: unix.ByteSliceToString(k.Proc.P_comm[:]),
	}
	if k.Proc.P_stat == stateZombie {
		p.state = 'Z'
	}
	return p
}

// environ is the environment with which pid was started, NUL after each entry. It is nil if that is
// not available: the system hides the environments of its own programs.
func environ(pid int) []byte {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	return environOf(args)
}

// signal sends sig to p. Between the comparison and the signal the pid could be reused: the system has no
// process handles.
func (p proc) signal(sig unix.Signal) error {
	now, err := unix.SysctlKinfoProc("kern.proc.pid", p.pid)
	if err != nil || procOf(now).key() != p.key() {
		return unix.ESRCH
	}
	return unix.Kill(p.pid, sig)
}

// firstInside returns false: there are no PID namespaces.
func firstInside(int) bool { return false }
