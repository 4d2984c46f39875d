package host

import (
	"testing"
	"testing/synctest"
)

// TestGoroutinesAreWaitedFor: wait returns after all goroutines, including those started by others. Later functions
// run at once.
func TestGoroutinesAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		over := make(chan struct{})
		ended, waited := false, make(chan struct{})
		g.start(func() {
			<-over
			g.start(func() { ended = true }) // one of them starts another
		})
		go func() {
			defer close(waited)
			g.wait()
		}()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("not waited for")
		default:
		}
		close(over)
		<-waited
		if !ended {
			t.Error("waited for one, but not for what it began")
		}
		late := false
		g.start(func() { late = true })
		if !late {
			t.Error("one that came late is not done at once")
		}
		g.wait()
	})
}
