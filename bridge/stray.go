package bridge

import (
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// strayKept is how many stray lines are kept: enough to recognise a stack trace
// or a shell's greeting, which is what strays on a pipe mostly are.
const strayKept = 20

// strayLines keeps the latest lines that were not for us, and counts all.
type strayLines struct {
	mu    sync.Mutex
	count int
	last  []string
}

// add keeps an excerpt of line and returns how many there were so far.
func (s *strayLines) add(line []byte) int {
	text := strings.ToValidUTF8(string(line[:min(len(line), jsonl.ExcerptLen)]), "\uFFFD")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if len(s.last) == strayKept {
		s.last = append(s.last[:0], s.last[1:]...)
	}
	s.last = append(s.last, text)
	return s.count
}

func (s *strayLines) get() (last []string, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.last...), s.count
}
