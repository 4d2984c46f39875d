package supervisor

import (
	"slices"

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

// Interrupted returns what is left of a run whose process has gone without an end: its agents ended with it, nobody
// works, and nothing can be answered until the run is resumed. The state itself stays as it is.
func (s *State) Interrupted() *State {
	left := *s
	left.Ending = &Ending{Status: contract.StatusInterrupted, Was: s.Task.Phase, Said: true}
	left.Agents = slices.Clone(s.Agents)
	for i, a := range left.Agents {
		if a.Alive() {
			ended := *a
			ended.Status, ended.ToolCall, ended.Takeover = AgentDown, nil, nil
			left.Agents[i] = &ended
		}
	}
	return &left
}

// WasInterrupted reports whether the run was stopped in the middle: in order, or because its process has gone without
// an end.
func (s *State) WasInterrupted() bool {
	return s.Ending != nil && s.Ending.Said && s.Ending.Status == contract.StatusInterrupted
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
