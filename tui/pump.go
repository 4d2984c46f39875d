package tui

import (
	"context"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// frame is the minimum time between two paints for events of the run. A key press paints at once.
const frame = 33 * time.Millisecond

// batchSize is how many events are added to the history between two checks of the clock, so that a flood
// cannot keep the screen from being painted.
const batchSize = 200

// pump passes what happens outside to the screen: it adds events to the history, and notifies tview's loop
// of changes. Only the pump does either.
type pump struct {
	box     *mailbox
	add     func(queuedEvent)
	changed func() <-chan struct{} // of the current run; nil without one
	again   chan struct{}          // capacity 1: there is another run, or another reason to check
	draw    func()                 // makes the loop draw, and waits until it did
	motion  func() time.Duration   // until the next frame of an animation; 0: none
}

// run runs until ctx ends.
func (p *pump) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if d := p.motion(); d > 0 {
			timer.Reset(d)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-p.box.Wake():
		case <-p.changed():
		case <-p.again:
		case <-timer.C:
		}
		if !p.flow(ctx) {
			return
		}
	}
}

// flow paints until no more events wait, one frame after the other.
func (p *pump) flow(ctx context.Context) bool {
	for {
		began := time.Now()
		more := true
		for more && time.Since(began) < frame {
			var batch []queuedEvent
			batch, more = p.box.take(batchSize)
			for _, t := range batch {
				p.add(t)
			}
		}
		p.draw()
		rest := time.NewTimer(frame - time.Since(began))
		select {
		case <-ctx.Done():
			rest.Stop()
			return false
		case <-rest.C:
		}
		if !more {
			return true
		}
	}
}

// How many events may wait for the screen, and how many bytes of their texts. Beyond that, events that only
// narrate are dropped, and counted: a run never waits for a frontend.
const (
	mailboxLimit = 20_000
	mailboxBytes = 32 << 20
)

// queuedEvent is an event on its way to the history.
type queuedEvent struct {
	at    time.Time
	e     contract.Event
	again bool // it happened in an earlier process
}

// mailbox is the queue between the run's goroutine, which must not wait, and the pump.
type mailbox struct{ *backlog.Queue[queuedEvent] }

func newMailbox() *mailbox { return &mailbox{backlog.New[queuedEvent]()} }

// narration is how much may wait before an event that only narrates is dropped; recalled, before an event
// of an earlier process waits for room.
var (
	narration = backlog.Limit{Items: mailboxLimit, Bytes: mailboxBytes}
	recalled  = backlog.Limit{Items: mailboxLimit / 2, Bytes: mailboxBytes / 2}
)

// put is a supervisor.Sink: it never blocks.
func (m *mailbox) put(at time.Time, e contract.Event) { m.push(queuedEvent{at: at, e: e}) }

func (m *mailbox) push(t queuedEvent) {
	var limit backlog.Limit
	if contract.Narrates(t.e.Body) {
		limit = narration
	}
	m.Put(t, weight(t.e.Body), limit)
}

// recall adds an event that is shown again, and waits while there is no room. It returns false if cancel is
// closed.
func (m *mailbox) recall(cancel <-chan struct{}, at time.Time, e contract.Event) bool {
	for {
		if items, bytes := m.Waiting(); items < recalled.Items && bytes <= recalled.Bytes {
			m.push(queuedEvent{at: at, e: e, again: true})
			return true
		}
		select {
		case <-m.Taken():
		case <-cancel:
			return false
		}
	}
}

// take empties the mailbox, up to a number of events.
func (m *mailbox) take(most int) (batch []queuedEvent, more bool) {
	batch, dropped, more := m.Take(most)
	if dropped > 0 {
		batch = append(batch, queuedEvent{at: time.Now(),
			e: contract.Event{ID: contract.Supervisor, Body: contract.Notice{
				Text: words.Count(dropped, "event") + " came faster than the screen could show, left out here",
			}}})
	}
	return batch, more
}

// empty reports whether no event waits.
func (m *mailbox) empty() bool {
	items, _ := m.Waiting()
	return items == 0
}

// weight estimates the size of an event's content, in bytes.
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
