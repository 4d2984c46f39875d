package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// State is everything that a run knows, grouped by subject. It is a value: Apply returns a new one and never
// changes the one it was given, so that any goroutine may read an old one. Slices are shared between versions
// and copied before they are written.
type State struct {
	Options runconfig.Options
	Budget  BudgetState
	Roster
	Conversation ConversationState
	Task         TaskState
	Rulings      RulingState
	Handoff      HandoffState
	Renewal      RenewalState
	Permission   input.PermissionState
	Changes      input.ChangeState
	RunState
	HumanState
}

// RunState follows the processes of the run, and its end.
type RunState struct {
	Lifecycle LifecycleState
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
	Open    []string      `json:",omitempty"` // what was open when the task was completed
	// InterruptedWork is the work that was interrupted when the run was stopped.
	InterruptedWork []string
	// Open questions and requests are asked again when the run is resumed.
	Question *Question
	Requests []input.PermissionRequest
}

// HumanState holds whether a human is present, what they are asked, and what they have stopped.
type HumanState struct {
	Question      QuestionState
	HumanPresent  bool // a human may answer
	HumanSpoke    bool
	NotifiedAlone bool // the Arbiter was told once that no human is present
	Paused        bool // by a human: nothing is sent
	Halted        bool // and no agent has a process
	Halts         int  // commands to halt that were carried out
}
