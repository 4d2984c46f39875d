package fakecli

import (
	"encoding/json"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// obj is a JSON object to be written.
type obj = map[string]any

// encode renders v as JSON without escaping HTML, like the CLI. Everything encoded here was
// built by this package or came out of a decoder, so a failure is a bug.
func encode(v any) []byte {
	raw, err := jsonl.Marshal(v)
	if err != nil {
		panic("fakecli: encode: " + err.Error())
	}
	return raw
}

func textBlock(s string) json.RawMessage { return encode(obj{"type": "text", "text": s}) }

func newUUID() string { return uuid.NewString() }

// now returns a timestamp in the format of frames and transcripts.
func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// nullable turns an empty text into null.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// lineWriter writes lines in order, from its own goroutine. The queue is unbounded on
// purpose: the CLI keeps working and buffers in memory while nothing reads its stdout
// (observed with CLI 2.1.329), so nothing here may block.
type lineWriter struct {
	w     io.Writer
	queue *backlog.Queue[func()]
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w, backlog.New[func()]()}
	go l.run()
	return l
}

// run runs the queued jobs; nil ends it.
func (l *lineWriter) run() {
	for range l.queue.Wake() {
		jobs, _, _ := l.queue.Take(0)
		for _, job := range jobs {
			if job == nil {
				return
			}
			job()
		}
	}
}

func (l *lineWriter) put(job func()) { l.queue.Put(job, 0, backlog.Limit{}) }

// write queues one line; the newline is added. If the reader has gone, the CLI continues.
func (l *lineWriter) write(line []byte) { l.put(func() { _, _ = l.w.Write(append(line, '\n')) }) }

// written returns a channel that is closed when everything queued so far is written.
func (l *lineWriter) written() <-chan struct{} {
	done := make(chan struct{})
	l.put(func() { close(done) })
	return done
}

// close writes what is queued and ends the goroutine. It stops waiting after grace: a host
// that does not read must not keep the process alive.
func (l *lineWriter) close(grace time.Duration) {
	done := l.written()
	l.put(nil)
	select {
	case <-done:
	case <-time.After(grace):
	}
}
