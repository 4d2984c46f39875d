package host

// This file passes the events of a run to listeners in its process. It never delays the run.

import (
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Board passes a run's events to listeners other than the frontend. It never delays the run.
type Board struct {
	mu        sync.Mutex
	listeners map[*BoardListener]struct{}
}

// BoardListener receives the events that match. If its buffer is full, it loses events.
type BoardListener struct {
	board  *Board
	match  func(contract.Event) bool // called on the run's goroutine: must not block
	events chan contract.Event
}

// Publishing is a hook with which tests stop a run's goroutine.
var Publishing = func() {}

// Sink publishes every event and passes it on to next.
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
		if !w.match(e) {
			continue
		}
		select {
		case w.events <- e:
		default:
		}
	}
}

// Subscribe starts a subscription; the caller closes it.
func (b *Board) Subscribe(match func(contract.Event) bool) *BoardListener {
	w := &BoardListener{board: b, match: match, events: make(chan contract.Event, 16)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[*BoardListener]struct{}{}
	}
	b.listeners[w] = struct{}{}
	return w
}

// Events returns the channel of matching events.
func (w *BoardListener) Events() <-chan contract.Event { return w.events }

// Close ends the subscription. The channel of News stays open and receives nothing more.
func (w *BoardListener) Close() {
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	delete(w.board.listeners, w)
}
