//go:build !linux

package proctree

import "os/exec"

// forkThread has no effect here: other systems do not signal a process when its parent ends.
type forkThread struct{}

func newForkThread() *forkThread { return &forkThread{} }

func (*forkThread) start(cmd *exec.Cmd, _ bool) error { return cmd.Start() }

func (*forkThread) end() {}
