package terminal

import (
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// open opens a pseudo terminal of that size. The master is non-blocking, so that Close ends a Read: one
// that creack/pty opened and on which Fd was called is not.
func open(size Size) (master, slave *os.File, err error) {
	m, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open pseudo terminal: %w", err)
	}
	defer m.Close()
	fd, err := unix.FcntlInt(m.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		slave.Close()
		return nil, nil, fmt.Errorf("open pseudo terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), m.Name())
	if err := setSize(master, size); err != nil {
		slave.Close()
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

func setSize(master *os.File, size Size) error {
	err := withFD(master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ,
			&unix.Winsize{Col: uint16(size.Columns), Row: uint16(size.Rows)})
	})
	if err != nil {
		return fmt.Errorf("resize terminal: %w", err)
	}
	return nil
}

// withFD calls f with the file's descriptor, and leaves it non-blocking.
func withFD(file *os.File, f func(fd int) error) error {
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

// Line holds the terminal settings (termios). Two values are equal if no setting differs.
type Line struct{ settings unix.Termios }

func line(file *os.File) (Line, error) {
	var l Line
	err := withFD(file, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err == nil {
			l.settings = *t
		}
		return err
	})
	if err != nil {
		return Line{}, fmt.Errorf("read line settings: %w", err)
	}
	return l, nil
}

func (l Line) String() string {
	t := l.settings
	return fmt.Sprintf("iflag %#x oflag %#x cflag %#x lflag %#x cc %v", t.Iflag, t.Oflag, t.Cflag, t.Lflag, t.Cc)
}
