package ptyproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// Run runs a program with the defaults. See [Proxy.Run].
func Run(ctx context.Context, cmd *exec.Cmd, tty *os.File) (exit int, err error) {
	return Proxy{}.Run(ctx, cmd, tty)
}

// Run runs cmd in tty until it ends, and returns its exit status in the convention of shells. The
// environment of cmd must be set. cmd is ended when ctx ends, when the user takes the terminal back
// ([ErrDetached]), and when the terminal is gone ([ErrGone]); exit is then the status with which it ended.
// Other errors mean that it was not started.
func (l Proxy) Run(ctx context.Context, cmd *exec.Cmd, tty *os.File) (exit int, err error) {
	user, err := openTTY(tty)
	if err != nil {
		return -1, fmt.Errorf("proxy the terminal: %w", err)
	}
	defer func() { err = errors.Join(err, user.restore()) }()
	master, child, err := start(cmd, user)
	if err != nil {
		return -1, fmt.Errorf("proxy the terminal: %w", err)
	}
	defer master.file.Close()
	err = l.show(ctx, user, view{fd: master.fd, done: child.Done(), resize: func() { user.copySize(master) },
		end: func() { end(child) }})
	return status(child), err
}

// view is a program that is shown in the user's terminal.
type view struct {
	fd     int             // its output and input
	done   <-chan struct{} // closed when it has ended
	resize func()          // gives it the size of the user's terminal
	end    func()          // ends or leaves it
	// first and last are sent to the user's terminal before and after its output.
	first, last string
}

// show shows a program until it ends, and otherwise returns why it was ended or left.
func (l Proxy) show(ctx context.Context, user *userTTY, v view) error {
	if err := user.raw(); err != nil {
		v.end()
		return fmt.Errorf("proxy the terminal: %w", err)
	}
	p, err := newPump(user.fd, v.fd, cmp.Or(l.Detach, ']'))
	if err != nil {
		v.end()
		return fmt.Errorf("proxy the terminal: %w", err)
	}
	defer p.close()
	p.toUser, p.last = append(p.toUser, v.first...), v.last
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.run()
	}()
	if err = waitOrDetach(ctx, v.done, p, user, v.resize); err != nil {
		p.enter(ending)
		v.end()
	}
	deliver(p, ended)
	return err
}

// deliver returns when the pump has delivered the child's last output and has ended. A slow terminal gets
// the time it needs; a terminal that accepts nothing gets only the grace.
func deliver(p *pump, ended <-chan struct{}) {
	p.enter(delivering)
	for before := int64(-1); ; {
		select {
		case <-ended:
			return
		case <-time.After(grace):
		}
		now := p.shown.Load()
		if now == before {
			p.enter(over)
		}
		before = now
	}
}

// waitOrDetach returns nil when the program has ended, and otherwise the reason to end it.
func waitOrDetach(ctx context.Context, done <-chan struct{}, p *pump, user *userTTY, reportSize func()) error {
	sigs := make(chan os.Signal, 4) // further signals of the same kind add nothing
	signal.Notify(sigs, unix.SIGWINCH, unix.SIGCONT)
	defer signal.Stop(sigs)
	reportSize() // changes from before the signals were registered
	for {
		select {
		case <-done:
			return nil
		case s := <-sigs:
			if s == unix.SIGCONT {
				_ = user.raw() // the shell may have changed it while we were stopped
			}
			reportSize()
		case <-p.detached:
			return ErrDetached
		case <-p.gone:
			return ErrGone
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// end ends the child and returns when it has ended, or cannot be ended.
func end(child *proctree.Child) {
	child.Remember()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		driver.Terminate(child, sig)
		if driver.Ended(child, grace, nil) {
			return
		}
	}
	_, _ = child.KillNow() // for a child that still runs, status returns -1
}

// masterTTY is our end of the child's terminal. Calling Fd makes a file blocking, so it is called once.
type masterTTY struct {
	file *os.File
	fd   int
}

// start starts cmd in a new terminal with the settings of the user's.
func start(cmd *exec.Cmd, user *userTTY) (_ *masterTTY, _ *proctree.Child, err error) {
	file, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	defer slave.Close()
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	master := &masterTTY{file, int(file.Fd())}
	if err := unix.SetNonblock(master.fd, true); err != nil {
		return nil, nil, fmt.Errorf("set up a pseudo terminal: %w", err)
	}
	user.copySize(master)
	settings := user.saved
	if err := unix.IoctlSetTermios(int(slave.Fd()), setTermios, &settings); err != nil {
		return nil, nil, fmt.Errorf("set up a pseudo terminal: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	child, err := proctree.Start(cmd, proctree.Mark{})
	if err != nil {
		return nil, nil, err
	}
	return master, child, nil
}

// status returns the exit status in the convention of shells; -1 for a child that has not ended.
func status(child *proctree.Child) int {
	state := child.State()
	if state == nil {
		return -1
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return state.ExitCode()
}

// Proxy sets how a program is run behind the user's terminal.
type Proxy struct {
	// Detach is the letter that together with Ctrl takes the terminal back: one of those between @ and _. 0
	// stands for ].
	Detach byte
}

// grace is how long a program may take to end after SIGHUP, and again after SIGTERM, and how long the terminal may
// accept nothing while it gets the last output. Tests change it.
var grace = 2 * time.Second

var (
	// ErrDetached reports that the user took the terminal back.
	ErrDetached = errors.New("the terminal was taken back")
	// ErrGone reports that the user's terminal no longer exists.
	ErrGone = errors.New("the terminal is gone")
)

// Remote is a terminal elsewhere in which a program runs.
type Remote interface {
	// Read returns output of the program; an error is its end. Write passes on what was typed. At most one
	// of each is called at a time, and may block.
	io.ReadWriter
	// Resize sets the size to that of the user's terminal, in cells. It must not block for long.
	Resize(cols, rows int)
	// Leave makes pending and later calls of Read and Write return: the view has ended. It is called once,
	// and does not wait for the program's end.
	Leave()
}
