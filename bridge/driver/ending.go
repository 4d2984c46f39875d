package driver

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

const (
	quickStopTime = 900 * time.Millisecond // upper bound of a quick end, kill included
	tailGrace     = 300 * time.Millisecond // after the end, for each read of the rest in the pipes

	// after the end of input, or a hang-up: an idle agent takes 0.1 s, and a CLI in a terminal, which saves, 1.6 s
	// (observed with CLI 2.1.329)
	firstGrace = 3 * time.Second
	termGrace  = 2 * time.Second        // after TERM, which takes 0.2 s
	hurryGrace = 500 * time.Millisecond // the same when the end is urgent
)

// Ending is a request to end a process, in order or at once. Any number of callers may make it, any number
// of times. The owner of the process ends it, and reports when it has ended.
type Ending struct {
	stopOnce, hurryOnce sync.Once
	Stopping            chan struct{} // closed at the first request
	Hurry               chan struct{} // closed when it has to be quick
	done                chan struct{} // closed after the done event
}

// Finish says that the end has been reported. The owner calls it once.
func (l *Ending) Finish() { close(l.done) }

// Done implements bridge.Agent and bridge.Terminal.
func (l *Ending) Done() <-chan struct{} { return l.done }

// End requests the end and waits for it. If ctx ends first, End sends KILL and returns the error of ctx. If
// the deadline of ctx leaves no time for the orderly part, that part is cut short.
func (l *Ending) End(ctx context.Context, child *proctree.Child, now bool) error {
	if now {
		l.HurryUp()
	}
	l.stopOnce.Do(func() { close(l.Stopping) })
	if deadline, ok := ctx.Deadline(); ok {
		defer time.AfterFunc(time.Until(deadline)-quickStopTime, l.HurryUp).Stop()
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		_ = child.Signal(syscall.SIGKILL) // the owner sweeps the rest
		return ctx.Err()
	}
}

// HurryUp shortens the stop ladder, whether it is running or starts later.
func (l *Ending) HurryUp() { l.hurryOnce.Do(func() { close(l.Hurry) }) }

// Hurried reports whether it has to be quick.
func (l *Ending) Hurried() bool { return IsClosed(l.Hurry) }

// InSteps asks a process to end, which leaves what does not end to a kill: as first does, then with TERM; or with TERM
// at once if it has to be quick.
func (l *Ending) InSteps(child *proctree.Child, first func()) {
	if !l.Hurried() {
		first()
		if Ended(child, firstGrace, l.Hurry) {
			return
		}
	}
	Terminate(child, syscall.SIGTERM)
	if !l.Hurried() && Ended(child, termGrace, l.Hurry) {
		return
	}
	if l.Hurried() {
		Ended(child, hurryGrace, nil)
	}
}

// Terminate sends a signal that asks a process to end.
func Terminate(child *proctree.Child, sig syscall.Signal) {
	_ = child.Signal(sig)             // a failure shows in the wait for the end
	_ = child.Signal(syscall.SIGCONT) // a stopped process does not see it
}

// Ended waits until a process has ended, for at most d or until cut is closed, and reports whether it has.
func Ended(child *proctree.Child, d time.Duration, cut <-chan struct{}) bool {
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

// IsClosed reports whether a channel is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// exitOf describes the exit of a child that has ended.
func exitOf(child *proctree.Child, expected bool, swept int) bridge.Exit {
	e := bridge.Exit{Expected: expected, Swept: swept}
	state := child.State()
	e.Code = state.ExitCode()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal().String()
	}
	// the CLI itself exits with the codes of these two signals, too
	if sig := e.Code - monitorSignal; child.Confines() && sig > 0 && sig != int(syscall.SIGINT) &&
		sig != int(syscall.SIGTERM) {
		e.Code, e.Signal = -1, syscall.Signal(sig).String()
	}
	return e
}

// monitorSignal is added to the number of the signal in a monitor's exit code if a signal ended the
// process.
const monitorSignal = 128
