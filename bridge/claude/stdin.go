package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// writeTimeout bounds writing one line that is no answer. The CLI reads stdin at all times; if it does not for this
// long, it hangs or is stopped.
const writeTimeout = 10 * time.Second

// stdin is the only writer of a child's stdin. It writes a line at a time, because one malformed line ends
// the CLI (exit 1, observed with 2.1.329).
type stdin struct {
	pipe    *os.File
	timeout time.Duration // of send: writeTimeout
	// turn is a lock that can be waited for with a deadline: capacity 1, held while it is full. A child
	// that reads nothing then never blocks other callers forever.
	turn    chan struct{}
	closing atomic.Bool
	broken  error         // a line was cut short: a further line would be garbage
	lost    chan struct{} // closed when the child has closed its end
}

func newStdin(pipe *os.File) *stdin {
	return &stdin{pipe: pipe, timeout: writeTimeout, turn: make(chan struct{}, 1), lost: make(chan struct{})}
}

// send writes v as one line, within the timeout.
func (s *stdin) send(ctx context.Context, v any) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.write(ctx, v)
}

// write writes v as one line. Without a deadline of ctx it waits as long as the CLI does not read.
func (s *stdin) write(ctx context.Context, v any) error {
	line, err := marshalLine(v)
	if err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return stdinClosed(ctx.Err())
	}
	deadline, _ := ctx.Deadline()
	err = s.pipe.SetWriteDeadline(deadline)
	switch {
	case s.closing.Load(): // read after the deadline was set, which close has to cut
		return errEnded()
	case s.broken != nil:
		return s.broken
	case err != nil:
		return fmt.Errorf("write to the CLI: %w", err)
	}
	n, err := s.pipe.Write(line)
	if err == nil {
		return nil
	}
	if n > 0 {
		s.broken = stdinClosed(fmt.Errorf("a line was cut short: %w", err))
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return stdinClosed(err)
	case errors.Is(err, syscall.EPIPE):
		if !driver.IsClosed(s.lost) { // the lock is held
			close(s.lost)
		}
		return errEnded()
	}
	return fmt.Errorf("write to the CLI: %w", err)
}

// close ends the CLI's input and cuts a write that hangs.
func (s *stdin) close() {
	if s.closing.Swap(true) {
		return
	}
	_ = s.pipe.SetWriteDeadline(time.Now()) // only fails when it is closed
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	_ = s.pipe.Close()
}

func stdinClosed(cause error) error {
	return &bridge.RPCError{Code: bridge.CodeTimeout, Category: bridge.CatTimeout,
		Message: fmt.Sprintf("the CLI does not read its input: %v", cause)}
}

// marshalLine encodes v as a line.
func marshalLine(v any) ([]byte, error) {
	line, err := jsonl.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a line for the CLI: %w", err)
	}
	return append(line, '\n'), nil
}
