// Package eventhub keeps the latest events of a run for its clients. A client reads at its own
// pace with a [Cursor]: one that is slow, stuck or gone costs the run nothing, because what the
// hub has let go of is read from the run's event log.
package eventhub

import (
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Keep is how many events a hub keeps: as many as a busy run emits in some seconds.
const Keep = 4096

// Hub numbers the events of one process that plays a run as the event log does, from 1 on, and
// keeps the last ones. Its methods are safe for concurrent use and never block.
type Hub struct {
	mu       sync.Mutex
	events   []numbered // a ring: the event with number n is at n modulo its length
	last     uint64     // number of the newest event; 0: none
	watchers map[*Watch]struct{}
}

type numbered struct {
	seq uint64
	at  time.Time
	e   contract.Event
}

// New makes a hub that keeps so many events.
func New(keep int) *Hub {
	return &Hub{events: make([]numbered, keep), watchers: map[*Watch]struct{}{}}
}

// Sink passes every event on to next and keeps it.
func (h *Hub) Sink(next runloop.Sink) runloop.Sink {
	return func(at time.Time, e contract.Event) {
		h.publish(at, e)
		next(at, e)
	}
}

func (h *Hub) publish(at time.Time, e contract.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, session := e.Body.(contract.Session); session {
		h.last = 0 // the log counts the events of a process from here
		clear(h.events)
	}
	h.last++
	h.events[h.last%uint64(len(h.events))] = numbered{h.last, at, e}
	h.hint()
}

// Hint wakes the watchers without an event, for example when the state has changed.
func (h *Hub) Hint() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hint()
}

// hint needs mu.
func (h *Hub) hint() {
	for w := range h.watchers {
		select {
		case w.c <- struct{}{}:
		default:
		}
	}
}

// Last is the number of the newest event; 0: none.
func (h *Hub) Last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// after copies at most so many events behind a number. Gone reports that the first of them is not
// kept any more; oldest is then the number of the oldest that is.
func (h *Hub) after(seq uint64, most int) (list []numbered, oldest uint64, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq >= h.last {
		return nil, 0, false
	}
	oldest = 1
	if keep := uint64(len(h.events)); h.last > keep {
		oldest = h.last - keep + 1
	}
	if seq+1 < oldest {
		return nil, oldest, true
	}
	for n := seq + 1; n <= h.last && len(list) < most; n++ {
		list = append(list, h.events[n%uint64(len(h.events))])
	}
	return list, oldest, false
}

// Watch tells that something has happened since it was last received from.
type Watch struct {
	hub *Hub
	c   chan struct{} // capacity 1
}

// Watch begins to watch; the caller closes it.
func (h *Hub) Watch() *Watch {
	w := &Watch{hub: h, c: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[w] = struct{}{}
	return w
}

// C has a value when something has happened.
func (w *Watch) C() <-chan struct{} { return w.c }

// Close ends it.
func (w *Watch) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}
