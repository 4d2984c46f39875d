// Package ptypair opens pseudo terminals.
package ptypair

import (
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Open opens a pseudo terminal of the given size. The master is not the file that creack/pty returns but a
// second, non-blocking one: with it, deadlines and Close end a Read or a Write.
func Open(cols, rows int) (master, slave *os.File, err error) {
	first, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	defer first.Close()
	fd, err := unix.FcntlInt(first.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		slave.Close()
		return nil, nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), first.Name())
	if err := Resize(master, cols, rows); err != nil {
		slave.Close()
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// Resize sets the size in cells.
func Resize(master *os.File, cols, rows int) error {
	err := Control(master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
	if err != nil {
		return fmt.Errorf("resize the terminal: %w", err)
	}
	return nil
}

// Control calls f with a file's descriptor, and leaves the file non-blocking.
func Control(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}
