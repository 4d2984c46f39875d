package tui

import (
	"context"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// frame is the least time between two paints that outside events ask for. A key press
// paints at once.
const frame = 33 * time.Millisecond

// batchSize is how much is put into the history before one looks at the clock, so
// that a flood cannot keep the screen from being painted.
const batchSize = 200

// pump carries what happens outside to the screen: events into the history, and a
// word to tview's loop that there is something new. It alone does either.
type pump struct {
	box     *mailbox
	add     func(queuedEvent)
	changed func() <-chan struct{} // of the present run; nil without one
	again   chan struct{}          // capacity 1: another run, or another reason to look
	draw    func()                 // asks the loop to draw, and waits until it did
	motion  func() time.Duration   // until the next frame of an animation; 0: none
}

// run ends with ctx.
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

// flow paints until nothing more waits, one frame after the other.
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

// How many events may wait for the screen, and how many bytes of their texts. Beyond that, those
// that only narrate are left out, and counted: a run never waits for a frontend.
const (
	mailboxLimit = 20_000
	mailboxBytes = 32 << 20
)

// queuedEvent is an event on its way to the history.
type queuedEvent struct {
	at    time.Time
	e     contract.Event
	again bool // it happened in an earlier process run
}

// mailbox is the queue between the run's goroutine, which must not wait, and the pump.
type mailbox struct{ *backlog.Queue[queuedEvent] }

func newMailbox() *mailbox { return &mailbox{backlog.New[queuedEvent]()} }

// narration is how much may wait before an event that only narrates is left out; recalled, before
// an event of an earlier process run waits for room.
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

// recall puts in an event that is shown again, and waits while there is no room. It
// reports false when cancel is closed.
func (m *mailbox) recall(cancel <-chan struct{}, at time.Time, e contract.Event) bool {
	for {
		if items, bytes := m.Waiting(); items < recalled.Items && bytes <= recalled.Bytes {
			m.push(queuedEvent{at: at, e: e, again: true})
			return true
		}
		select {
		case <-m.Room():
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

// empty reports whether all was taken.
func (m *mailbox) empty() bool {
	items, _ := m.Waiting()
	return items == 0
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
