package bridge

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

const (
	// DefaultWriteTimeout is how long a peer may read nothing before the connection is given up. It is
	// long: the agents must survive a supervisor that is stopped for a moment by job control or the lid of
	// a laptop.
	DefaultWriteTimeout = 60 * time.Second
	// maxBacklog is how many bytes may wait for the peer before Emit blocks.
	maxBacklog = 8 << 20
	// writeChunk bounds one write, so that the deadline measures progress: a huge message over a slow link
	// does not mean that the peer is dead.
	writeChunk = 64 << 10
)

// writer is the queue before the pipe. Appending never blocks, so answers are always queued in order after
// earlier messages; callers that can wait (events) ask for room first. One goroutine, run, writes.
type writer struct {
	w       io.Writer
	timeout time.Duration
	limit   int
	fail    func(error) // called once, if a write fails or takes too long

	mu     sync.Mutex
	change sync.Cond // room was made, or the writer was closed
	queue  [][]byte
	bytes  int // queued or being written
	closed bool
	events uint64        // pushed so far
	work   chan struct{} // capacity 1: "look again"
	done   chan struct{}
}

func newWriter(w io.Writer, timeout time.Duration, limit int, fail func(error)) *writer {
	wr := &writer{w: w, timeout: timeout, limit: limit, fail: fail, work: make(chan struct{}, 1),
		done: make(chan struct{})}
	wr.change.L = &wr.mu
	return wr
}

// push appends a line; after close it drops the line and returns false.
func (w *writer) push(line []byte) bool {
	return w.put(func() []byte { return line })
}

// pushEvent appends an event and gives it the next number.
func (w *writer) pushEvent(rest []byte) bool {
	return w.put(func() []byte {
		w.events++
		return numbered(w.events, rest)
	})
}

// put appends the line that make returns. make is called under the lock.
func (w *writer) put(make func() []byte) bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	line := make()
	w.queue = append(w.queue, line)
	w.bytes += len(line)
	w.mu.Unlock()
	backlog.Hint(w.work)
	return true
}

// awaitCapacity blocks while the backlog is over the limit. Several callers may pass at once, so the bound is
// the limit and one line each.
func (w *writer) awaitCapacity() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.bytes > w.limit && !w.closed {
		w.change.Wait()
	}
}

// drain waits until everything is written, for at most d.
func (w *writer) drain(d time.Duration) {
	late := false
	timer := time.AfterFunc(d, func() {
		w.mu.Lock()
		late = true
		w.mu.Unlock()
		w.change.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.bytes > 0 && !w.closed && !late {
		w.change.Wait()
	}
}

// close drops the queue and wakes all waiting callers. It does not interrupt a write: closing the pipe
// does.
func (w *writer) close() {
	w.mu.Lock()
	w.closed, w.queue, w.bytes = true, nil, 0
	w.mu.Unlock()
	w.change.Broadcast()
	backlog.Hint(w.work)
}

// run writes until close or the first failure.
func (w *writer) run() {
	defer close(w.done)
	late := time.AfterFunc(time.Hour, func() {
		w.fail(fmt.Errorf("write: the peer read nothing for %v", w.timeout))
	})
	defer late.Stop()
	late.Stop()
	var buf []byte
	for range w.work {
		for {
			batch, closed := w.take()
			if closed {
				return
			}
			if batch == nil {
				break
			}
			buf = buf[:0]
			for i, line := range batch {
				buf = append(buf, line...)
				if len(buf) < writeChunk && i < len(batch)-1 {
					continue
				}
				if err := w.write(buf, late); err != nil {
					w.fail(fmt.Errorf("write: %w", err))
					return
				}
				if buf = buf[:0]; cap(buf) > 1<<20 {
					buf = nil
				}
			}
		}
	}
}

func (w *writer) take() (batch [][]byte, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch, w.queue = w.queue, nil
	return batch, w.closed
}

func (w *writer) write(data []byte, late *time.Timer) error {
	for len(data) > 0 {
		late.Reset(w.timeout)
		n, err := w.w.Write(data[:min(len(data), writeChunk)])
		late.Stop()
		w.mu.Lock()
		w.bytes = max(0, w.bytes-n)
		w.mu.Unlock()
		w.change.Broadcast()
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
