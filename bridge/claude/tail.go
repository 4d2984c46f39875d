package claude

import (
	"os"
	"sync"
	"time"
)

// tail reads a pipe of the child. While the process runs, a read waits without limit. After its end,
// reading is bounded, since another process may hold the pipe open. Time that the reader spends on what it
// has read (a slow client) does not count.
type tail struct {
	f *os.File

	mu    sync.Mutex
	until time.Time // when reading ends in any case; zero while the process runs
}

func (t *tail) Read(b []byte) (int, error) {
	t.mu.Lock()
	t.limit()
	t.mu.Unlock()
	return t.f.Read(b)
}

// expire begins the end: reads no longer wait for new data, and reading ends altogether after the given
// time.
func (t *tail) expire(all time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Now().Add(all)
	t.limit()
}

// limit sets the read deadline. It is called with the lock held, so that a read in progress is cut too.
func (t *tail) limit() {
	if t.until.IsZero() {
		return
	}
	deadline := time.Now().Add(tailGrace)
	if deadline.After(t.until) {
		deadline = t.until
	}
	_ = t.f.SetReadDeadline(deadline) // only fails when it is closed, and so does the read
}

func (t *tail) Close() error { return t.f.Close() }
