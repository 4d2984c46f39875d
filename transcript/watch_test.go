package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

// lines follows path with w and returns a channel of its lines.
func lines(t *testing.T, w *Watcher, path string) <-chan string {
	t.Helper()
	got := make(chan string, 1000)
	watch := w.File(path)
	f := &Follower{Path: path, Waker: watch, OnLine: func(l Followed) { got <- string(l.Data) }}
	background(t, f.Run)
	t.Cleanup(watch.Close)
	return got
}

func background(t *testing.T, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

func wantNext[T comparable](t *testing.T, c <-chan T, want T) {
	t.Helper()
	if got := receive(t, c); got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// watcher starts a Watcher that sends its problems to the channel: true when one begins, false when it is over.
func watcher(t *testing.T, o WatchOptions) (*Watcher, <-chan bool) {
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	problem := make(chan bool, 100)
	o.OnProblem = func(err error) { problem <- err != nil }
	w := NewWatcher(o)
	t.Cleanup(w.Close)
	return w, problem
}

// realDir returns a new directory, by the name that notifications have for it.
func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// When the queue of events overflows, all bells ring, and directories that appeared meanwhile are found.
func TestWatchOverflow(t *testing.T) {
	n := newFakeNotifier()
	w, _ := watcher(t, WatchOptions{Interval: time.Hour, open: func() (notifier, error) { return n, nil }})
	root := realDir(t)
	path := filepath.Join(root, "d", "f")
	got := lines(t, w, path)
	other := lines(t, w, filepath.Join(root, "g"))
	for n.watched() < 2 {
		receive(t, n.added)
	}
	change(t, root, "mkdir d")
	change(t, root, `append d/f "a\n"`)
	change(t, root, `append g "b\n"`)
	n.errs <- fsnotify.ErrEventOverflow
	wantNext(t, got, "a")
	wantNext(t, other, "b")
	for dir := ""; dir != filepath.Dir(path); {
		dir = receive(t, n.added)
	}
	appendTo(t, path, "c\n")
	n.events <- fsnotify.Event{Name: path, Op: fsnotify.Write}
	wantNext(t, got, "c")
}

// When the kernel grants no more watches, the rest is polled; this is reported once, and the watches are
// requested again.
func TestWatchLimit(t *testing.T) {
	n := newFakeNotifier()
	n.refuse = syscall.ENOSPC
	w, problem := watcher(t, WatchOptions{Interval: 5 * time.Millisecond, open: func() (notifier, error) {
		return n, nil
	}})
	path := filepath.Join(t.TempDir(), "f")
	got := lines(t, w, path)
	wantNext(t, problem, true)
	for range 5 {
		appendTo(t, path, "a\n")
		wantNext(t, got, "a")
	}
	n.set(nil)
	wantNext(t, problem, false)
	if n.watched() == 0 {
		t.Error("fine, but nothing is watched")
	}
	if len(problem) > 0 {
		t.Errorf("reported %d times more", len(problem))
	}
}

// At first no notifier can be opened, later one can.
func TestWatchInstanceLimit(t *testing.T) {
	var mu sync.Mutex
	limit := error(syscall.EMFILE)
	n := newFakeNotifier()
	w, problem := watcher(t, WatchOptions{Interval: 5 * time.Millisecond, open: func() (notifier, error) {
		mu.Lock()
		defer mu.Unlock()
		return n, limit
	}})
	path := filepath.Join(t.TempDir(), "f")
	got := lines(t, w, path)
	wantNext(t, problem, true)
	appendTo(t, path, "a\n")
	wantNext(t, got, "a")
	mu.Lock()
	limit = nil
	mu.Unlock()
	wantNext(t, problem, false)
	receive(t, n.added)
	appendTo(t, path, "b\n")
	wantNext(t, got, "b")
}

// When the notifier fails, or its goroutine ends, another one replaces it.
func TestWatchNotifierFails(t *testing.T) {
	for name, die := range map[string]func(*fakeNotifier){
		"with an error": func(n *fakeNotifier) { n.errs <- errors.New("broken") },
		"silently":      func(n *fakeNotifier) { n.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			opened := make(chan *fakeNotifier, 10)
			w, problem := watcher(t, WatchOptions{Interval: 5 * time.Millisecond, open: func() (notifier, error) {
				n := newFakeNotifier()
				opened <- n
				return n, nil
			}})
			path := filepath.Join(t.TempDir(), "f")
			got := lines(t, w, path)
			first := receive(t, opened)
			receive(t, first.added)
			die(first)
			wantNext(t, problem, true)
			wantNext(t, problem, false)
			receive(t, receive(t, opened).added)
			appendTo(t, path, "a\n")
			wantNext(t, got, "a")
		})
	}
}

// The directories of a new session: at first none exists, and each is filled before it can be watched.
func TestWatchDescends(t *testing.T) {
	for range 20 {
		w, problem := watcher(t, WatchOptions{Interval: time.Hour})
		root := t.TempDir()
		path := filepath.Join(root, "projects", "-work", "s.jsonl")
		sub := filepath.Join(subagentDir(path), "agent-1.jsonl")
		got, subGot := lines(t, w, path), lines(t, w, sub)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		appendTo(t, path, "a\n")
		wantNext(t, got, "a")
		if err := os.MkdirAll(filepath.Dir(sub), 0o700); err != nil {
			t.Fatal(err)
		}
		appendTo(t, sub, "b\n")
		wantNext(t, subGot, "b")
		appendTo(t, path, "c\n")
		wantNext(t, got, "c")
		appendTo(t, sub, "d\n")
		wantNext(t, subGot, "d")
		if len(problem) > 0 {
			t.Error("it was reported as a problem")
		}
	}
}

// A directory that appears just before the one above it is watched, without a notification, is found all the
// same.
func TestWatchChecksAgainAfterAdding(t *testing.T) {
	n := newFakeNotifier()
	root := realDir(t)
	n.first = func(dir string) {
		if dir == root || dir == filepath.Join(root, "a") {
			_ = os.Mkdir(filepath.Join(dir, "a"), 0o700) // fails the second time, since it exists
		}
	}
	w, _ := watcher(t, WatchOptions{Interval: time.Hour, open: func() (notifier, error) { return n, nil }})
	defer w.File(filepath.Join(root, "a", "a", "f")).Close()
	for added := ""; added != filepath.Join(root, "a", "a"); {
		added = receive(t, n.added)
	}
}

// A directory has several names, and a link in a path is changed to another directory.
func TestWatchLinks(t *testing.T) {
	w, _ := watcher(t, WatchOptions{Interval: time.Hour})
	root := t.TempDir()
	change(t, root, "mkdir one")
	change(t, root, "symlink one link")
	direct, linked := lines(t, w, filepath.Join(root, "one", "f")), lines(t, w, filepath.Join(root, "link", "f"))
	change(t, root, `append one/f "a\n"`)
	wantNext(t, direct, "a")
	wantNext(t, linked, "a")
	for range 3 { // the kernel reports each change once, by one name
		change(t, root, `append one/f "b\n"`)
		wantNext(t, direct, "b")
		wantNext(t, linked, "b")
	}

	w, _ = watcher(t, WatchOptions{Interval: 5 * time.Millisecond})
	linked = lines(t, w, filepath.Join(root, "link", "f"))
	for _, want := range []string{"a", "b", "b", "b"} {
		wantNext(t, linked, want)
	}
	change(t, root, "mkdir two")
	change(t, root, `append two/f "c\n"`)
	change(t, root, "symlink two new")
	change(t, root, "rename new link")
	wantNext(t, linked, "c")
}

// A directory far above is moved away, without a notification: the next look finds that another directory is in
// its place.
func TestWatchOfTheWrongDirectory(t *testing.T) {
	n := newFakeNotifier()
	w, _ := watcher(t, WatchOptions{Interval: 5 * time.Millisecond, open: func() (notifier, error) { return n, nil }})
	root := realDir(t)
	dir := filepath.Join(root, "a", "b", "c", "d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	watch := w.File(filepath.Join(dir, "f"))
	defer watch.Close()
	for added := ""; added != dir; {
		added = receive(t, n.added)
	}
	change(t, root, "rename a gone")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for added := ""; added != dir; {
		added = receive(t, n.added)
	}
}

// TestWatchManyFiles follows 200 files of 10 sessions at once: no line is lost or delivered twice.
func TestWatchManyFiles(t *testing.T) {
	for name, o := range map[string]WatchOptions{
		"notified": {Interval: time.Hour},
		"polling":  {Interval: 2 * time.Millisecond, Poll: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, problem := watcher(t, o)
			root := t.TempDir()
			var paths []string
			var got []<-chan string
			for i := range 200 {
				path := filepath.Join(root, fmt.Sprint("s", i%10), "subagents", fmt.Sprintf("agent-%d.jsonl", i))
				paths = append(paths, path)
				got = append(got, lines(t, w, path))
			}
			const rounds = 20
			for round := range rounds {
				for _, path := range paths {
					if round == 0 {
						if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
							t.Fatal(err)
						}
					}
					appendTo(t, path, fmt.Sprintf("%d %s\n", round, path))
				}
			}
			for i, path := range paths {
				for round := range rounds {
					wantNext(t, got[i], fmt.Sprintf("%d %s", round, path))
				}
			}
			for i := range got {
				if len(got[i]) > 0 {
					t.Errorf("%s: %d lines too many", paths[i], len(got[i]))
				}
			}
			if len(problem) > 0 {
				t.Error("it was reported as a problem")
			}
		})
	}
}

// TestWatchIsReleased: the watcher stops watching a directory that no waker needs any more.
func TestWatchIsReleased(t *testing.T) {
	n := newFakeNotifier()
	w, _ := watcher(t, WatchOptions{Interval: time.Hour, open: func() (notifier, error) { return n, nil }})
	root := t.TempDir()
	one, two, dir := w.File(filepath.Join(root, "f")), w.File(filepath.Join(root, "g")), w.Dir(filepath.Join(root, "x"))
	for _, watch := range []*Watch{one, two, dir} {
		receive(t, watch.Wake()) // it has settled
	}
	one.Close()
	dir.Close()
	dir.Close() // closing twice is harmless
	kept := w.File(filepath.Join(root, "h"))
	receive(t, kept.Wake())
	if n.watched() == 0 {
		t.Error("a directory that is still wanted is not watched")
	}
	two.Close()
	kept.Close()
	for n.watched() > 0 {
		receive(t, n.removed)
	}
}

// Changes and calls after the end of a watch, or of the watcher, do no harm.
func TestWatchEnds(t *testing.T) {
	w, _ := watcher(t, WatchOptions{})
	root := t.TempDir()
	watch := w.File(filepath.Join(root, "f"))
	receive(t, watch.Wake())
	w.Close()
	w.Close()
	change(t, root, `append f "a\n"`)
	late := w.File(filepath.Join(root, "f"))
	late.Close()
	watch.Close()
	select {
	case <-watch.Wake():
		t.Error("the bell of a closed watcher rings")
	case <-late.Wake():
		t.Error("a bell rings after its Close")
	default:
	}
}
