package runinput

import "sync"

// group is a set of goroutines that wait for a loop in the name of others: each ends with
// that loop at the latest. Its owner waits for them when the loop has ended.
type group struct {
	mu   sync.Mutex
	over bool
	work sync.WaitGroup
}

// start has f done meanwhile. After the end there is nothing to wait for: then it is done at
// once.
func (g *group) start(f func()) {
	g.mu.Lock()
	if g.over {
		g.mu.Unlock()
		f()
		return
	}
	g.work.Go(f)
	g.mu.Unlock()
}

// wait returns when all of them have ended. It may be called again.
func (g *group) wait() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.work.Wait()
}
