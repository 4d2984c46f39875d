package tui

import (
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// mailboxLimit is how many events may wait for the screen. Beyond it those that only
// narrate are left out, and counted: a run is never held by a face.
const mailboxLimit = 20_000

// queuedEvent is an event on its way to the history.
type queuedEvent struct {
	at    time.Time
	e     contract.Event
	again bool // it happened in an earlier life
}

// mailbox is what lies between the run's goroutine, which must not wait, and the pump.
type mailbox struct {
	mu      sync.Mutex
	queue   []queuedEvent
	bytes   int // of their texts, about
	dropped int
	wake    chan struct{} // capacity 1: there is something to take
	room    chan struct{} // capacity 1: something was taken
}

func newMailbox() *mailbox {
	return &mailbox{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// mailboxBytes bounds what the events that wait may hold.
const mailboxBytes = 32 << 20

// put is a supervisor.Sink: it never blocks.
func (m *mailbox) put(at time.Time, e contract.Event) { m.push(queuedEvent{at: at, e: e}) }

func (m *mailbox) push(t queuedEvent) {
	e := t.e
	size := weight(e.Body)
	m.mu.Lock()
	if (len(m.queue) >= mailboxLimit || m.bytes+size > mailboxBytes) && contract.Narrates(e.Body) {
		m.dropped++
	} else {
		m.queue = append(m.queue, t)
		m.bytes += size
	}
	m.mu.Unlock()
	hint(m.wake)
}

// recall puts an event in that is told again, and waits while there is no room. It
// reports false when cancel is closed.
func (m *mailbox) recall(cancel <-chan struct{}, at time.Time, e contract.Event) bool {
	for {
		m.mu.Lock()
		full := len(m.queue) >= mailboxLimit/2 || m.bytes > mailboxBytes/2
		m.mu.Unlock()
		if !full {
			m.push(queuedEvent{at: at, e: e, again: true})
			return true
		}
		select {
		case <-m.room:
		case <-cancel:
			return false
		}
	}
}

// take empties the mailbox, up to a number of events.
func (m *mailbox) take(most int) (batch []queuedEvent, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dropped > 0 && len(m.queue) < most {
		m.queue = append(m.queue, queuedEvent{at: time.Now(), e: contract.Event{ID: contract.Supervisor, Body: contract.Notice{
			Text: words.Count(m.dropped, "event") + " came faster than the screen could show, left out here",
		}}})
		m.dropped = 0
	}
	if len(m.queue) <= most {
		batch, m.queue, m.bytes = m.queue, nil, 0
	} else {
		batch = m.queue[:most:most]
		m.queue = m.queue[most:]
		for _, t := range batch {
			m.bytes -= weight(t.e.Body)
		}
		more = true
	}
	hint(m.room)
	return batch, more
}

// empty reports whether all was taken.
func (m *mailbox) empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue) == 0
}

func hint(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// weight is about what an event holds, in bytes.
func weight(b contract.Body) int {
	switch b := b.(type) {
	case contract.ToolResult:
		return len(b.Text)
	case contract.ToolUse:
		return len(b.Input)
	case contract.Assistant:
		return len(b.Text)
	case contract.Delta:
		return len(b.Text)
	case contract.Message:
		return len(b.Text)
	}
	return 0
}
