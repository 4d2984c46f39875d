package contract

import "encoding/json"

// Command is one thing a person or a script asks for: a line on stdin, or an
// act on the screen. Ref is echoed in `accepted` or `rejected`.
type Command struct {
	Ref  string
	Body CommandBody
}

// CommandBody is the sealed union of commands; CommandType is the `type` field.
type CommandBody interface{ CommandType() string }

// Strengths of a message while work continues.
const (
	Note  = "note"  // the next turn
	Steer = "steer" // folded into the running turn after the current tool
	Stop  = "stop"  // the running turn is interrupted first
)

type (
	// Say is a human's message: to the Arbiter, or to the agent named.
	Say struct {
		Text     string `json:"text"`
		To       string `json:"to,omitempty"`
		Strength string `json:"strength,omitempty"`
		// Images are paths of image files that go with the text; relative ones are relative to the run's directory.
		Images []string `json:"images,omitempty"`
		// Kept are the images as they were when the run took the message. The run fills it in.
		Kept []Image `json:"-"`
	}
	// Permit answers a permission_request. Scope: once (default), run or, with allow, always. With
	// run and always Rule says what else is allowed or denied by it; without one it is the same
	// action alone. Action, if it is given, must be the request's.
	Permit struct {
		Request  string `json:"request"`
		Behavior string `json:"behavior"`
		Scope    string `json:"scope,omitempty"`
		Rule     string `json:"rule,omitempty"`
		Action   string `json:"action,omitempty"`
		Message  string `json:"message,omitempty"`
	}
	// EditMessage changes a human's message that no agent was given yet.
	EditMessage struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
	}
	// WithdrawMessage takes one back.
	WithdrawMessage struct {
		MessageID string `json:"message_id"`
	}
	// Attach hands an agent's session to the human, in a terminal; Detach gives it back.
	Attach struct {
		ID string `json:"id"`
	}
	Detach struct {
		ID string `json:"id"`
	}
	// Halt stops every agent at once; the run stays, and continue starts them again.
	Halt struct{}
	// Interrupt stops the running turn of one agent, or of all.
	Interrupt struct {
		ID string `json:"id,omitempty"`
	}
	// Kill ends an agent.
	Kill struct {
		ID string `json:"id"`
	}
	// Pause holds all messages back; Continue lets them go.
	Pause    struct{}
	Continue struct{}
	// ForceAgent summons an Orchestrator under a mode.
	ForceAgent struct {
		Mode string `json:"mode"`
	}
	// SkipStep skips the plan's step at hand.
	SkipStep struct{}
	// RetryLast asks the last agent to try again.
	RetryLast struct{}
	// Reset releases the Orchestrators and returns to idle.
	Reset struct{}
	// SetPlan replaces the plan.
	SetPlan struct {
		Steps []Step `json:"steps"`
	}
	// SetAcceptance replaces the acceptance criteria, the Arbiter's too.
	SetAcceptance struct {
		Criteria []AcceptanceCriterion `json:"criteria"`
	}
	// Choose takes one of the options last offered.
	Choose struct {
		Option string `json:"option"`
	}
	// Configure changes one setting of the run: the model of one agent, or of all and of those
	// to come; how permissions are decided; a limit of costs; or it adds a permission rule.
	Configure struct {
		ID          string `json:"id,omitempty"` // with Model
		Model       string `json:"model,omitempty"`
		Permissions string `json:"permissions,omitempty"`
		Allow       string `json:"allow,omitempty"`
		Ask         string `json:"ask,omitempty"`
		Deny        string `json:"deny,omitempty"`
		// AcceptRisk goes with Permissions allow-all, which is refused without it.
		AcceptRisk bool `json:"i_accept_the_risk,omitempty"`
		// Limits of costs, in US dollars; nil: as it is, 0: none.
		MaxCost         *float64 `json:"max_cost,omitempty"`
		MaxCostPerAgent *float64 `json:"max_cost_per_agent,omitempty"`
		MaxCostPerDay   *float64 `json:"max_cost_per_day,omitempty"`
	}
	// Revert takes one change of the run back: a file, or with Hunk one place of it, becomes what it was when the
	// run began. Path is relative to the top of the work tree. Seen is the object of the contents that it is about.
	Revert struct {
		Path string `json:"path"`
		Seen string `json:"seen,omitempty"`
		Hunk string `json:"hunk,omitempty"`
	}
	// Cancel ends the run.
	Cancel struct{}
	// Malformed is a line that is no command; Problem says why. It is rejected.
	Malformed struct {
		Problem string          `json:"-"`
		Raw     json.RawMessage `json:"-"`
	}
)

func (Say) CommandType() string             { return "message" }
func (Permit) CommandType() string          { return "permission" }
func (Interrupt) CommandType() string       { return "interrupt" }
func (EditMessage) CommandType() string     { return "edit_message" }
func (WithdrawMessage) CommandType() string { return "withdraw_message" }
func (Attach) CommandType() string          { return "attach" }
func (Detach) CommandType() string          { return "detach" }
func (Halt) CommandType() string            { return "halt" }
func (Kill) CommandType() string            { return "kill" }
func (Pause) CommandType() string           { return "pause" }
func (Continue) CommandType() string        { return "continue" }
func (ForceAgent) CommandType() string      { return "force_agent" }
func (SetAcceptance) CommandType() string   { return "set_acceptance" }
func (SkipStep) CommandType() string        { return "skip_step" }
func (RetryLast) CommandType() string       { return "retry" }
func (Reset) CommandType() string           { return "reset" }
func (SetPlan) CommandType() string         { return "set_plan" }
func (Choose) CommandType() string          { return "choose" }
func (Configure) CommandType() string       { return "configure" }
func (Revert) CommandType() string          { return "revert" }
func (Cancel) CommandType() string          { return "cancel" }
func (Malformed) CommandType() string       { return "" }
