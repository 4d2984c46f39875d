package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"
)

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
