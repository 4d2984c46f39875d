package claude

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const (
	stderrLine  = 2 << 10 // bytes kept of a line: failing hooks dump minified source
	stderrLines = 40      // lines kept for Exit.Stderr
	stderrBurst = 20      // events at once
	stderrEvery = 200 * time.Millisecond
)

// stderrLog reads a child's stderr to its end: 64 KiB unread would stall the child. It keeps the last lines
// and passes on a limited number.
type stderrLog struct {
	emit func(string)

	mu   sync.Mutex
	last []string

	credit  float64 // lines that may be passed on now
	refill  time.Time
	dropped int
}

func newStderrLog(emit func(string)) *stderrLog {
	return &stderrLog{emit: emit, credit: stderrBurst, refill: time.Now()}
}

// drain reads until the end of r.
func (l *stderrLog) drain(r io.Reader) {
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
		l.add(cut(string(line.Data), stderrLine))
	}
}

func (l *stderrLog) add(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	l.mu.Lock()
	l.last = append(l.last, line)
	if len(l.last) > stderrLines {
		l.last = l.last[1:]
	}
	l.mu.Unlock()

	now := time.Now()
	l.credit = min(stderrBurst, l.credit+float64(now.Sub(l.refill))/float64(stderrEvery))
	l.refill = now
	if l.credit < 1 {
		l.dropped++
		return
	}
	l.credit--
	l.flush()
	l.emit(line)
}

func (l *stderrLog) flush() {
	if l.dropped > 0 {
		l.emit(fmt.Sprintf("(%d lines left out)", l.dropped))
		l.dropped = 0
	}
}

// tail returns the last lines of the child.
func (l *stderrLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.last, "\n")
}

// cut shortens s to at most n bytes on a rune border.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
