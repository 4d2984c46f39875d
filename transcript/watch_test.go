package transcript

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatcherWithoutNotifications: every bell rings at the interval, until it is forgotten or the watcher is closed.
func TestWatcherWithoutNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(time.Second, time.Second, nil)
		first, forget := w.Watch("/a/file")
		second, _ := w.Watch("")
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

// TestWatcherIsNotified: a bell rings for what happens in its directory, long before the interval, also after a pause;
// and a directory that appears, or is replaced, is watched from the next interval on.
func TestWatcherIsNotified(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			_ = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rings := func(b Bell, what string) {
		t.Helper()
		select {
		case <-b.Wake():
		case <-time.After(20 * time.Second):
			t.Fatalf("nothing rings when %s", what)
		}
	}
	dir := t.TempDir()
	w := NewWatcher(time.Millisecond, time.Hour)
	defer w.Close()
	path := filepath.Join(dir, "session.jsonl")
	bell, forget := w.Watch(path)
	other, _ := w.Watch(filepath.Join(t.TempDir(), "other.jsonl"))
	for _, what := range []string{"the file is created", "it grows", "it grows again"} {
		write(path, "{}\n")
		rings(bell, what)
	}
	if len(other) > 0 {
		t.Error("the bell of another directory rang")
	}
	forget()
	again, _ := w.Watch(path)
	write(path, "{}\n")
	rings(again, "it is watched again")

	soon := NewWatcher(time.Millisecond, 20*time.Millisecond)
	defer soon.Close()
	late := filepath.Join(dir, "projects", "p", "session.jsonl")
	bell, _ = soon.Watch(late)
	for range 2 { // it appears, and is replaced
		if err := os.MkdirAll(filepath.Dir(late), 0o700); err != nil {
			t.Fatal(err)
		}
		for watched := false; !watched; {
			rings(bell, "the interval is over")
			soon.mu.Lock()
			watched = soon.added[filepath.Dir(late)]
			soon.mu.Unlock()
		}
		write(late, "{}\n")
		rings(bell, "a file appears in a new directory")
		if err := os.RemoveAll(filepath.Dir(late)); err != nil {
			t.Fatal(err)
		}
		for watched := true; watched; {
			rings(bell, "the directory is removed")
			soon.mu.Lock()
			watched = soon.added[filepath.Dir(late)]
			soon.mu.Unlock()
		}
	}
}
