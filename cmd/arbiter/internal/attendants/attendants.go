package attendants

import "sync"

// Group is a set of goroutines that wait for a loop in the name of others: each ends with
// that loop at the latest. Its owner waits for them when the loop has ended.
type Group struct {
	mu   sync.Mutex
	over bool
	work sync.WaitGroup
}

// Go has f done meanwhile. After the end there is nothing to wait for: then it is done at
// once.
func (a *Group) Go(f func()) {
	a.mu.Lock()
	if a.over {
		a.mu.Unlock()
		f()
		return
	}
	a.work.Go(f)
	a.mu.Unlock()
}

// Wait returns when all of them have ended. It may be called again.
func (a *Group) Wait() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.work.Wait()
}
