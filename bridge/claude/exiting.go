package claude

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// exiting is a request to end a process, in order or at once. Any number of callers may make it, any number
// of times. The owner of the process ends it, and reports when it has ended.
type exiting struct {
	stopOnce, hurryOnce sync.Once
	stopping            chan struct{} // closed at the first request
	hurry               chan struct{} // closed when it has to be quick
	done                chan struct{} // closed after the done event
}

func newExiting() exiting {
	return exiting{stopping: make(chan struct{}), hurry: make(chan struct{}), done: make(chan struct{})}
}

// Done implements bridge.Agent and bridge.Terminal.
func (l *exiting) Done() <-chan struct{} { return l.done }

// ask requests the end and waits for it. If ctx ends first, ask sends KILL and returns the error of ctx. If
// the deadline of ctx leaves no time for the orderly part, that part is cut short.
func (l *exiting) ask(ctx context.Context, child *proctree.Child, now bool) error {
	if now {
		l.hurryUp()
	}
	l.stopOnce.Do(func() { close(l.stopping) })
	if deadline, ok := ctx.Deadline(); ok {
		defer time.AfterFunc(time.Until(deadline)-quickStopTime, l.hurryUp).Stop()
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		_ = child.Signal(syscall.SIGKILL) // the owner sweeps the rest
		return ctx.Err()
	}
}

// hurryUp shortens the stop ladder, whether it is running or starts later.
func (l *exiting) hurryUp() { l.hurryOnce.Do(func() { close(l.hurry) }) }

func (l *exiting) hurried() bool { return isClosed(l.hurry) }

// terminate sends a signal that asks a process to end.
func terminate(child *proctree.Child, sig syscall.Signal) {
	_ = child.Signal(sig)             // a failure shows in the wait for the end
	_ = child.Signal(syscall.SIGCONT) // a stopped process does not see it
}

// ended waits until a process has ended, for at most d or until cut is closed, and reports whether it has.
func ended(child *proctree.Child, d time.Duration, cut <-chan struct{}) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-child.Done():
		return true
	case <-late.C:
	case <-cut:
	}
	return false
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
