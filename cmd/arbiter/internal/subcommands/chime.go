package subcommands

// This part of the package computes short sounds for a person who is not watching the screen (one when a run
// waits for an answer, one for each way a run can end) and plays them one at a time. A [Chime] never blocks
// its caller.

import (
	"context"
	"os"
	"sync"
	"time"
)

// Cue is what a sound means.
type Cue int

// The cues.
const (
	ChimeAsked  Cue = iota // the person must answer
	ChimeDone              // a run is complete
	ChimeFailed            // a run has ended without being complete
)

// longest is the maximum time that a player may take.
const longest = 3 * time.Second

// Chime plays cues, one at a time. Its methods are safe for concurrent use.
type Chime struct {
	play   func(ctx context.Context, file string) error
	cues   chan Cue
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once
}

// NewChime makes a chime that plays sounds with play, which must return when its context ends. The owner of the chime
// closes it.
func NewChime(play func(ctx context.Context, file string) error) *Chime {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Chime{play: play, cues: make(chan Cue, 1), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for ctx.Err() == nil { // otherwise a waiting cue could be played after Close
			select {
			case cue := <-c.cues:
				_ = c.sound(ctx, cue) // the error is ignored: the screen shows the same
			case <-ctx.Done():
				return
			}
		}
	}()
	return c
}

// Play plays a cue. It drops the cue if one is playing and another waits.
func (c *Chime) Play(cue Cue) {
	select {
	case c.cues <- cue:
	default:
	}
}

// Close stops the sound that is playing and waits for its end.
func (c *Chime) Close() {
	c.once.Do(c.cancel)
	<-c.done
}

// sound writes the sound to a private file and plays it.
func (c *Chime) sound(ctx context.Context, cue Cue) error {
	f, err := os.CreateTemp("", "arbiter-sound-*.wav")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(wave(cues[cue]))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	return c.play(ctx, f.Name())
}
