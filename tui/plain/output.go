package plain

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// How many bytes wait to be written: beyond the first nothing is taken that nobody
// waits for, beyond the second nothing.
const (
	queueLimit  = 1 << 20
	urgentLimit = 4 << 20
)

// outputWriter writes what is said. It has one goroutine; say never blocks.
type outputWriter struct {
	out   io.Writer
	ascii bool
	dead  chan struct{} // closed when the output failed
	gone  chan struct{} // closed when the goroutine has ended
	wake  chan struct{} // capacity 1

	mu     sync.Mutex
	queue  []string
	bytes  int
	lost   int
	closed bool
	err    error
}

func newOutputWriter(out io.Writer, ascii bool) *outputWriter {
	m := &outputWriter{out: out, ascii: ascii, dead: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{}, 1)}
	go m.run()
	return m
}

// say has a text written, as a paragraph of its own.
func (m *outputWriter) say(text string, urgent bool) {
	text = m.fit(text)
	m.mu.Lock()
	limit := queueLimit
	if urgent {
		limit = urgentLimit
	}
	if m.bytes > 0 && m.bytes+len(text) > limit {
		m.lost++
	} else {
		m.queue = append(m.queue, text)
		m.bytes += len(text)
	}
	m.mu.Unlock()
	m.nudge()
}

func (m *outputWriter) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// ascii are the characters of our own words, and of most others', that have a plain form.
var ascii = strings.NewReplacer("–", "-", "—", "-", "…", "...", "“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "→", "->", "•", "*", "\u00a0", " ")

// fit makes a text fit to be written: nothing in it is acted on by a terminal.
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
		text += "\n" // a blank line ends a paragraph of many
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
			<-m.wake
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

// next is what to write next, and whether nothing more will come.
func (m *outputWriter) next() (text string, over bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case len(m.queue) > 0:
		text = m.queue[0]
		m.queue = m.queue[1:]
		m.bytes -= len(text)
	case m.lost > 0:
		text = words.Count(m.lost, "announcement") + " left out, because the output is read too slowly.\n"
		m.lost = 0
	}
	return text, m.closed
}

// close waits until all is written, but no longer than some time.
func (m *outputWriter) close(wait time.Duration) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.nudge()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-m.gone:
	case <-timer.C:
		return errors.New("write the last words: nobody reads the output")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return fmt.Errorf("write: %w", m.err)
	}
	return nil
}
