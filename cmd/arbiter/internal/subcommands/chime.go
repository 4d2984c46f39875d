package subcommands

// This part of the package computes short sounds for a person who is not watching the screen (one when a run
// waits for an answer, one for each way a run can end) and plays them one at a time. A [Chime] never blocks
// its caller.

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
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

// rate is the number of samples per second: 16 bits, mono.
const rate = 22050

// note is a tone that begins at a time and fades away. Times are in seconds, the frequency in hertz.
type note struct{ at, frequency, length float64 }

// cues are the sounds: two rising notes ask, three make a chord of what is done, two falling ones report a failure.
var cues = [...][]note{
	ChimeAsked:  {{0, 587.33, 0.5}, {0.16, 880, 0.7}},
	ChimeDone:   {{0, 392, 0.9}, {0.12, 493.88, 0.9}, {0.24, 587.33, 1.1}},
	ChimeFailed: {{0, 440, 0.5}, {0.2, 329.63, 0.8}},
}

// wave computes a sound as a WAV file.
func wave(notes []note) []byte {
	end := 0.0
	for _, n := range notes {
		end = math.Max(end, n.at+n.length)
	}
	sum := make([]float64, int(end*rate))
	for _, n := range notes {
		for i := int(n.at * rate); i < len(sum); i++ {
			t := float64(i)/rate - n.at
			if t > n.length {
				break
			}
			// A soft attack, then the decay of a bell; two overtones make it sound like one.
			loud := math.Min(t/0.008, 1) * math.Exp(-5*t/n.length) * math.Min((n.length-t)/0.02, 1)
			angle := 2 * math.Pi * n.frequency * t
			sum[i] += loud * (math.Sin(angle) + 0.35*math.Sin(2.01*angle) + 0.12*math.Sin(3.98*angle))
		}
	}
	const loudest = 0.25 // of full scale
	peak := 1e-9
	for _, v := range sum {
		peak = math.Max(peak, math.Abs(v))
	}
	var b bytes.Buffer
	b.WriteString("RIFF")
	size := uint32(2 * len(sum))
	for _, v := range []any{36 + size, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate),
		uint32(2 * rate), uint16(2), uint16(16), []byte("data"), size} {
		_ = binary.Write(&b, binary.LittleEndian, v) // a buffer accepts everything
	}
	for _, v := range sum {
		_ = binary.Write(&b, binary.LittleEndian, int16(v/peak*loudest*math.MaxInt16))
	}
	return b.Bytes()
}
