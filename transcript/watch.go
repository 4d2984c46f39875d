package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watchInterval is how often a follower looks if it is not woken.
const watchInterval = 2 * time.Second

// WatchOptions are a Watcher's settings. The zero value is good.
type WatchOptions struct {
	// Interval is how often the watcher rings every waker, and how often it retries to watch directories that
	// it could not watch. 0: 2 s.
	Interval time.Duration
	// Poll requests no notifications: wakers ring only at the interval.
	Poll bool
	// OnProblem, if set, is called when something cannot be watched, so that changes are noticed only at the
	// next interval, and with nil when that is over. The watcher's goroutine calls it; it must not call the
	// watcher.
	OnProblem func(error)

	open func() (notifier, error) // set by tests; nil: openNotifier
}

// Watcher rings bells when something happens to files, for any number of followers. It watches directories,
// since a watch of a file ends with a rename and cannot begin before the file exists. If a directory does not
// exist, it watches the nearest existing one above it.
//
// The kernel's notifications can be late, repeated and incomplete: its queue overflows, its watches are
// limited, and network file systems do not report changes by other machines. So every bell also rings at an
// interval, and an event only says that a look may be worthwhile.
//
// It has two goroutines, which Close waits for. One only receives notifications and rings bells, as a delay
// there can block the notifier for good. The other, the watch loop, does everything that may block.
type Watcher struct {
	interval  time.Duration
	poll      bool
	onProblem func(error)
	open      func() (notifier, error)

	kick    Bell // todo has work for the watch loop
	done    chan struct{}
	end     sync.Once
	running sync.WaitGroup

	mu      sync.Mutex
	watches map[*Watch]bool
	byKey   index // by the path whose events ring them
	inside  index // by the directory, for watches of all its entries
	at      index // by the directories that must be watched for them
	todo    todo
}

// todo is the work of the watch loop.
type todo struct {
	place  map[*Watch]bool
	all    bool            // settle every watch
	stale  map[string]bool // directories that were moved, removed or replaced
	broken error           // the notifier failed
}

// Watch is the waker of one path. It belongs to the Watcher.
type Watch struct {
	Bell
	w *Watcher

	path string // cleaned and absolute
	want string // the directory whose contents count
	tree bool   // the path is that directory

	// Guarded by w.mu: what is watched now.
	dir   string // the watched directory: want, or the nearest above it
	key   string // the path in dir whose events count; empty: all
	short bool   // want does not exist yet: key is the next directory on the way to it
	above string // the directory above dir, if it must be watched too, or empty
}

// NewWatcher starts a watcher. It does not fail: what it cannot watch, it polls.
func NewWatcher(o WatchOptions) *Watcher {
	w := &Watcher{
		interval: o.Interval, poll: o.Poll, onProblem: o.OnProblem, open: o.open,
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

func newTodo() todo { return todo{place: map[*Watch]bool{}, stale: map[string]bool{}} }

// File returns a waker that is rung when something happens to the file at path. The file need not exist.
func (w *Watcher) File(path string) *Watch {
	path = absolute(path)
	return w.add(&Watch{path: path, want: filepath.Dir(path)})
}

// Dir returns a waker that is rung when files appear in or disappear from the directory at path. The directory
// need not exist. Writes to its files do not ring the waker.
func (w *Watcher) Dir(path string) *Watch {
	path = absolute(path)
	return w.add(&Watch{path: path, want: path, tree: true})
}

func (w *Watcher) add(t *Watch) *Watch {
	t.Bell, t.w = NewBell(), w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches[t] = true
	w.todo.place[t] = true
	w.kick.Ring()
	return t
}

// absolute returns no error: without a working directory it only cleans the path.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// Close ends the watch: its bell does not ring any more.
func (t *Watch) Close() {
	w := t.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(t)
	delete(w.watches, t)
	delete(w.todo.place, t)
	w.kick.Ring() // its directory may not be needed any more
}

// Close ends the watcher and waits for its goroutines. No bell rings afterwards.
func (w *Watcher) Close() {
	w.end.Do(func() { close(w.done) })
	w.running.Wait()
}

// move sets what is watched for a watch, and reports whether that has changed.
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

// happened rings the watches that a notification concerns. It leaves work for the watch loop if something else
// may have to be watched now.
func (w *Watcher) happened(e fsnotify.Event) {
	if e.Name == "" {
		return // of something that is not watched any more (observed with fsnotify v1.10.1)
	}
	name := filepath.Clean(e.Name) // names of the root's entries have two slashes
	createdOrRemoved := e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.byKey[name] {
		t.Ring()
		if t.short {
			w.todo.place[t] = true
			w.kick.Ring()
		}
	}
	if !createdOrRemoved {
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

// failed rings all bells, since notifications were lost. After any error but an overflow the notifier is
// replaced.
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

// above returns the directory to watch in addition to dir, to notice the removal of dir. The watch of dir
// reports that only when the last file in it is closed, and a follower of a removed file keeps it open
// (observed with Linux 6.18: IN_DELETE_SELF waits until the inode is freed). Other systems report it at once,
// and a watch costs them more.
func above(dir string) string {
	if up := filepath.Dir(dir); up != dir && runtime.GOOS == "linux" {
		return up
	}
	return ""
}

// nearest returns the directory to watch for what happens in want, with symbolic links resolved: want itself,
// or the nearest existing one above it. In that case next is the path in it that must appear first.
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

// maxDescent limits how often one watch is moved in a row, while directories come and go.
const maxDescent = 64

// watchLoop is the part of a Watcher that may block. Only its goroutine uses the notifier and dirs.
type watchLoop struct {
	w        *Watcher
	n        notifier // nil if there is none, or if it failed
	drained  <-chan struct{}
	opening  error // why there is no notifier
	dirs     map[string]*directory
	reported bool
}

// directory is a directory that wakers need watched.
type directory struct {
	info    os.FileInfo // what was there when the watch was requested
	watched bool
	needed  bool  // errors of directories that are not needed are not reported
	err     error // why it is not watched
}

func newLookout(w *Watcher) *watchLoop {
	return &watchLoop{w: w, dirs: map[string]*directory{}}
}

func (l *watchLoop) run() {
	tick := time.NewTicker(l.w.interval)
	defer tick.Stop()
	defer l.drop()
	l.reopen()
	l.report()
	for {
		select {
		case <-l.w.done:
			return
		case <-l.w.kick:
			l.attend()
		case <-tick.C:
			l.tick()
		case <-l.drained:
			l.w.failed(errors.New("notifications have ended")) // rings kick
			l.drained = nil
		}
		l.report()
	}
}

// reopen opens a notifier, if there is none. All directories must then be watched anew.
func (l *watchLoop) reopen() {
	if l.w.poll || l.n != nil {
		return
	}
	n, err := l.w.open()
	l.opening = err
	if err != nil {
		return
	}
	drained := make(chan struct{})
	l.n, l.drained = n, drained
	l.w.running.Go(func() {
		defer close(drained)
		drain(n, l.w)
	})
}

// drop closes the notifier, and waits for the goroutine that drains it.
func (l *watchLoop) drop() {
	if l.n == nil {
		return
	}
	l.n.Close() // its failure was reported already
	if l.drained != nil {
		<-l.drained
	}
	l.n, l.drained = nil, nil
	clear(l.dirs)
}

// attend does the work in todo.
func (l *watchLoop) attend() {
	w := l.w
	w.mu.Lock()
	todo := w.todo
	w.todo = newTodo()
	if todo.all {
		maps.Copy(todo.place, w.watches)
	}
	for dir := range todo.stale {
		maps.Copy(todo.place, w.at[dir])
	}
	w.mu.Unlock()

	if w.poll {
		for t := range todo.place {
			t.Ring()
		}
		return
	}
	if todo.broken != nil {
		l.drop()
		l.opening = todo.broken // retried at the next tick, since it may fail at once
	}
	for dir := range todo.stale {
		l.forget(dir)
	}
	for t := range todo.place {
		l.placeWatch(t)
	}
	l.tidy()
}

// tick retries what failed, finds changes without a notification, and rings all bells.
func (l *watchLoop) tick() {
	defer l.w.ringAll()
	if l.w.poll {
		return
	}
	l.reopen()
	for dir, d := range l.dirs {
		info, err := os.Stat(dir)
		if err != nil || d.info == nil || !os.SameFile(d.info, info) {
			l.forget(dir) // moved away or replaced, perhaps with a directory above it
		}
	}
	type place struct{ dir, next string }
	places := map[string]place{} // many watches need the same directory
	l.w.mu.Lock()
	watches := maps.Clone(l.w.watches)
	l.w.mu.Unlock()
	for t := range watches {
		p, known := places[t.want]
		if !known {
			p.dir, p.next = nearest(t.want)
			places[t.want] = p
			l.ensure(p.dir)
		}
		if l.w.move(t, p.dir, p.next) {
			l.placeWatch(t)
		}
	}
	l.tidy()
}

// placeWatch moves a watch to the right directory, and checks again: a directory may have appeared before the one
// above it was watched.
func (l *watchLoop) placeWatch(t *Watch) {
	dir, next := nearest(t.want)
	for range maxDescent {
		l.w.move(t, dir, next)
		l.ensure(dir)
		d, n := nearest(t.want)
		if d == dir && n == next {
			break
		}
		dir, next = d, n
	}
	t.Ring() // something may have happened before it was watched
}

// ensure watches a directory, if possible. It watches the one above first, so that no change of dir is missed
// meanwhile.
func (l *watchLoop) ensure(dir string) {
	if up := above(dir); up != "" {
		l.watch(up, false)
	}
	l.watch(dir, true)
}

func (l *watchLoop) watch(dir string, needed bool) {
	d := l.dirs[dir]
	if d == nil {
		d = &directory{}
		l.dirs[dir] = d
	}
	d.needed = d.needed || needed
	if d.watched || l.n == nil {
		return
	}
	info, err := os.Stat(dir) // before Add, so that the next tick detects a replacement
	if err == nil {
		err = l.n.Add(dir)
	}
	d.info, d.watched, d.err = info, err == nil, err
}

// forget stops watching a directory.
func (l *watchLoop) forget(dir string) {
	d := l.dirs[dir]
	if d == nil {
		return
	}
	delete(l.dirs, dir)
	if d.watched && l.n != nil {
		_ = l.n.Remove(dir) // it fails if the kernel has ended the watch
	}
}

// tidy stops watching directories that no watch needs.
func (l *watchLoop) tidy() {
	for dir := range l.dirs {
		l.w.mu.Lock()
		used := len(l.w.at[dir]) > 0
		l.w.mu.Unlock()
		if !used {
			l.forget(dir)
		}
	}
}

// report reports a problem once, and its end.
func (l *watchLoop) report() {
	err := l.opening
	for dir, d := range l.dirs {
		if err == nil && d.needed && d.err != nil && !errors.Is(d.err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", dir, d.err)
		}
	}
	if bad := err != nil; bad == l.reported {
		return
	}
	l.reported = err != nil
	if l.w.onProblem == nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("watch files, looking every %v instead: %w", l.w.interval, err)
	}
	l.w.onProblem(err)
}

// notifier is the part of fsnotify that a Watcher uses. When it ends it closes Events.
type notifier interface {
	Add(dir string) error
	Remove(dir string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

type fsNotifier struct{ *fsnotify.Watcher }

func openNotifier() (notifier, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return fsNotifier{n}, nil
}

func (n fsNotifier) Events() <-chan fsnotify.Event { return n.Watcher.Events }
func (n fsNotifier) Errors() <-chan error          { return n.Watcher.Errors }

// drain receives until the notifier ends. It never waits for anything else: Add and Remove may block while
// events are not received (fsnotify#502).
func drain(n notifier, w *Watcher) {
	events, errs := n.Events(), n.Errors()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			w.happened(e)
		case err, ok := <-errs:
			if !ok {
				errs = nil // the end of events follows
				continue
			}
			w.failed(err)
		}
	}
}
