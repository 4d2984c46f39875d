package supervisor

import (
	"encoding/json"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
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
	Budget  budget.State
	roster.Roster
	Conversation conversation.State
	Task         task.State
	DecisionState
	Handoff handoff.State
	SuccessionState
	Permission permission.State
	Changes    changes.State
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
	Was     machine.State // where the task stood
	// HalfDone is what was being done when the run was stopped.
	HalfDone []string
	// What was open is asked again when the run is taken up again.
	Question *Question
	Requests []permission.Request
}

// HumanState holds what the human is asked, and what they have stopped.
type HumanState struct {
	HumanPresent    bool // somebody may answer
	HumanSpoke      bool
	NotifiedAlone   bool // the Arbiter was told once that no human is present
	Question        *Question
	Questions       int      `json:",omitempty"` // put to the human so far
	RecoveryOptions []string // recovery options of the last error, until one is taken
	FailedAgent     string   // whose error it was
	FailureText     string   `json:",omitempty"` // what it said, cut
	Paused          bool     // by a human: nothing is sent
	Halted          bool     // and nobody has a process
	Halts           int      // commands to halt that were taken
}

// Question waits for a human. It may have several parts: the human's next word is an answer to all of them.
type Question struct {
	Text     string // of all parts
	At       time.Time
	Arbiter  bool           `json:",omitempty"` // asked some of it, and is to read the answer; else the supervisor did
	Recalled bool           `json:",omitempty"` // the Arbiter was told that it completes over it
	Parts    []QuestionPart `json:",omitempty"` // oldest first
}

// QuestionPart is one of the questions that wait for a human.
type QuestionPart struct {
	Number  int    // of the run's questions, counted from 1
	Kind    string `json:",omitempty"`
	Text    string
	At      time.Time
	Arbiter bool     `json:",omitempty"` // asked it
	For     []string `json:",omitempty"` // Orchestrators that waited for a word when it was put
}

// QuestionAcceptance is the kind of a question what to do about a COMPLETE that was rejected too often.
const QuestionAcceptance = "acceptance"

// DecisionState holds what is to be decided, by whom, and what was.
type DecisionState struct {
	Decisions       int              // rulings of the run, by all deciders
	ArbiterRequest  *DecisionRequest // what the Arbiter was shown with the message it rules on
	Readings        []Reading        // what it has taken up since it last ruled, oldest first
	DeciderRequest  *DecisionRequest // what another decider is asked
	DeciderRequests int              // put to it so far
	DeciderYielded  bool             // that one leaves it to the Arbiter
	Unrecorded      []input.Decided  // decisions that are not recorded yet
	FallbackReason  string           // why the rules decide in the Arbiter's place; empty: they do not
	Rulings         []Ruling         // the ledger of decisions, oldest first
}

// DecisionRequest is a question of the task machine's as it was put.
type DecisionRequest struct {
	Serial int `json:",omitempty"` // of the questions to the run's decider
	Point  decision.Point
	About  string // whose document is judged
	Input  json.RawMessage
	Heard  []string `json:",omitempty"` // messages that had ended executions by then

	Select   decision.SelectAgentInput
	Evaluate decision.EvaluateProgressInput `json:",omitzero"` // at PointEvaluate
}

// Ruling is a decision as the ledger keeps it: what the next Arbiter must stand by.
type Ruling struct {
	At       time.Time
	Decision string
	To, Mode string
	Reason   string
	Source   string
}

// SuccessionState follows the renewal of the Arbiter.
type SuccessionState struct {
	RenewalStage        string // stage of the Arbiter's renewal
	Renewals            int    // of the Arbiter so far
	GeneratedInRow      int    // of them, in a row, those without a document of its own
	RulingsSinceRenewal int    // rulings since the last renewal
	ShortRenewals       int    // renewals in a row that were due again at once
}

// Stages of the Arbiter's renewal.
const (
	renewalNone  = ""
	renewalAsked = "asked" // it was asked for its document
	renewalGiven = "given" // it gave one, or one was drawn up; its successor is on the way
)

// Reading is a message that the Arbiter's session has taken up since it last ruled, as it
// was sent: what the next ruling is made from, beside the conversation before it.
type Reading struct{ Message, Content string }

// Sources of a decision.
const (
	sourceSession  = string(decider.BySession)
	sourceFallback = string(decider.ByFallback)
	sourceHuman    = string(decider.ByHuman)
)
