package supervisor

import (
	"encoding/json"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// DecisionState holds what is to be decided, by whom, and what was.
type DecisionState struct {
	Decisions       int              // rulings of the run, whoever made them
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

// Sources of a decision.
const (
	sourceSession  = string(decider.BySession)
	sourceFallback = string(decider.ByFallback)
	sourceHuman    = string(decider.ByHuman)
)

// Ruling is a decision as the ledger keeps it: what the next Arbiter must stand by.
type Ruling struct {
	At       time.Time
	Decision string
	To, Mode string
	Reason   string
	Source   string
}

// Stages of the Arbiter's renewal.
const (
	renewalNone  = ""
	renewalAsked = "asked" // it was asked for its document
	renewalGiven = "given" // it gave one, or one was drawn up; its successor is on the way
)

// maxFallbacks is how often in a row the rules may decide in an agent's place.
// Beyond it a dialogue would go on that nobody leads and somebody pays for.
const maxFallbacks = 2
