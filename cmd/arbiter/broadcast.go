package main

import (
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// broadcaster lets others than the frontend hear what a run says, as long as they care to. It
// never holds the run.
type broadcaster struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// listener hears the events that fit. Those that nobody took are lost beyond its room.
type listener struct {
	board *broadcaster
	fits  func(contract.Event) bool // on the run's goroutine: it only looks
	heard chan contract.Event
}

// broadcasting is a place where tests make a run's goroutine stand still.
var broadcasting = func() {}

// sink notes every event on its way to a frontend.
func (b *broadcaster) sink(next runloop.Sink) runloop.Sink {
	return func(at time.Time, e contract.Event) {
		broadcasting()
		b.publish(e)
		next(at, e)
	}
}

func (b *broadcaster) publish(e contract.Event) {
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

// subscribe hears from now on; the caller closes it.
func (b *broadcaster) subscribe(fits func(contract.Event) bool) *listener {
	w := &listener{board: b, fits: fits, heard: make(chan contract.Event, 16)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners == nil {
		b.listeners = map[*listener]struct{}{}
	}
	b.listeners[w] = struct{}{}
	return w
}

func (w *listener) close() {
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	delete(w.board.listeners, w)
}
