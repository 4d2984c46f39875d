package proctree

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartMonitored starts a program that only waits for the one process that it confines, and ends when that
// ends (bubblewrap). It is in the same process group, and a signal would end it before the confined process
// can handle that signal, so signals are not sent to it. The program may tie itself to this process
// (PR_SET_PDEATHSIG): the thread that starts it exists as long as it.
func StartMonitored(cmd *exec.Cmd, mark Mark) (*Child, error) {
	return start(cmd, mark, true)
}

// signalConfined sends sig to the members of the child's group except the child itself, and reports whether
// there was one.
func (c *Child) signalConfined(sig syscall.Signal) bool {
	found := false
	for _, p := range members(c.cmd.Process.Pid) {
		if p.pid != c.cmd.Process.Pid && !p.zombie() {
			found = p.signal(unix.Signal(sig)) == nil || found
		}
	}
	return found
}

// Confined returns the process that a monitored child confines; 0 if it is not known. In a PID namespace, the first
// process there is the monitor's child, and only waits, too.
func (c *Child) Confined() int {
	if !c.monitored {
		return 0
	}
	return confined(members(c.cmd.Process.Pid), c.cmd.Process.Pid)
}

func confined(group []proc, monitor int) int {
	for _, p := range group {
		if p.ppid != monitor || p.zombie() {
			continue
		}
		if firstInside(p.pid) {
			return confined(group, p.pid)
		}
		return p.pid
	}
	return 0
}

// members returns the members of a process group.
func members(group int) []proc {
	var list []proc
	for _, p := range processes() {
		if p.pgrp == group {
			list = append(list, p)
		}
	}
	return list
}
