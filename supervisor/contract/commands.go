package contract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

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

// MarshalCommand returns the line of a command, without a newline. A Malformed has
// no such line.
func MarshalCommand(c Command) ([]byte, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("marshal command: no body")
	}
	if m, ok := c.Body.(Malformed); ok {
		return nil, fmt.Errorf("marshal command: the line was not a valid command: %s", m.Problem)
	}
	if plan, ok := c.Body.(SetPlan); ok && plan.Steps == nil {
		c.Body = SetPlan{Steps: []Step{}}
	}
	if a, ok := c.Body.(SetAcceptance); ok && a.Criteria == nil {
		c.Body = SetAcceptance{Criteria: []AcceptanceCriterion{}}
	}
	fields, err := jsonl.Marshal(c.Body)
	if err != nil {
		return nil, fmt.Errorf("marshal command %s: %w", c.Body.CommandType(), err)
	}
	out := append([]byte(nil), `{"type":`...)
	out = AppendQuoted(out, c.Body.CommandType())
	if c.Ref != "" {
		out = append(out, `,"ref":`...)
		out = AppendQuoted(out, c.Ref)
	}
	if len(fields) > len("{}") {
		out = append(out, ',')
		return AppendSafe(out, fields[1:]), nil
	}
	return append(out, '}'), nil
}

// TooLarge says why a command is too large; empty: it is not.
func TooLarge(b CommandBody) string {
	size := 0
	switch b := b.(type) {
	case Say:
		size = len(b.Text)
	case EditMessage:
		size = len(b.Text)
	case Permit:
		size = len(b.Message)
	case SetPlan:
		for _, s := range b.Steps {
			size += len(s.Text)
		}
	case SetAcceptance:
		for _, c := range b.Criteria {
			size += len(c.Text) + len(c.Command)
		}
	}
	if size <= MaxCommandText {
		return ""
	}
	return fmt.Sprintf("the text is too large: it has %s bytes, the limit is %s; %s", words.Number(size),
		words.Number(MaxCommandText), SmallerText)
}

// SmallerText says what to do with a text that is too large.
const SmallerText = "put it into files of the workspace, and say which to read"

// MaxCommandText bounds the text of a command, in bytes. It is more than most models can read at once. A larger
// text is sent to no agent.
const MaxCommandText = 1 << 20

// MaxImages is how many images a message takes.
const MaxImages = 10

// Image is an image of a message, as it was when the message was accepted. Its contents are kept in the run's
// directory, under their hash.
type Image struct {
	Path      string `json:"path"` // of the file that it was read from
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"` // image/png, image/jpeg, image/gif or image/webp
	Bytes     int    `json:"bytes"`
	Width     int    `json:"width"` // in pixels
	Height    int    `json:"height"`
}

// Size describes an image in short: `640×480 png`.
func (i Image) Size() string {
	return fmt.Sprintf("%d×%d %s", i.Width, i.Height, strings.TrimPrefix(i.MediaType, "image/"))
}
