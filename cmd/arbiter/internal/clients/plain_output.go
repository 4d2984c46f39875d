package clients

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// How many bytes may wait to be written: beyond the first limit only urgent text is accepted, beyond the
// second nothing.
const (
	queueLimit  = 1 << 20
	urgentLimit = 4 << 20
)

// outputWriter writes text. It has one goroutine; say never blocks.
type outputWriter struct {
	out   io.Writer
	ascii bool
	dead  chan struct{} // closed when the output failed
	gone  chan struct{} // closed when the goroutine has ended
	queue *backlog.Queue[string]

	mu     sync.Mutex
	closed bool
	err    error
}

func newOutputWriter(out io.Writer, ascii bool) *outputWriter {
	m := &outputWriter{out: out, ascii: ascii, dead: make(chan struct{}), gone: make(chan struct{}),
		queue: backlog.New[string]()}
	go m.run()
	return m
}

// print queues a text, as a paragraph of its own.
func (m *outputWriter) print(text string, urgent bool) {
	text = m.fit(text)
	limit := backlog.Limit{Bytes: queueLimit}
	if urgent {
		limit.Bytes = urgentLimit
	}
	m.queue.Put(text, len(text), limit)
}

// ascii maps characters of our own texts, and of most others, to a plain form.
var ascii = strings.NewReplacer("–", "-", "—", "-", "…", "...", "“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "→",
	"->", "•", "*", "\u00a0", " ")

// fit makes a text safe to write: it contains nothing that a terminal interprets.
func (m *outputWriter) fit(text string) string {
	text = sanitize.Text(text)
	if m.ascii {
		text = strings.Map(func(r rune) rune {
			if r > '~' {
				return '?'
			}
			return r
		}, ascii.Replace(text))
	}
	text = strings.TrimRight(text, "\n ")
	if strings.Contains(text, "\n") {
		text += "\n" // a blank line ends a paragraph of several lines
	}
	return text + "\n"
}

func (m *outputWriter) run() {
	defer close(m.gone)
	for {
		text, over := m.next()
		if text == "" {
			if over {
				return
			}
			<-m.queue.Wake()
			continue
		}
		if _, err := io.WriteString(m.out, text); err != nil {
			m.mu.Lock()
			m.err = err
			m.mu.Unlock()
			close(m.dead)
			return
		}
	}
}

// next returns what to write next, and whether there will be nothing more. It takes one text at a time: the
// others count as waiting until it is written.
func (m *outputWriter) next() (text string, over bool) {
	m.mu.Lock()
	over = m.closed // read first: all earlier texts are then in the queue
	m.mu.Unlock()
	texts, lost, _ := m.queue.Take(1)
	text = strings.Join(texts, "")
	if lost > 0 {
		text += words.Count(lost, "announcement") + " left out, because the output is read too slowly.\n"
	}
	return text, over
}

// close waits until everything is written, but not longer than the given time.
func (m *outputWriter) close(wait time.Duration) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.queue.Nudge()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-m.gone:
	case <-timer.C:
		return errors.New("write the last lines: nobody reads the output")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return fmt.Errorf("write: %w", m.err)
	}
	return nil
}
