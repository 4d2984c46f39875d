package transcript

import "github.com/fsnotify/fsnotify"

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
