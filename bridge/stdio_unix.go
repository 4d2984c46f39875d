//go:build unix

package bridge

import (
	"os"

	"golang.org/x/sys/unix"
)

// unblocked returns f in non-blocking mode, in which the runtime polls it and Close ends blocked reads and
// writes. A regular file cannot be polled, but it never blocks for long. Children do not inherit the copy:
// a child that held our stdout would keep the client from noticing our end.
func unblocked(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
