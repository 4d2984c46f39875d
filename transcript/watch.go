package transcript

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

// Watcher rings the bells of any number of followers when something happens in the directories of their files. After it
// has rung it rests for a pause, in which the kernel collects what happens: a notification for each line would wake the
// process several times in each tool call, for what the stream has already said.
//
// The kernel's notifications can be late or missing: its queue and its watches are limited, a directory may not exist
// yet, and network file systems do not report changes by other machines. So every bell also rings at an interval, and a
// ring only says that a look may be worthwhile.
type Watcher struct {
	pause, interval time.Duration
	files           *fsnotify.Watcher // nil: there are no notifications
	done            chan struct{}
	end             sync.Once
	running         sync.WaitGroup

	mu    sync.Mutex
	bells map[Bell]string // the directory of each; "": it rings at the interval only
	added map[string]bool // the directories that are watched
}

// NewWatcher starts a watcher.
func NewWatcher(pause, interval time.Duration) *Watcher {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		files = nil // the system has no more of them; the interval remains
	}
	return newWatcher(pause, interval, files)
}

func newWatcher(pause, interval time.Duration, files *fsnotify.Watcher) *Watcher {
	w := &Watcher{pause: pause, interval: interval, files: files, done: make(chan struct{}), bells: map[Bell]string{},
		added: map[string]bool{}}
	w.running.Go(w.run)
	return w
}

func (w *Watcher) run() {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	var events chan fsnotify.Event
	var errs chan error
	if w.files != nil {
		defer w.files.Close()
		events, errs = w.files.Events, w.files.Errors
	}
	for {
		select {
		case <-w.done:
			return
		case <-tick.C:
			w.ringAll()
		case <-errs: // such as that events were lost
			w.ringAll()
		case e := <-events:
			w.happened(e)
			select {
			case <-w.done:
				return
			case <-time.After(w.pause):
			}
			w.collect(events)
		}
	}
}

// collect takes the events that have come during a pause. More than mostEvents are left for the next one.
func (w *Watcher) collect(events chan fsnotify.Event) {
	const mostEvents, quiet = 4096, time.Millisecond
	for range mostEvents {
		select {
		case e := <-events:
			w.happened(e)
		case <-time.After(quiet):
			return
		}
	}
}

// happened rings the bells of the directory of an event.
func (w *Watcher) happened(e fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.added[e.Name] && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		delete(w.added, e.Name) // the directory itself has gone; another may take its place
		_ = w.files.Remove(e.Name)
	}
	for b, dir := range w.bells {
		if dir == filepath.Dir(e.Name) || dir == e.Name {
			b.Ring()
		}
	}
}

func (w *Watcher) ringAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for b, dir := range w.bells {
		w.add(dir)
		b.Ring()
	}
}

// add watches a directory, unless it is watched or cannot be. The caller holds mu.
func (w *Watcher) add(dir string) {
	if w.files != nil && dir != "" && !w.added[dir] && w.files.Add(dir) == nil {
		w.added[dir] = true
	}
}

// Watch returns a bell that rings when something happens to a file, and at the interval, until forget is called. The
// file need not exist; without a path the bell rings at the interval only.
func (w *Watcher) Watch(path string) (bell Bell, forget func()) {
	bell = NewBell()
	dir := ""
	if path != "" {
		dir = filepath.Dir(path)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(dir)
	w.bells[bell] = dir
	return bell, func() { w.forget(bell) }
}

// forget ends a bell, and the watch of its directory if it was the last there.
func (w *Watcher) forget(bell Bell) {
	w.mu.Lock()
	defer w.mu.Unlock()
	dir := w.bells[bell]
	delete(w.bells, bell)
	for _, other := range w.bells {
		if other == dir {
			return
		}
	}
	if w.added[dir] {
		delete(w.added, dir)
		_ = w.files.Remove(dir) // it may have gone
	}
}

// Close ends the watcher and waits for its goroutine. No bell rings afterwards.
func (w *Watcher) Close() {
	w.end.Do(func() { close(w.done) })
	w.running.Wait()
}

// Bell says when to look at a file: it yields a value, to one follower, when a look may be worthwhile. That is only a
// hint: it may come without a change, and a look finds everything that happened before it. Ringing a bell again before
// it was received changes nothing, so that any number of rings leads to one look.
type Bell chan struct{}

// NewBell returns a silent bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring never blocks. It is safe for concurrent use.
func (b Bell) Ring() { backlog.Hint(b) }
