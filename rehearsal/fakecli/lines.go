package fakecli

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
)

// obj is a JSON object on its way out.
type obj = map[string]any

// encode renders v as JSON without escaping HTML, like the CLI. Everything encoded here was
// built by this package or came out of a decoder, so a failure is a bug.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("fakecli: encode: " + err.Error())
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func textBlock(s string) json.RawMessage { return encode(obj{"type": "text", "text": s}) }

func newUUID() string { return uuid.NewString() }

// now is a timestamp as frames and transcripts carry it.
func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// nullable turns an empty text into null.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// lineWriter writes lines in order, from its own goroutine. The queue is unbounded on
// purpose: the CLI keeps working and buffers in memory while nobody reads its stdout
// (observed with CLI 2.1.329), so nothing here may block.
type lineWriter struct {
	w    io.Writer
	done chan struct{}

	mu     sync.Mutex
	change sync.Cond // the queue grew, closed, or was written
	queue  [][]byte
	busy   bool
	closed bool
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w, done: make(chan struct{})}
	l.change.L = &l.mu
	go l.run()
	return l
}

func (l *lineWriter) run() {
	defer close(l.done)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.queue) == 0 && !l.closed {
			l.change.Wait()
		}
		if len(l.queue) == 0 {
			return
		}
		lines := l.queue
		l.queue, l.busy = nil, true
		l.mu.Unlock()
		for _, line := range lines {
			_, _ = l.w.Write(line) // a reader that went away does not stop the CLI
		}
		l.mu.Lock()
		l.busy = false
		l.change.Broadcast()
	}
}

// write queues one line; the newline is added.
func (l *lineWriter) write(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.queue = append(l.queue, append(line, '\n'))
		l.change.Broadcast()
	}
}

// flush waits until everything queued so far is written.
func (l *lineWriter) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 || l.busy {
		l.change.Wait()
	}
}

// close writes what is queued and ends the goroutine. It stops waiting after grace: a host
// that does not read must not keep the process alive.
func (l *lineWriter) close(grace time.Duration) {
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	l.mu.Unlock()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-l.done:
	case <-t.C:
	}
}
