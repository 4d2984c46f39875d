package bridge

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Stdio returns this process's stdin and stdout as one pipe for [Server.Serve]. Its Close interrupts a
// pending Read or Write if the platform can (os.Stdin itself is in blocking mode: closing it does not end a
// Read). It redirects os.Stdout to stderr, so that a stray print does not end up among the messages.
func Stdio() io.ReadWriteCloser {
	s := stdio{in: unblocked(os.Stdin), out: unblocked(os.Stdout), original: os.Stdout}
	os.Stdout = os.Stderr
	return s
}

type stdio struct {
	in, out  *os.File
	original *os.File // kept so that the garbage collector does not close the descriptor
}

func (s stdio) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s stdio) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

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
