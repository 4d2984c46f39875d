package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// State is all that a run knows, in parts by what it is about. It is a value: apply
// returns a new one and never changes the one it was given, so that any goroutine may
// read an old one. Slices are shared between versions and copied before they are written.
type State struct {
	Options runconfig.Options
	ClockState
	roster.Roster
	Conversation conversation.State
	Task         task.State
	DecisionState
	Handoff handoff.State
	SuccessionState
	Permission permission.State
	LifecycleState
	HumanState
	SpendingState
}

// ClockState says when the run and its processes began, and gives messages their ids.
type ClockState struct {
	Began          time.Time
	ProcessBegan   time.Time     // of this process
	LastAt         time.Time     // of the last fact that counts
	EarlierRuntime time.Duration // of earlier processes
	ProcessRuns    int           // processes so far
	MessageCount   int           // messages so far; their ids derive from it
	MessageSalt    string        // and from this, of the present life
}
