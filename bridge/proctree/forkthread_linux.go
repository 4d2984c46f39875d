package proctree

import (
	"os/exec"
	"runtime"
	"syscall"
)

// forkThread starts children on one thread, which exists as long as any of them does: the kernel sends its
// signal to the children when the thread that forked them ends, and Go creates and ends threads at any
// time.
type forkThread struct {
	forks chan func()
	done  chan struct{}
}

func newForkThread() *forkThread {
	t := &forkThread{forks: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for fork := range t.forks {
			fork()
		}
	}()
	return t
}

// start starts cmd. If tied is set, the kernel sends it a TERM when this process ends, killed or not. TERM,
// because a CLI that is killed leaves its tools running, while after TERM it ends them (observed with CLI
// 2.1.329).
func (t *forkThread) start(cmd *exec.Cmd, tied bool) error {
	if tied {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	started := make(chan error)
	t.forks <- func() { started <- cmd.Start() }
	return <-started
}

// end ends the thread. It may be called only when all children have ended.
func (t *forkThread) end() {
	close(t.forks)
	<-t.done
}
