//go:build !linux && !darwin

package proctree

import (
	"os/exec"
	"syscall"
)

// StartMonitored is Start: nothing is confined here.
func StartMonitored(cmd *exec.Cmd, mark Mark) (*Child, error) { return Start(cmd, mark) }

// Confined is not known here.
func (c *Child) Confined() int { return 0 }

func (c *Child) signalConfined(syscall.Signal) bool { return false }
