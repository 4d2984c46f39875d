package ptyproxy

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

const (
	// maxInput is how much input may wait for a child that does not read: a large paste. While that much
	// waits, no key is recognized.
	maxInput = 1 << 20
	// maxOutput is how much output may wait for a slow terminal. While that much waits, the child waits
	// too.
	maxOutput = 64 << 10
)

// phase is the stage of a proxy's run. It only increases.
type phase int32

const (
	proxying   phase = iota
	ending           // the child must end: its output is shown, and never waits
	delivering       // the child has ended: the rest of its output is shown
	over
)

// port is one end of the pump.
type port struct {
	fd      int
	in, out bool // before await: wanted; after it: possible
	closed  bool
}

// pump copies bytes between the user's terminal and the child's. All methods but enter belong to the
// goroutine that runs it.
type pump struct {
	detached chan struct{} // one slot: the key was pressed
	gone     chan struct{} // one slot: the user's terminal no longer exists

	user, master, wake port
	waker, wakeRead    *os.File
	phase              atomic.Int32
	shown              atomic.Int64 // bytes that the user's terminal accepted

	toChild, toUser []byte
	last            string // sent to the user's terminal at the end
	key             keyWatch
	modes           modes
	buf             [32 << 10]byte
}

func newPump(user, master int, key byte) (*pump, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	return &pump{
		detached: make(chan struct{}, 1), gone: make(chan struct{}, 1),
		user: port{fd: user}, master: port{fd: master}, wake: port{fd: int(r.Fd())},
		wakeRead: r, waker: w, key: keyWatch{letter: key},
	}, nil
}

func (p *pump) close() {
	p.waker.Close()
	p.wakeRead.Close()
}

// enter switches the pump to a phase.
func (p *pump) enter(ph phase) {
	p.phase.Store(int32(ph))
	_, _ = p.waker.Write([]byte{0}) // few bytes per run, fewer than a pipe holds
}

// run copies until all is delivered, or the terminals are gone.
func (p *pump) run() {
	restored := false
	for {
		ph := phase(p.phase.Load())
		if ph == delivering && !restored {
			restored = true
			p.drain()
			p.toUser = append(append(p.toUser, p.modes.undo()...), p.last...)
		}
		if ph == over || ph == delivering && (len(p.toUser) == 0 || p.user.closed) {
			return
		}
		p.wake.in = true
		p.user.in = ph == proxying && !p.user.closed && len(p.toChild) < maxInput
		p.user.out = len(p.toUser) > 0 && !p.user.closed
		p.master.in = ph < delivering && !p.master.closed && (len(p.toUser) < maxOutput || ph == ending)
		p.master.out = ph == proxying && len(p.toChild) > 0 && !p.master.closed
		if err := await([]*port{&p.wake, &p.user, &p.master}); err != nil {
			p.userGone()
			return
		}
		p.step()
	}
}

// step reads and writes what is possible without blocking.
func (p *pump) step() {
	if p.wake.in {
		_, _ = unix.Read(p.wake.fd, p.buf[:64])
	}
	if p.user.in {
		p.readUser()
	}
	if p.master.out {
		p.toChild = p.send(&p.master, p.toChild)
	}
	if p.master.in {
		p.readChild()
	}
	if p.user.out {
		before := len(p.toUser)
		p.toUser = p.send(&p.user, p.toUser)
		p.shown.Add(int64(before - len(p.toUser)))
		if p.user.closed {
			p.userGone()
		}
	}
}

// readUser reads what is typed.
func (p *pump) readUser() {
	n, err := unix.Read(p.user.fd, p.buf[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
	case err != nil || n == 0: // in raw mode only a hang-up gives an empty read
		p.user.closed = true
		p.userGone()
	default:
		typed, pressed := p.key.look(p.buf[:n])
		p.toChild = append(p.toChild, typed...)
		if pressed {
			backlog.Hint(p.detached)
		}
	}
}

// readChild reads the child's output. It reports whether there may be more. EIO is the end: no process has
// the child's terminal open.
func (p *pump) readChild() bool {
	n, err := unix.Read(p.master.fd, p.buf[:])
	switch {
	case err == unix.EINTR:
		return true
	case err == unix.EAGAIN:
		return false
	case err != nil || n == 0:
		p.master.closed = true
		return false
	}
	p.modes.look(p.buf[:n])
	if len(p.toUser) < maxOutput || phase(p.phase.Load()) == delivering {
		p.toUser = append(p.toUser, p.buf[:n]...)
	} // otherwise the user's terminal accepts nothing, and the child must be able to end
	return true
}

// drain reads the output that an ended child left, no more than its terminal holds: a process that it
// started may continue sending.
func (p *pump) drain() {
	for range 16 {
		if p.master.closed || !p.readChild() {
			return
		}
	}
}

// send writes what can be written and returns the rest.
func (p *pump) send(to *port, bytes []byte) []byte {
	n, err := unix.Write(to.fd, bytes)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return bytes
	case err != nil:
		to.closed = true
		return nil
	case n == len(bytes):
		return nil
	}
	return bytes[n:]
}

// userGone reports that the user's terminal no longer exists.
func (p *pump) userGone() { backlog.Hint(p.gone) }
