package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/rulings"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// State is everything that a run knows, grouped by subject. It is a value: Apply returns a new one and never
// changes the one it was given, so that any goroutine may read an old one. Slices are shared between versions
// and copied before they are written.
type State struct {
	Options runconfig.Options
	Budget  budget.State
	roster.Roster
	Conversation conversation.State
	Task         task.State
	Rulings      rulings.State
	Handoff      handoff.State
	Renewal      renewal.State
	Permission   permission.State
	Changes      changes.State
	RunState
	HumanState
}

// RunState follows the processes of the run, and its end.
type RunState struct {
	Lifecycle lifecycle.State
	Ending    *Ending
}

// Ending is set once the run is over and its agents are being stopped.
type Ending struct {
	Status  string
	Summary string
	Exit    contract.Exit
	Said    bool          // `result` was said
	Records bool          // it waits for the last snapshot
	Was     machine.State // the phase of the task then
	// InterruptedWork is the work that was interrupted when the run was stopped.
	InterruptedWork []string
	// Open questions and requests are asked again when the run is resumed.
	Question *question.Question
	Requests []permission.Request
}

// HumanState holds whether a human is present, what they are asked, and what they have stopped.
type HumanState struct {
	Question      question.State
	HumanPresent  bool // a human may answer
	HumanSpoke    bool
	NotifiedAlone bool // the Arbiter was told once that no human is present
	Paused        bool // by a human: nothing is sent
	Halted        bool // and no agent has a process
	Halts         int  // commands to halt that were carried out
}
