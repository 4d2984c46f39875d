package tui

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// pumped runs a pump over so many events, each of which takes the time each, until all are added, and
// returns the times of the frames.
func pumped(events int, each time.Duration) (frames []time.Time) {
	box := newMailbox()
	for range events {
		box.push(queuedEvent{e: contract.Event{Body: contract.Accepted{}}})
	}
	ctx, cancel := context.WithCancel(context.Background())
	added, all := 0, make(chan struct{})
	p := &pump{
		box: box, changed: func() <-chan struct{} { return nil }, again: make(chan struct{}, 1),
		motion: func() time.Duration { return 0 }, add: func(queuedEvent) {
			time.Sleep(each)
			if added++; added == events {
				close(all)
			}
		},
		draw: func() { frames = append(frames, time.Now()) },
	}
	var wg sync.WaitGroup
	wg.Go(func() { p.run(ctx) })
	<-all
	synctest.Wait() // the last frame is painted
	cancel()
	wg.Wait()
	return frames
}

// TestPumpKeepsUp: a burst of events, such as a resumed run of many megabytes, is processed as fast as
// possible, not in portions with each frame.
func TestPumpKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if frames := pumped(50_000, 10*time.Microsecond); time.Since(began) > 600*time.Millisecond {
			t.Errorf("events of 500 ms took %s and %d frames", time.Since(began), len(frames))
		}
	})
}

// TestPumpPaints: meanwhile frames are painted as often as usual, and not more often.
func TestPumpPaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frames := pumped(20_000, 50*time.Microsecond)
		for i := 1; i < len(frames); i++ {
			if gap := frames[i].Sub(frames[i-1]); gap < frame || gap > 2*frame {
				t.Errorf("frame %d came %s after the one before", i, gap)
			}
		}
		if len(frames) < 10 {
			t.Errorf("%d frames in a second", len(frames))
		}
	})
}
