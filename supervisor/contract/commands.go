package contract

import "encoding/json"

// Command is a command of a human or a script: a line on stdin, or an
// action on the screen. Ref is echoed in `accepted` or `rejected`.
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
	// Say is a message of the human to the Arbiter, or to the agent in To.
	Say struct {
		Text     string `json:"text"`
		To       string `json:"to,omitempty"`
		Strength string `json:"strength,omitempty"`
		// Images are paths of image files that go with the text; relative ones are relative to the run's directory.
		Images []string `json:"images,omitempty"`
		// Kept are the images as they were when the run accepted the message. The run sets it.
		Kept []Image `json:"-"`
	}
	// Permit answers a permission_request. Scope: once (default), run or, with allow only, always. With run
	// and always, Rule is the rule that the answer adds; without a Rule, the answer covers only the same
	// action. Action, if given, must be the request's.
	Permit struct {
		Request  string `json:"request"`
		Behavior string `json:"behavior"`
		Scope    string `json:"scope,omitempty"`
		Rule     string `json:"rule,omitempty"`
		Action   string `json:"action,omitempty"`
		Message  string `json:"message,omitempty"`
	}
	// EditMessage changes a human's message that was not sent to an agent yet.
	EditMessage struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
	}
	// WithdrawMessage withdraws such a message.
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
	// Halt stops every agent at once. The run stays open, and continue starts the agents again.
	Halt struct{}
	// Interrupt stops the running turn of one agent, or of all.
	Interrupt struct {
		ID string `json:"id,omitempty"`
	}
	// Kill ends an agent.
	Kill struct {
		ID string `json:"id"`
	}
	// Pause holds back all messages; Continue sends messages again, and starts halted agents.
	Pause    struct{}
	Continue struct{}
	// ForceAgent spawns an Orchestrator with a mode.
	ForceAgent struct {
		Mode string `json:"mode"`
	}
	// SkipStep skips the current step of the plan.
	SkipStep struct{}
	// RetryLast asks the last agent to try again.
	RetryLast struct{}
	// Reset releases the Orchestrators and returns to idle.
	Reset struct{}
	// SetPlan replaces the plan.
	SetPlan struct {
		Steps []Step `json:"steps"`
	}
	// SetAcceptance replaces all acceptance criteria, including the Arbiter's.
	SetAcceptance struct {
		Criteria []AcceptanceCriterion `json:"criteria"`
	}
	// Choose chooses one of the options that were offered last.
	Choose struct {
		Option string `json:"option"`
	}
	// Configure changes one setting of the run: the model of one agent, or of all agents including later ones;
	// how permissions are decided; or a cost limit. Or it adds a permission rule.
	Configure struct {
		ID          string `json:"id,omitempty"` // with Model
		Model       string `json:"model,omitempty"`
		Permissions string `json:"permissions,omitempty"`
		Allow       string `json:"allow,omitempty"`
		Ask         string `json:"ask,omitempty"`
		Deny        string `json:"deny,omitempty"`
		// AcceptRisk goes with Permissions allow-all, which is refused without it.
		AcceptRisk bool `json:"i_accept_the_risk,omitempty"`
		// Cost limits, in US dollars; nil: unchanged, 0: no limit.
		MaxCost         *float64 `json:"max_cost,omitempty"`
		MaxCostPerAgent *float64 `json:"max_cost_per_agent,omitempty"`
		MaxCostPerDay   *float64 `json:"max_cost_per_day,omitempty"`
	}
	// Revert reverts one change of the run: a file, or with Hunk one hunk of it, becomes what it was when the run
	// began. Path is relative to the top of the work tree. Seen is the Git object of the contents to revert.
	Revert struct {
		Path string `json:"path"`
		Seen string `json:"seen,omitempty"`
		Hunk string `json:"hunk,omitempty"`
	}
	// Cancel ends the run.
	Cancel struct{}
	// Malformed is a line that is not a valid command; Problem says why. It is rejected.
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
