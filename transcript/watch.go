package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watchInterval is how often everybody looks who was not woken.
const watchInterval = 2 * time.Second

// WatchOptions are a Watcher's settings. The zero value is good.
type WatchOptions struct {
	// Interval is how often the watcher rings every waker, and how often it tries again to watch
	// directories that it could not watch. 0: 2 s.
	Interval time.Duration
	// Poll leaves it at that: no notifications are asked for.
	Poll bool
	// OnTrouble, if set, is called when something cannot be watched, so that it is seen
	// at the next interval only, and nil when that is over. It is called by the
	// watcher's goroutine and must not call the watcher.
	OnTrouble func(error)

	open func() (notifier, error) // of tests; nil: openNotifier
}

// Watcher rings bells when something happens to files, for any number of
// followers. It watches directories, since a watch of a file ends with a rename
// and cannot begin before the file exists; of a directory that does not exist it
// watches the nearest one above that does.
//
// What the kernel tells can be late, doubled, and incomplete: its queue overflows, its
// watches are limited, network file systems tell nothing of other machines. So
// every bell is rung at an interval, too, and an event never says more
// than that it is worth a look.
//
// Two goroutines belong to it, which Close waits for: one only receives
// notifications and rings, as a delay there can block the notifier for good; one,
// the watch loop, does what may block.
type Watcher struct {
	interval time.Duration
	poll     bool
	trouble  func(error)
	open     func() (notifier, error)

	kick    Bell // there is something to do for the watch loop
	done    chan struct{}
	end     sync.Once
	running sync.WaitGroup

	mu      sync.Mutex
	watches map[*Watch]bool
	byKey   index // by the path whose events ring them
	inside  index // by the directory all whose files they are about
	at      index // by the directories that are watched for their sake
	todo    todo
}

// todo is the work of the watch loop.
type todo struct {
	settle map[*Watch]bool
	all    bool            // settle every watch
	stale  map[string]bool // directories that are no longer what is watched
	broken error           // the notifier failed
}

// Watch is the waker of one path. It belongs to the Watcher.
type Watch struct {
	Bell
	w *Watcher

	path string // cleaned and absolute
	want string // the directory whose contents count
	tree bool   // the path is that directory

	// Guarded by w.mu: where the watch stands.
	dir   string // the directory that is watched: want, or the nearest above it
	key   string // the path in it whose events count; empty: all
	short bool   // want does not exist yet: key is the next directory on the way to it
	above string // the directory above dir, which is watched, too; empty: it is not
}

// NewWatcher starts a watcher. It does not fail: where nothing can be watched it
// polls.
func NewWatcher(o WatchOptions) *Watcher {
	w := &Watcher{
		interval: o.Interval, poll: o.Poll, trouble: o.OnTrouble, open: o.open,
		kick: NewBell(), done: make(chan struct{}),
		watches: map[*Watch]bool{}, byKey: index{}, inside: index{}, at: index{}, todo: newTodo(),
	}
	if w.interval <= 0 {
		w.interval = watchInterval
	}
	if w.open == nil {
		w.open = openNotifier
	}
	w.running.Go(newLookout(w).run)
	return w
}

func newTodo() todo { return todo{settle: map[*Watch]bool{}, stale: map[string]bool{}} }

// File returns a waker that is rung when something happens to the file at path,
// which need not exist.
func (w *Watcher) File(path string) *Watch {
	path = absolute(path)
	return w.add(&Watch{path: path, want: filepath.Dir(path)})
}

// Dir returns a waker that is rung when files come to or go from the directory at
// path, which need not exist. What is written to its files does not ring it.
func (w *Watcher) Dir(path string) *Watch {
	path = absolute(path)
	return w.add(&Watch{path: path, want: path, tree: true})
}

func (w *Watcher) add(t *Watch) *Watch {
	t.Bell, t.w = NewBell(), w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches[t] = true
	w.todo.settle[t] = true
	w.kick.Ring()
	return t
}

// absolute needs no error: without a working directory the path is taken as it is.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// Close ends the watch: its bell is silent from now on.
func (t *Watch) Close() {
	w := t.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(t)
	delete(w.watches, t)
	delete(w.todo.settle, t)
	w.kick.Ring() // its directory may be needed no more
}

// Close ends the watcher and waits for its goroutines. No bell rings afterwards.
func (w *Watcher) Close() {
	w.end.Do(func() { close(w.done) })
	w.running.Wait()
}

// move says where a watch stands from now on. It reports whether that is news.
func (w *Watcher) move(t *Watch, dir, next string) bool {
	key := next
	if next == "" && !t.tree {
		key = filepath.Join(dir, filepath.Base(t.path))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.watches[t] || t.dir == dir && t.key == key {
		return false
	}
	w.unlink(t)
	t.dir, t.key, t.short, t.above = dir, key, next != "", above(dir)
	w.at.put(dir, t)
	if t.above != "" {
		w.at.put(t.above, t)
	}
	if key == "" {
		w.inside.put(dir, t)
	} else {
		w.byKey.put(key, t)
	}
	return true
}

func (w *Watcher) unlink(t *Watch) {
	w.at.drop(t.dir, t)
	w.at.drop(t.above, t)
	w.inside.drop(t.dir, t)
	w.byKey.drop(t.key, t)
	t.dir, t.key, t.above = "", "", ""
}

// happened rings those whom a notification is about. The watch loop learns of it where
// what is watched may have to change.
func (w *Watcher) happened(e fsnotify.Event) {
	if e.Name == "" {
		return // of something that is not watched any more (observed with fsnotify v1.10.1)
	}
	name := filepath.Clean(e.Name) // of the root's entries it has two slashes
	comesOrGoes := e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.byKey[name] {
		t.Ring()
		if t.short {
			w.todo.settle[t] = true
			w.kick.Ring()
		}
	}
	if !comesOrGoes {
		return
	}
	for t := range w.inside[filepath.Dir(name)] {
		t.Ring()
	}
	if len(w.at[name]) > 0 {
		w.todo.stale[name] = true
		w.kick.Ring()
	}
}

// failed rings everybody: notifications were lost. After anything worse than an
// overflow the notifier is not trusted any more.
func (w *Watcher) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		w.todo.broken = err
	}
	w.todo.all = true
	w.kick.Ring()
	for t := range w.watches {
		t.Ring()
	}
}

func (w *Watcher) ringAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.watches {
		t.Ring()
	}
}

// index finds watches by a path.
type index map[string]map[*Watch]bool

func (x index) put(path string, t *Watch) {
	if x[path] == nil {
		x[path] = map[*Watch]bool{}
	}
	x[path][t] = true
}

func (x index) drop(path string, t *Watch) {
	delete(x[path], t)
	if len(x[path]) == 0 {
		delete(x, path)
	}
}

// above is the directory to watch besides dir, to see dir go. Its own watch reports
// that only when the last file in it has been closed, which a follower of a file that
// was removed does not do (observed with Linux 6.18: IN_DELETE_SELF waits for
// the inode to go). Other systems tell at once, and a watch costs them more.
func above(dir string) string {
	if up := filepath.Dir(dir); up != dir && runtime.GOOS == "linux" {
		return up
	}
	return ""
}

// nearest is the directory to watch for what happens in want, with symbolic links
// resolved: want itself, or the nearest one above it that exists; then next is the path in
// it that has to appear first.
func nearest(want string) (dir, next string) {
	missing := ""
	for at := want; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			if info, err := os.Stat(real); err == nil && info.IsDir() {
				if missing == "" {
					return real, ""
				}
				return real, filepath.Join(real, missing)
			}
		}
		if parent := filepath.Dir(at); parent == at {
			return at, filepath.Join(at, missing)
		}
		missing = filepath.Base(at)
	}
}
