package history

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// again is the pause after a failure of the disk.
const again = 5 * time.Second

// health is the state of the disk.
type health struct {
	mu    sync.Mutex
	write error // the last write failed
	next  time.Time
	read  error // written data could not be read
}

// may reports whether a write should be tried.
func (h *health) may() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.write == nil || !time.Now().Before(h.next)
}

func (h *health) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.write, h.next = err, time.Now().Add(again)
}

func (h *health) worked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.write = nil
}

func (h *health) unreadable(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.read = err
}

func (h *health) err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.write != nil:
		return fmt.Errorf("write the history: %w", h.write)
	case h.read != nil:
		return fmt.Errorf("read the history: %w", h.read)
	}
	return nil
}
