package decider

import (
	"encoding/json"

	"github.com/arbiter-cli/arbiter/supervisor/decision"
)

// Record is a decision with what it was made from, or the question before there is a decision.
type Record struct {
	Number int            // of the run's decisions, counted from 1; at a Decide effect, the one it will be
	Serial int            `json:",omitempty"` // of the question it answers; 0: it is only recorded
	Point  decision.Point // which question
	About  string         `json:",omitempty"` // whose document was judged, or who was chosen
	// Input is a decision.SelectAgentInput or EvaluateProgressInput; absent at PointTalk.
	Input    json.RawMessage `json:",omitempty"`
	Decision Decision
	// Failed says why there is no decision; Deferred that the Arbiter's session is to give it.
	Failed   string `json:",omitempty"`
	Deferred bool   `json:",omitempty"`
}
