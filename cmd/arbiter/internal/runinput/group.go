package runinput

import "sync"

// group is a set of goroutines that wait for a loop while their callers continue: each ends when
// that loop ends at the latest. Its owner waits for them when the loop has ended.
type group struct {
	mu   sync.Mutex
	over bool
	work sync.WaitGroup
}

// start runs f in a goroutine of the group. After [group.wait] was called it runs f at once: the loop has ended, so f
// does not wait.
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
