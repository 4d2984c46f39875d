package transcript

import (
	"sync"
	"time"
)

// Watcher rings bells at an interval, for any number of followers: one timer wakes the process less often than one for
// each of them, or a notification of the kernel for each line.
type Watcher struct {
	done    chan struct{}
	end     sync.Once
	running sync.WaitGroup

	mu    sync.Mutex
	bells map[Bell]bool
}

// NewWatcher starts a watcher.
func NewWatcher(interval time.Duration) *Watcher {
	w := &Watcher{done: make(chan struct{}), bells: map[Bell]bool{}}
	w.running.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-w.done:
				return
			case <-tick.C:
				w.ring()
			}
		}
	})
	return w
}

func (w *Watcher) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for b := range w.bells {
		b.Ring()
	}
}

// Watch returns a bell that rings until forget is called.
func (w *Watcher) Watch() (bell Bell, forget func()) {
	bell = NewBell()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bells[bell] = true
	return bell, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.bells, bell)
	}
}

// Close ends the watcher and waits for its goroutine. No bell rings afterwards.
func (w *Watcher) Close() {
	w.end.Do(func() { close(w.done) })
	w.running.Wait()
}
