package proctree

import (
	"os/exec"
	"runtime"
	"syscall"
)

// forkThread starts children on one thread, which exists as long as any of them does: the
// kernel's signal to children at their parent's end is sent when the thread that forked
// them ends, and Go's threads come and go.
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

// start starts cmd, and has the kernel ask it to end (TERM) when this process is no more,
// killed or not. It is asked: a CLI that is killed leaves its tools behind, and one that is
// asked ends them (observed with CLI 2.1.329).
func (t *forkThread) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	started := make(chan error)
	t.forks <- func() { started <- cmd.Start() }
	return <-started
}

// end is for when all that were started have ended.
func (t *forkThread) end() {
	close(t.forks)
	<-t.done
}
