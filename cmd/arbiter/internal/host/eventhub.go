package host

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Cursor is the reading position of one client. Only one goroutine uses it.
type Cursor struct {
	hub    *Hub
	place  uint64 // in the hub, of the last event read; 0: not kept there
	seq    uint64 // of that event
	pieces bool
	open   func() (*journal.EventLog, error)

	// from is where to continue in the event log, and logged is the number of the last event before that place.
	// counted is set when the first event of this process was passed.
	from    journal.LogPosition
	logged  uint64
	counted bool
}

// Cursor returns a cursor that reads the events after number seq, with the pieces of text between them if pieces is
// set. For events that the hub does not keep any more, the cursor opens the log at from, a position before the
// first event of this process.
func (h *Hub) Cursor(
	seq uint64,
	pieces bool,
	from journal.LogPosition,
	open func() (*journal.EventLog, error),
) *Cursor {
	return &Cursor{hub: h, place: h.find(seq), seq: seq, pieces: pieces, from: from, open: open}
}

// Next returns at most most lines, in the form of contract.EncodeLine but without the line feed. skipped is how
// many events before them are lost, because neither the hub nor the log has them. more reports whether there may be
// more to read.
func (c *Cursor) Next(ctx context.Context, most int) (lines []string, skipped uint64, more bool, err error) {
	list, kept, next, gone := c.hub.after(c.place, most)
	if gone && c.seq+1 < next {
		lines, err = c.logLines(ctx, most, next)
		if err != nil || len(lines) > 0 {
			return lines, 0, true, err
		}
		skipped = next - 1 - c.seq
	}
	if gone {
		c.place, c.seq = kept, next-1
		list, _, _, _ = c.hub.after(c.place, most)
	}
	for _, n := range list {
		c.place++
		if n.piece && !c.pieces {
			continue
		}
		line, err := n.line()
		if err != nil {
			return nil, skipped, false, fmt.Errorf("event %d: %w", n.seq, err)
		}
		lines = append(lines, line)
		c.seq = n.seq
	}
	return lines, skipped, len(list) > 0, nil
}

// logLines reads lines after the cursor from the log, up to the oldest event that the hub keeps.
func (c *Cursor) logLines(ctx context.Context, most int, oldest uint64) (lines []string, err error) {
	log, err := c.open()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	health, err := log.Each(ctx, c.from, func(e journal.LogEntry) error {
		if len(lines) == most {
			return journal.ErrEnough
		}
		if e.Line == nil {
			c.from = e.Next()
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			c.counted, c.logged = true, 0
		}
		if c.counted {
			if c.logged+1 >= oldest {
				return journal.ErrEnough
			}
			c.logged++
			if c.logged > c.seq {
				c.seq = c.logged
				lines = append(lines, string(e.Line))
			}
		}
		c.from = e.Next()
		return nil
	})
	if err == nil {
		c.from = health.Next
	}
	return lines, err
}

// HubKeep is the number of events in a hub: as many as a busy run emits in a few seconds.
const HubKeep = 4096

// Hub numbers the events of one process that plays a run like the event log, starting at 1, and keeps the last
// ones. Pieces of text that is still being written ([contract.Delta]) are not in the log: they have the number of
// the event before them, and a client that is behind does not get them. Its methods are safe for concurrent use and
// never block.
type Hub struct {
	mu       sync.Mutex
	events   []numbered // a ring: the event at place n is at n modulo its length
	place    uint64     // of the newest event; 0: none
	first    uint64     // place of the first event that the log counts
	last     uint64     // number of the newest event; 0: none
	watchers map[*HubWatch]struct{}
}

type numbered struct {
	seq   uint64
	piece bool
	*hubEncoded
}

// hubEncoded is an event, and its line once a client has asked for it: it is encoded once for all clients.
type hubEncoded struct {
	at    time.Time
	event contract.Event

	once sync.Once
	text string
	err  error
}

// line returns the encoded event without the line feed.
func (n numbered) line() (string, error) {
	n.once.Do(func() {
		line, err := contract.EncodeLine(nil, n.seq, n.at, n.event)
		n.text, n.err = string(bytes.TrimSuffix(line, []byte("\n"))), err
	})
	return n.text, n.err
}

// NewHub makes a hub that keeps keep events.
func NewHub(keep int) *Hub {
	return &Hub{events: make([]numbered, keep), watchers: map[*HubWatch]struct{}{}}
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
	h.place++
	if _, session := e.Body.(contract.Session); session || h.first == 0 {
		h.first, h.last = h.place, 0 // from here on the log counts the events of this process
	}
	_, piece := e.Body.(contract.Delta)
	if !piece {
		h.last++
	}
	h.events[h.place%uint64(len(h.events))] = numbered{h.last, piece, &hubEncoded{at: at, event: e}}
	h.hint()
}

// Hint wakes the watchers without an event, for example when the state has changed.
func (h *Hub) Hint() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hint()
}

// hint wakes the watchers. The caller holds mu.
func (h *Hub) hint() {
	for w := range h.watchers {
		backlog.Hint(w.c)
	}
}

// Last returns the number of the newest event; 0: none.
func (h *Hub) Last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// oldest returns the place of the oldest event that is kept. The caller holds mu.
func (h *Hub) oldest() uint64 {
	if keep := uint64(len(h.events)); h.place > h.first+keep-1 {
		return h.place - keep + 1
	}
	return max(h.first, 1)
}

func (h *Hub) at(place uint64) numbered { return h.events[place%uint64(len(h.events))] }

// find returns the place after which the events after number seq begin; 0: not all of them are kept.
func (h *Hub) find(seq uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	place := h.place
	for n := h.oldest(); n <= h.place; n++ {
		if x := h.at(n); !x.piece && x.seq > seq {
			if x.seq > seq+1 {
				return 0
			}
			return n - 1
		}
	}
	return place
}

// after copies at most most events after a place. gone reports that the first of them is not kept any more; then
// kept is the place after which the kept events begin, and next is the number of the first kept event.
func (h *Hub) after(place uint64, most int) (list []numbered, kept, next uint64, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if place >= h.place {
		return nil, 0, 0, false
	}
	if oldest := h.oldest(); place+1 < oldest {
		next = h.last + 1
		for n := oldest; n <= h.place; n++ {
			if x := h.at(n); !x.piece {
				next = x.seq
				break
			}
		}
		return nil, oldest - 1, next, true
	}
	for n := place + 1; n <= h.place && len(list) < most; n++ {
		list = append(list, h.at(n))
	}
	return list, 0, 0, false
}

// HubWatch signals that something has happened since the last receive.
type HubWatch struct {
	hub *Hub
	c   chan struct{} // capacity 1
}

// Watch starts watching; the caller closes it.
func (h *Hub) Watch() *HubWatch {
	w := &HubWatch{hub: h, c: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[w] = struct{}{}
	return w
}

// C returns a channel that has a value when something has happened.
func (w *HubWatch) C() <-chan struct{} { return w.c }

// Close stops the watch.
func (w *HubWatch) Close() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.hub.watchers, w)
}

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
