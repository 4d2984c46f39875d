//go:build unix

package bridge

import (
	"os"

	"golang.org/x/sys/unix"
)

// unblocked returns f in non-blocking mode, in which the runtime polls it and
// Close ends blocked reads and writes. A regular file cannot be polled; it never
// blocks for long either. The copy is not inherited by children: one that held
// our stdout would keep the client from seeing our end.
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
