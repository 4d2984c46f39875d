package ptyproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// Size returns the size of a terminal, in cells.
func Size(tty *os.File) (cols, rows int, err error) {
	user, err := openTTY(tty)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(user.fd)
	size, err := user.size()
	if err != nil {
		return 0, 0, fmt.Errorf("ask for the terminal's size: %w", err)
	}
	return int(size.Col), int(size.Row), nil
}

// Join shows a program in tty that runs in a terminal elsewhere. It returns when the program ends (nil),
// the user takes the terminal back ([ErrDetached]), the terminal is gone ([ErrGone]), or ctx ends. The
// terminal is then as it was before; the program is not ended. Other errors mean that it was not shown at
// all.
func (l Proxy) Join(ctx context.Context, tty *os.File, remote Remote) (err error) {
	user, err := openTTY(tty)
	if err != nil {
		return fmt.Errorf("proxy the terminal: %w", err)
	}
	defer func() { err = errors.Join(err, user.restore()) }()
	c, err := connect(remote)
	if err != nil {
		return fmt.Errorf("proxy the terminal: %w", err)
	}
	defer c.close()
	// A program continues after it is left, and so does not restore the window's title.
	return l.show(ctx, user, view{fd: c.near, done: c.done, end: c.leave, first: "\x1b[22;2t", last: "\x1b[23;2t",
		resize: func() {
			if size, err := user.size(); err == nil { // otherwise the terminal is gone, which the pump notices
				remote.Resize(int(size.Col), int(size.Row))
			}
		}})
}

func (u *userTTY) size() (*unix.Winsize, error) {
	return unix.IoctlGetWinsize(u.fd, unix.TIOCGWINSZ)
}

// remoteLink makes a remote terminal look like a local one to the pump: it is a socket, whose far end two
// goroutines connect to the remote.
type remoteLink struct {
	remote Remote
	near   int
	far    *os.File
	done   chan struct{} // closed when the remote has ended, and all its output was passed on
	once   sync.Once
	work   sync.WaitGroup
}

func connect(remote Remote) (*remoteLink, error) {
	ends, err := proctree.SocketPair()
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	for _, fd := range ends {
		if err := unix.SetNonblock(fd, true); err != nil {
			unix.Close(ends[0])
			unix.Close(ends[1])
			return nil, fmt.Errorf("set up a socket: %w", err)
		}
	}
	c := &remoteLink{remote: remote, near: ends[0], far: os.NewFile(uintptr(ends[1]), "remote"),
		done: make(chan struct{})}
	c.work.Go(func() {
		defer close(c.done)
		_, _ = io.Copy(c.far, c.remote) // its output, until it ends, or the view
	})
	c.work.Go(func() { _, _ = io.Copy(c.remote, c.far) }) // what the user types, as long
	return c, nil
}

// leave makes both goroutines end.
func (c *remoteLink) leave() {
	c.once.Do(func() {
		c.remote.Leave()
		c.far.Close()
	})
}

func (c *remoteLink) close() {
	c.leave()
	c.work.Wait()
	unix.Close(c.near)
}
