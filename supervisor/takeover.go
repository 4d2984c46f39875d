package supervisor

// This part of the package tracks an agent's session while a human has it: the phase of the takeover, what
// follows when it ends, and the report afterwards. It is pure: a method returns the next value, and the
// caller acts on it.

import (
	"cmp"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Takeover is a session that a human has, or will have, in a terminal. The agent has one process at a time: its
// own until Stopping is over, the terminal's from Opening to Closing, and none in between.
type Takeover struct {
	Since   time.Time
	Channel string // by which it was requested
	Stage   TakeoverStage
	Serial  int                 // of the expected inspection; 0: none
	Mark    *bridge.InspectMark // the state when it began
	Why     string              // why it ends, or ended
	Release string              // why the agent is released once its session is given back; empty: it is not
	Trouble []string            // what could not be inspected when it began
}

// TakeoverStage is the progress of a takeover.
type TakeoverStage string

// The stages, in their order.
const (
	TakeoverStopping   TakeoverStage = "stopping"   // the supervised process is being ended
	TakeoverInspecting TakeoverStage = "inspecting" // the state before it is recorded
	TakeoverOpening    TakeoverStage = "opening"    // the terminal is being opened
	TakeoverOpen       TakeoverStage = "open"
	TakeoverClosing    TakeoverStage = "closing" // the terminal's process is being ended
	TakeoverReading    TakeoverStage = "reading" // what was done is read
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
	GivenBack      = "the human gave it back"
	TakeoverHalted = "the human stopped everything"
	BridgeLost     = "the bridge was lost"
)

// BeginTakeover begins a takeover: the agent's own process is being stopped.
func BeginTakeover(now time.Time, channel string) Takeover {
	return Takeover{Since: now, Channel: channel, Stage: TakeoverStopping}
}

// HasProcess reports whether the terminal's process exists, or may exist.
func (t Takeover) HasProcess() bool {
	return t.Stage == TakeoverOpening || t.Stage == TakeoverOpen || t.Stage == TakeoverClosing
}

// Inspect waits for the inspection of the present state, before the terminal is opened.
func (t Takeover) Inspect(serial int) Takeover {
	t.Stage, t.Serial = TakeoverInspecting, serial
	return t
}

// Opens handles the result of that inspection: the terminal is being opened. If the inspection failed, the
// human gets the session all the same; the digest says so.
func (t Takeover) Opens(now time.Time, found bridge.InspectResult, failed string) Takeover {
	t.Mark, t.Trouble, t.Stage = found.Mark, found.Problems, TakeoverOpening
	if failed != "" || t.Mark == nil {
		t.Mark = &bridge.InspectMark{AtMS: now.UnixMilli(), Partial: true}
		t.Trouble = append(slices.Clip(t.Trouble), cmp.Or(failed, "the first state of the files could not be recorded"))
	}
	return t
}

// Opened records that the terminal is open, and reports whether that was expected: a terminal that is being
// closed already stays so.
func (t Takeover) Opened() (Takeover, bool) {
	if t.Stage != TakeoverOpening {
		return t, false
	}
	t.Stage = TakeoverOpen
	return t, true
}

// TakeoverNext is the next step to end a takeover.
type TakeoverNext int

// The next steps.
const (
	TakeoverWait  TakeoverNext = iota // its end follows
	TakeoverOver                      // there was no terminal yet: it is over
	CloseTerminal                     // the terminal's process has to be ended, even if that was tried already
)

// Close ends a takeover in any stage. The first reason is kept.
func (t Takeover) Close(why string) (Takeover, TakeoverNext) {
	t.Why = cmp.Or(t.Why, why)
	switch t.Stage {
	case TakeoverStopping, TakeoverReading:
		return t, TakeoverWait
	case TakeoverInspecting:
		return t, TakeoverOver
	}
	t.Stage = TakeoverClosing
	return t, CloseTerminal
}

// Left handles the end of the terminal's process; program says how it ended, if it failed.
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
	t.Stage, t.Serial = TakeoverReading, serial
	return t
}

// Lose handles the loss of the bridge and its terminal, and reports whether there is something to read once
// there is another bridge: not if the state before the takeover was not recorded.
func (t Takeover) Lose() (Takeover, bool) {
	if t.Mark == nil {
		return t, false
	}
	t.Why = cmp.Or(t.Why, BridgeLost)
	return t.Read(0), true
}

// ReleaseAfter makes the agent be released once its session is given back.
func (t Takeover) ReleaseAfter(reason string) Takeover {
	t.Release = reason
	return t
}
