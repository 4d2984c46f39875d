package control

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

// maxBehind is how many bytes of output a terminal may be behind before it is dropped.
const maxBehind = 4 << 20

// errBehind reports that a terminal did not take its output in time.
var errBehind = errors.New("the terminal did not take the output in time")

// Feed is the output of an attached terminal on its way to the clients that show it. It never blocks its
// writer. Its methods are safe for concurrent use.
type Feed struct {
	limit int

	mu    sync.Mutex
	buf   []byte
	ended error         // no more output comes; io.EOF: a normal end
	wake  chan struct{} // capacity 1: a hint that there is something to take
	taken chan struct{} // capacity 1: a hint that there is room again
}

// NewFeed returns a feed that holds up to limit bytes; 0 stands for the default.
func NewFeed(limit int) *Feed {
	if limit <= 0 {
		limit = maxBehind
	}
	return &Feed{limit: limit, wake: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
}

// Put adds output. It returns false if the feed has ended, including when this output exceeds the limit and
// ends it.
func (f *Feed) Put(p []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil {
		return false
	}
	if len(f.buf) > 0 && len(f.buf)+len(p) > f.limit {
		f.buf, f.ended = nil, errBehind
		backlog.Hint(f.wake)
		return false
	}
	f.buf = append(f.buf, p...)
	backlog.Hint(f.wake)
	return true
}

// End ends the feed; the output in it can still be taken. Only the first end counts.
func (f *Feed) End(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		f.ended = why
	}
	backlog.Hint(f.wake)
	backlog.Hint(f.taken)
}

// Take waits for output and copies as much as fits into p. At the end it returns the reason; io.EOF is a
// normal end. Only one reader at a time.
func (f *Feed) Take(ctx context.Context, p []byte) (int, error) {
	for {
		f.mu.Lock()
		n := copy(p, f.buf)
		if f.buf = f.buf[n:]; len(f.buf) == 0 {
			f.buf = nil
		}
		left, ended := len(f.buf) > 0, f.ended
		if left || ended != nil {
			backlog.Hint(f.wake)
		}
		f.mu.Unlock()
		switch {
		case n > 0:
			backlog.Hint(f.taken)
			return n, nil
		case ended != nil:
			return 0, ended
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// HasCapacity reports whether n more bytes can be put; also true once the feed has ended.
func (f *Feed) HasCapacity(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended != nil || len(f.buf) == 0 || len(f.buf)+n <= f.limit
}

// Taken has a value when output was taken since, or the feed has ended.
func (f *Feed) Taken() <-chan struct{} { return f.taken }

// subscribe takes the only subscription of a connection.
func (c *client) subscribe() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed {
		return &jsonrpc2.Error{Code: CodeFailed, Message: "this connection has a subscription already"}
	}
	c.subscribed = true
	return nil
}

// notify sends a part of a subscription.
func (c *client) notify(part any) error {
	n := notification[any]{JSONRPC: "2.0", Params: part}
	switch part.(type) {
	case Events:
		n.Method = NotifyEvents
	case StateChange:
		n.Method = NotifyState
	case RunEnded:
		n.Method = NotifyRunEnded
	default:
		return fmt.Errorf("control: %T is not part of a subscription", part)
	}
	return c.stream.WriteObject(n)
}
