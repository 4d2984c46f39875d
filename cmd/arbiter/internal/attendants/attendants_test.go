package attendants

import (
	"testing"
	"testing/synctest"
)

// TestAttendantsAreWaitedFor: who waits in the name of another is outlived by the run, and
// nobody begins to wait for one that is over.
func TestAttendantsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Group
		over := make(chan struct{})
		ended, waited := false, make(chan struct{})
		a.Go(func() {
			<-over
			a.Go(func() { ended = true }) // one of them has another
		})
		go func() {
			defer close(waited)
			a.Wait()
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
		a.Go(func() { late = true })
		if !late {
			t.Error("one that came late is not done at once")
		}
		a.Wait()
	})
}
