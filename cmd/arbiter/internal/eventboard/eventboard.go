package eventboard

import (
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Board lets others than the frontend hear what a run says, as long as they care to. It
// never holds the run.
type Board struct {
	mu        sync.Mutex
	listeners map[*Listener]struct{}
}

// Listener hears the events that fit. Beyond its capacity, unread events are dropped.
type Listener struct {
	board *Board
	fits  func(contract.Event) bool // on the run's goroutine: it only looks
	heard chan contract.Event
}

// Publishing is a place where tests make a run's goroutine stand still.
var Publishing = func() {}

// Sink notes every event on its way to a frontend.
func (b *Board) Sink(next runloop.Sink) runloop.Sink {
	return func(at time.Time, e contract.Event) {
		Publishing()
		b.publish(e)
		next(at, e)
	}
}

func (b *Board) publish(e contract.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.listeners {
		if !w.fits(e) {
			continue
		}
		select {
		case w.heard <- e:
		default:
		}
	}
}

// Subscribe hears from now on; the caller closes it.
func (b *Board) Subscribe(fits func(contract.Event) bool) *Listener {
	w := &Listener{board: b, fits: fits, heard: make(chan contract.Event, 16)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[*Listener]struct{}{}
	}
	b.listeners[w] = struct{}{}
	return w
}

// News are the events that fit.
func (w *Listener) News() <-chan contract.Event { return w.heard }

// Close ends the subscription. News stays open, and brings nothing more.
func (w *Listener) Close() {
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	delete(w.board.listeners, w)
}
