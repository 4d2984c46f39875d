package transcript

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// fakeNotifier refuses watches when it is set to, and sends only the events that a test sends.
type fakeNotifier struct {
	events chan fsnotify.Event
	errs   chan error
	end    sync.Once

	mu     sync.Mutex
	refuse error
	first  func(dir string) // called before a directory is watched
	dirs   map[string]bool
	added  chan string
	// removed receives each directory that is no longer watched.
	removed chan string
}

func newFakeNotifier() *fakeNotifier {
	return &fakeNotifier{events: make(chan fsnotify.Event), errs: make(chan error), dirs: map[string]bool{},
		added: make(chan string, 1000), removed: make(chan string, 1000)}
}

func (n *fakeNotifier) Add(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse != nil {
		return n.refuse
	}
	if n.first != nil {
		n.first(dir)
	}
	n.dirs[dir] = true
	n.added <- dir
	return nil
}

func (n *fakeNotifier) Remove(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.dirs, dir)
	n.removed <- dir
	return nil
}

func (n *fakeNotifier) set(refuse error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = refuse
}

func (n *fakeNotifier) watched() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.dirs)
}

func (n *fakeNotifier) Events() <-chan fsnotify.Event { return n.events }
func (n *fakeNotifier) Errors() <-chan error          { return n.errs }
func (n *fakeNotifier) Close() error {
	n.end.Do(func() { close(n.errs); close(n.events) })
	return nil
}
