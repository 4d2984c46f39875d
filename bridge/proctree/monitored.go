//go:build linux || darwin

package proctree

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartMonitored starts a program that only waits for the one process it confines, and
// ends as that does (bubblewrap). It is in the same group, and does not outlive a signal
// that the other may want to answer in its own time, so signals pass it by.
func StartMonitored(cmd *exec.Cmd, mark Mark) (*Child, error) {
	return start(cmd, mark, true)
}

// signalConfined sends sig to the members of the child's group but for the child itself, and
// reports whether there was one.
func (c *Child) signalConfined(sig syscall.Signal) bool {
	found := false
	for _, p := range members(c.cmd.Process.Pid) {
		if p.pid != c.cmd.Process.Pid && !p.zombie() {
			found = p.signal(unix.Signal(sig)) == nil || found
		}
	}
	return found
}

// Confined is the process that a monitored child confines; 0 where that is not known.
func (c *Child) Confined() int {
	if !c.monitored {
		return 0
	}
	for _, p := range members(c.cmd.Process.Pid) {
		if p.ppid == c.cmd.Process.Pid && !p.zombie() {
			return p.pid
		}
	}
	return 0
}

// members of a process group.
func members(group int) []proc {
	var list []proc
	for _, p := range processes() {
		if p.pgrp == group {
			list = append(list, p)
		}
	}
	return list
}
