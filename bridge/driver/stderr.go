package driver

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const (
	StderrLine  = 2 << 10 // bytes kept of a line: failing hooks dump minified source
	StderrLines = 40      // lines kept for Exit.Stderr
	StderrBurst = 20      // events at once
	stderrEvery = 200 * time.Millisecond
)

// StderrLog reads a child's stderr to its end: 64 KiB unread would stall the child. It keeps the last lines
// and passes on a limited number.
type StderrLog struct {
	emit func(string)
	keys jsonl.PrivateLines

	mu   sync.Mutex
	last []string

	credit  float64 // lines that may be passed on now
	refill  time.Time
	dropped int
}

// NewStderrLog returns a log that passes lines on to emit.
func NewStderrLog(emit func(string)) *StderrLog {
	return &StderrLog{emit: emit, credit: StderrBurst, refill: time.Now()}
}

// Drain reads until the end of r.
func (l *StderrLog) Drain(r io.Reader) {
	lines := jsonl.NewLineReader(r, 1<<20)
	for {
		line, err := lines.NextOrLast()
		if err != nil {
			l.flush()
			return
		}
		if line.Oversize {
			line.Data = []byte("(a line too long to keep)")
		}
		if text := string(line.Data); l.keys.Hides(text) {
			l.dropped++
		} else {
			l.add(jsonl.Cut(text, StderrLine))
		}
	}
}

func (l *StderrLog) add(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	l.mu.Lock()
	l.last = append(l.last, line)
	if len(l.last) > StderrLines {
		l.last = l.last[1:]
	}
	l.mu.Unlock()

	now := time.Now()
	l.credit = min(StderrBurst, l.credit+float64(now.Sub(l.refill))/float64(stderrEvery))
	l.refill = now
	if l.credit < 1 {
		l.dropped++
		return
	}
	l.credit--
	l.flush()
	l.emit(line)
}

func (l *StderrLog) flush() {
	if l.dropped > 0 {
		l.emit(fmt.Sprintf("(%d lines left out)", l.dropped))
		l.dropped = 0
	}
}

// Tail returns the last lines of the child.
func (l *StderrLog) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "\n")
}
