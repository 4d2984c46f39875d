package verdict

// Decisions of the Arbiter.
const (
	AddressHuman        = "ADDRESS_HUMAN"
	AddressOrchestrator = "ADDRESS_ORCHESTRATOR"
	SelectMode          = "SELECT_MODE"
	Continue            = "CONTINUE"
	Retry               = "RETRY"
	Complete            = "COMPLETE"
	Handoff             = "HANDOFF"
)

// Kinds of an Orchestrator's verdict.
const (
	KindIntroduction = "introduction"
	KindQuestion     = "question"
	KindProgress     = "progress"
	KindHandoff      = "handoff"
	KindDone         = "done"
)

// Arbiter is the end of a turn of the Arbiter.
type Arbiter struct {
	Decision string    `json:"decision"`
	Message  string    `json:"message"`
	Reason   string    `json:"reason"`
	To       string    `json:"to,omitempty"`      // agent id
	Mode     string    `json:"mode,omitempty"`    // agent definition
	Summary  string    `json:"summary,omitempty"` // never empty with COMPLETE
	Report   *bool     `json:"report,omitempty"`  // with ADDRESS_HUMAN: whether no answer is expected; nil: not said
	Lessons  []Lesson  `json:"lessons,omitempty"` // with COMPLETE
	Assumed  []string  `json:"assumed,omitempty"` // what changes the result, and the human has not settled
	Handoff  *Document `json:"handoff,omitempty"`
}

// Lesson is something that later runs in the same workspace should know, according to the Arbiter.
type Lesson struct {
	Text     string `json:"text"`
	Evidence string `json:"evidence"`
}

// Orchestrator is the end of a turn of an Orchestrator.
type Orchestrator struct {
	ExpectsResponse bool      `json:"expects_response"`
	Message         string    `json:"message"`
	Kind            string    `json:"kind"`
	Handoff         *Document `json:"handoff,omitempty"`
}

// Problem is a verdict that cannot be acted on. Text is a correction addressed to the model; Field is the first
// field that is wrong, empty for the whole verdict.
type Problem struct {
	Field string
	Text  string
}

func (p *Problem) Error() string { return p.Text }
