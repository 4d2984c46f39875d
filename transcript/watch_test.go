package transcript

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWatcher: every bell rings at the interval, until it is forgotten or the watcher is closed.
func TestWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWatcher(time.Second)
		first, forget := w.Watch()
		second, _ := w.Watch()
		time.Sleep(time.Second - time.Nanosecond)
		if synctest.Wait(); len(first)+len(second) > 0 {
			t.Error("a bell rang too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		<-first
		<-second
		forget()
		time.Sleep(2 * time.Second)
		if synctest.Wait(); len(first) != 0 || len(second) != 1 {
			t.Errorf("the forgotten bell rang %d times, the other %d times", len(first), len(second))
		}
		<-second
		w.Close()
		w.Close()
		time.Sleep(2 * time.Second)
		if synctest.Wait(); len(second) > 0 {
			t.Error("a bell rang after the end")
		}
	})
}
