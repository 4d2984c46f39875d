// Package takeover tracks an agent's session while a human has it: the phase of the takeover, what follows when it
// ends, and the report afterwards. It is pure: a method returns the next value, and the caller acts on it.
package takeover

import (
	"cmp"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Takeover is a session that a human has, or is about to have, in a terminal. The agent has
// one process at a time: its own until Stopping is over, the terminal's from Opening to
// Closing, and none between.
type Takeover struct {
	Since   time.Time
	Channel string // by which it was asked for
	Stage   Stage
	Serial  int                 // of the inspection that is awaited; 0: none is
	Mark    *bridge.InspectMark // how things stood when it began
	Why     string              // it ends, or ended
	Release string              // why the agent is let go once it is given back; empty: it is not
	Trouble []string            // what could not be inspected when it began
}

// Stage is how far a takeover has got.
type Stage string

// The stages, in their order.
const (
	Stopping   Stage = "stopping"   // the supervised process is being ended
	Inspecting Stage = "inspecting" // how things stand is noted
	Opening    Stage = "opening"    // the terminal is being opened
	Open       Stage = "open"
	Closing    Stage = "closing" // the terminal's process is being ended
	Reading    Stage = "reading" // what was done is read
)

// States of the takeover event.
const (
	StateBegan  = "began"
	StateOpen   = "open"
	StateEnded  = "ended"
	StateFailed = "failed"
)

// Reasons for the end of a takeover.
const (
	GivenBack  = "the human gave it back"
	Halted     = "the human stopped everything"
	BridgeLost = "the bridge was lost"
)

// Begin begins a takeover: the agent's own process is being stopped.
func Begin(now time.Time, channel string) Takeover {
	return Takeover{Since: now, Channel: channel, Stage: Stopping}
}

// HasProcess reports whether the terminal's process is there, or may be.
func (t Takeover) HasProcess() bool {
	return t.Stage == Opening || t.Stage == Open || t.Stage == Closing
}

// Inspect waits for the inspection of how things stand, before the terminal is opened.
func (t Takeover) Inspect(serial int) Takeover {
	t.Stage, t.Serial = Inspecting, serial
	return t
}

// Opens takes what the inspection found: the terminal is being opened. That nothing could be
// noted does not keep the human from the session; the digest says so.
func (t Takeover) Opens(now time.Time, found bridge.InspectResult, failed string) Takeover {
	t.Mark, t.Trouble, t.Stage = found.Mark, found.Trouble, Opening
	if failed != "" || t.Mark == nil {
		t.Mark = &bridge.InspectMark{AtMS: now.UnixMilli(), Partial: true}
		t.Trouble = append(slices.Clip(t.Trouble), cmp.Or(failed, "how things stood at first could not be noted"))
	}
	return t
}

// Opened takes the news that the terminal is there, and reports whether it was awaited: one
// that is being closed already stays so.
func (t Takeover) Opened() (Takeover, bool) {
	if t.Stage != Opening {
		return t, false
	}
	t.Stage = Open
	return t, true
}

// Next is what has to happen for a takeover to end.
type Next int

// What is next.
const (
	Wait          Next = iota // its end is on the way
	Over                      // there was no terminal yet: it is over
	CloseTerminal             // the terminal's process has to be ended, also where that was tried already
)

// Close ends a takeover, whatever its stage. The first reason given stays.
func (t Takeover) Close(why string) (Takeover, Next) {
	t.Why = cmp.Or(t.Why, why)
	switch t.Stage {
	case Stopping, Reading:
		return t, Wait
	case Inspecting:
		return t, Over
	}
	t.Stage = Closing
	return t, CloseTerminal
}

// Left takes the end of the terminal's process; program says how it ended, where that was not
// in order.
func (t Takeover) Left(program string) Takeover {
	why := "the human left it"
	if program != "" {
		why = "the terminal's program ended: " + program
	}
	t.Why = cmp.Or(t.Why, why)
	return t
}

// Read waits for the inspection of what was done.
func (t Takeover) Read(serial int) Takeover {
	t.Stage, t.Serial = Reading, serial
	return t
}

// Lose takes the loss of the bridge, and with it of the terminal, and reports whether there
// is something to be read once there is another bridge: not where nothing was noted at first.
func (t Takeover) Lose() (Takeover, bool) {
	if t.Mark == nil {
		return t, false
	}
	t.Why = cmp.Or(t.Why, BridgeLost)
	return t.Read(0), true
}

// ReleaseAfter has the agent let go once its session is given back.
func (t Takeover) ReleaseAfter(reason string) Takeover {
	t.Release = reason
	return t
}
