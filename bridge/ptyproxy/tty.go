package ptyproxy

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// userTTY is the user's terminal while a program uses it.
type userTTY struct {
	fd    int // our own; non-blocking if possible
	saved unix.Termios
}

// openTTY saves the terminal's settings. It opens the same terminal again and makes that file non-blocking:
// the user's shell shares the one we were given.
func openTTY(tty *os.File) (*userTTY, error) {
	conn, err := tty.SyscallConn()
	if err != nil {
		return nil, err
	}
	u := &userTTY{fd: -1}
	var failed error
	err = conn.Control(func(fd uintptr) {
		saved, err := unix.IoctlGetTermios(int(fd), getTermios)
		if err != nil {
			failed = fmt.Errorf("%s is not a terminal: %w", tty.Name(), err)
			return
		}
		u.saved = *saved
		if u.fd, err = reopen(int(fd)); err != nil {
			u.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

// raw makes the terminal pass on all input and output unchanged.
func (u *userTTY) raw() error {
	if _, err := term.MakeRaw(u.fd); err != nil {
		return fmt.Errorf("set the terminal raw: %w", err)
	}
	return nil
}

// restore restores the settings. It does nothing if the terminal is gone.
func (u *userTTY) restore() error {
	defer unix.Close(u.fd)
	err := unix.IoctlSetTermios(u.fd, setTermios, &u.saved)
	if err != nil && err != unix.EIO {
		return fmt.Errorf("restore the terminal: %w", err)
	}
	return nil
}

// copySize gives the child's terminal the size of the user's. If the size changes, the kernel signals the
// child.
func (u *userTTY) copySize(master *masterTTY) {
	if size, err := u.size(); err == nil { // otherwise the terminal is gone, which the pump notices
		_ = unix.IoctlSetWinsize(master.fd, unix.TIOCSWINSZ, size) // it is ours and open
	}
}
