package proctree

import (
	"context"
	"os/exec"

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

func procAt(pid int) (proc, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return proc{}, err
	}
	return procOf(k), nil
}

// orphans adds none: launchd adopts orphans, together with those of all other processes.
func (snapshot) orphans(procSet) {}

// Isolate changes nothing: there are no PID namespaces here.
func Isolate(context.Context, *exec.Cmd, Mode) Isolation {
	return Isolation{NoNamespace, "this system has none"}
}

// EnterNamespace changes nothing: there are no PID namespaces here.
func EnterNamespace() (Isolation, error) {
	return Isolation{NoNamespace, "this system has none"}, nil
}

// forkThread has no effect here: other systems do not signal a process when its parent ends.
type forkThread struct{}

func newForkThread() *forkThread { return &forkThread{} }

func (*forkThread) start(cmd *exec.Cmd, _ bool) error { return cmd.Start() }

func (*forkThread) end() {}

// BecomeSubreaper does nothing here: there are no subreapers.
func BecomeSubreaper() (release func(), err error) { return func() {}, nil }

// AdoptOrphans does nothing here: there are no subreapers.
func AdoptOrphans() error { return nil }

// reap does nothing: the system's first process adopts orphans.
func reap() {}

// awaitExit returns false: here it is not possible to wait for a child and leave it a zombie.
func awaitExit(int) bool { return false }

// Usage is not known here: other processes cannot be inspected without cgo.
func (c *Child) Usage() Usage { return Usage{} }
