package host

import "sync"

// group is a set of goroutines that wait for a loop while their callers continue. Each goroutine ends at the latest
// when the loop ends. Then the owner of the group waits for them.
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

// wait returns when all goroutines have ended. It may be called more than once.
func (g *group) wait() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.work.Wait()
}
