package tui

import (
	"context"
	"time"
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
		case <-p.box.wake:
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
