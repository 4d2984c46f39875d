package decider

import (
	"encoding/json"
)

// Record is a decision with its input, or the question before there is a decision.
type Record struct {
	Number int           // of the run's decisions, counted from 1; at a Decide effect, the one it will be
	Serial int           `json:",omitempty"` // of the question it answers; 0: it is only recorded
	Point  DecisionPoint // which question
	About  string        `json:",omitempty"` // the agent whose document was judged, or who was chosen
	// Input is a SelectAgentInput or EvaluateProgressInput; absent at PointTalk.
	Input    json.RawMessage `json:",omitempty"`
	Decision Decision
	// Failed says why there is no decision; Deferred says that the Arbiter's session will give it.
	Failed   string `json:",omitempty"`
	Deferred bool   `json:",omitempty"`
}
