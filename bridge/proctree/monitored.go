//go:build linux || darwin

package proctree

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartMonitored starts a program that only waits for the one process that it confines, and ends when that
// ends (bubblewrap). It is in the same process group, and a signal would end it before the confined process
// can handle that signal, so signals are not sent to it.
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

// Confined returns the process that a monitored child confines; 0 if it is not known.
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
