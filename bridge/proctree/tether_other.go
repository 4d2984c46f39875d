//go:build !linux

package proctree

import "os/exec"

// tether has no effect here: no other system tells a process of its parent's end.
type tether struct{}

func newTether() *tether { return &tether{} }

func (*tether) start(cmd *exec.Cmd) error { return cmd.Start() }

func (*tether) end() {}
