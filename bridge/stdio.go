package bridge

import (
	"errors"
	"io"
	"os"
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
