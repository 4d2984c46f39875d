package main

import (
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// board lets others than the face hear what a run says, as long as they care to. It
// never holds the run.
type board struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// listener hears the events that fit. Those that nobody took are lost beyond its room.
type listener struct {
	board *board
	fits  func(contract.Event) bool // on the run's goroutine: it only looks
	heard chan contract.Event
}

// telling is a place where tests make a run's goroutine stand still.
var telling = func() {}

// sink notes every event on its way to a face.
func (b *board) sink(next supervisor.Sink) supervisor.Sink {
	return func(at time.Time, e contract.Event) {
		telling()
		b.tell(e)
		next(at, e)
	}
}

func (b *board) tell(e contract.Event) {
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

// watch hears from now on; the caller closes it.
func (b *board) watch(fits func(contract.Event) bool) *listener {
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
