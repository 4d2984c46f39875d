package standin

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// obj is a frame, or a part of one, on its way out.
type obj = map[string]any

// encode renders v as JSON without escaping HTML, like the CLI. Everything that
// is encoded here was built by this package or came out of a decoder, so failure
// is a bug.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("standin: encode frame: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// lineWriter writes lines from a goroutine of its own, in order. The queue is
// unbounded on purpose: with its stdout unread the CLI goes on working and
// buffers in memory (observed with CLI 2.1.329), so nothing here may block.
type lineWriter struct {
	w    io.Writer
	done chan struct{}

	mu     sync.Mutex
	more   sync.Cond // the queue grew or closed
	idle   sync.Cond // everything queued was written
	queue  [][]byte
	busy   bool
	closed bool
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w, done: make(chan struct{})}
	l.more.L, l.idle.L = &l.mu, &l.mu
	go l.run()
	return l
}

func (l *lineWriter) run() {
	defer close(l.done)
	for {
		lines, open := l.take()
		for _, line := range lines {
			// A reader that went away does not stop the CLI, so errors are not news.
			_, _ = l.w.Write(line)
		}
		if !open {
			return
		}
	}
}

// take waits for lines; open is false when there will be no more.
func (l *lineWriter) take() (lines [][]byte, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	for len(l.queue) == 0 && !l.closed {
		l.idle.Broadcast()
		l.more.Wait()
	}
	lines, l.queue = l.queue, nil
	l.busy = len(lines) > 0
	if !l.busy {
		l.idle.Broadcast()
	}
	return lines, l.busy
}

// write queues one line; the newline is added.
func (l *lineWriter) write(line []byte) {
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.queue = append(l.queue, line)
	l.more.Signal()
}

// flush waits until everything queued so far is written.
func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 || l.busy {
		l.idle.Wait()
	}
}

// close writes what is queued and ends the goroutine. It gives up waiting after
// grace: a host that does not read must not keep the process alive.
func (l *lineWriter) close(grace time.Duration) {
	l.mu.Lock()
	l.closed = true
	l.more.Signal()
	l.mu.Unlock()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-l.done:
	case <-t.C:
	}
}
