package claude

import (
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openPTY opens a pseudo terminal of the given size. The master is not the file that creack/pty returns but
// a second, non-blocking one: with it, deadlines and Close end a Read or a Write.
func openPTY(cols, rows int) (master, slave *os.File, err error) {
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
	if err := setSize(master, cols, rows); err != nil {
		slave.Close()
		master.Close()
		return nil, nil, fmt.Errorf("size a pseudo terminal: %w", err)
	}
	return master, slave, nil
}

// setSize sets the size in cells, without making the file blocking.
func setSize(master *os.File, cols, rows int) error {
	conn, err := master.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	})
	if err != nil {
		return err
	}
	return failed
}
