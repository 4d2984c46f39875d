//go:build !linux

package proctree

import "os/exec"

// forkThread has no effect here: no other system tells a process of its parent's end.
type forkThread struct{}

func newForkThread() *forkThread { return &forkThread{} }

func (*forkThread) start(cmd *exec.Cmd) error { return cmd.Start() }

func (*forkThread) end() {}
