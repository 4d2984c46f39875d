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

// Document is the typed hand-off: what an agent knew when it stopped. JSON names are part of the contract. All
// of it is the author's statement until it is checked.
type Document struct {
	Accomplished  []string   `json:"accomplished" jsonschema:"what was finished, one item a line"`
	Remaining     []string   `json:"remaining" jsonschema:"what is left to do; empty when nothing is"`
	KeyContext    string     `json:"key_context" jsonschema:"what a successor must know and cannot see in the files"`
	Decisions     []Decision `json:"decisions" jsonschema:"choices made, with what was rejected and why"`
	Constraints   []string   `json:"constraints" jsonschema:"limits and requirements that still hold, with their numbers"`
	Files         []string   `json:"files" jsonschema:"paths created or changed"`
	Checks        []Check    `json:"checks" jsonschema:"commands that prove the work, run by somebody else"`
	OpenQuestions []string   `json:"open_questions" jsonschema:"what nobody has answered yet"`
	Claims        []Claim    `json:"claims" jsonschema:"statements about the result; verified only if you saw the proof"`
	Steps         []Step     `json:"steps,omitempty" jsonschema:"of a planner: the plan, with who does each step"`
}

// Step is a step of a plan. Mode is the agent that it is for; empty: any.
type Step struct {
	Text string `json:"text"`
	Mode string `json:"mode,omitempty"`
}

// Left is what is left to do: the remaining work, or if none is named, the steps.
func (d *Document) Left() []string {
	if len(d.Remaining) > 0 {
		return d.Remaining
	}
	var texts []string
	for _, s := range d.Steps {
		texts = append(texts, s.Text)
	}
	return texts
}

// Decision records a choice with the rejected alternative.
type Decision struct {
	Choice   string `json:"choice"`
	Rejected string `json:"rejected"`
	Why      string `json:"why"`
}

// Check is a command and what its output or exit code must show.
type Check struct {
	Command string `json:"command"`
	Expect  string `json:"expect"`
}

// Claim is one statement; Verified is the author's own statement. Check is the number of the check that proves
// it, counted from 1; 0: none.
type Claim struct {
	Claim    string `json:"claim"`
	Verified bool   `json:"verified"`
	Check    int    `json:"check,omitempty"`
}
