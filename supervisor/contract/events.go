package contract

import (
	"encoding/json"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Version is the `v` of every event line.
const Version = 1

// Ids that are not agents.
const (
	Human      = "human"
	Supervisor = "supervisor"
	Arbiter    = "arbiter"
)

// Event is one thing that scripts, screens and the log are told. ID says whom it
// is about: `arbiter`, `orch-1`, `human`, `supervisor`.
type Event struct {
	ID   string
	Body Body
}

// Body is the sealed union of events; EventName is the `event` field.
type Body interface{ EventName() string }

type (
	// Session is the first line: session = the run's id.
	Session struct {
		Session       string `json:"session"`
		CWD           string `json:"cwd"`
		Resumed       bool   `json:"resumed"`
		ClaudeVersion string `json:"claude_version"`
		Claude        string `json:"claude"`
		Rehearsal     bool   `json:"rehearsal,omitempty"`
		StandIn       bool   `json:"stand_in,omitempty"` // no real CLI underneath
		Scenario      string `json:"scenario,omitempty"`
		Trusted       bool   `json:"trusted"`
		Permissions   string `json:"permissions"`
		// Sandbox is what confines the agents: bubblewrap, or unsandboxed.
		Sandbox       string `json:"sandbox"`
		SandboxReason string `json:"sandbox_reason,omitempty"` // why there is none
		Version       string `json:"version"`                  // arbiter's own
		Log           string `json:"log,omitempty"`
	}
	// State is a move of the task machine.
	State struct {
		From    string `json:"from"`
		To      string `json:"to"`
		Trigger string `json:"trigger"`
	}
	// Spawn announces a new agent; SessionID is Claude's.
	Spawn struct {
		Name        string `json:"name"`
		Mode        string `json:"mode,omitempty"`
		Prompt      string `json:"prompt"`
		SessionID   string `json:"session_id"`
		Generation  int    `json:"generation"`
		SuccessorOf string `json:"successor_of,omitempty"`
		Resumed     bool   `json:"resumed,omitempty"` // another process on the same session
	}
	// Message is something one party says to another.
	Message struct {
		MessageID string `json:"message_id"`
		From      string `json:"from"`
		To        string `json:"to"`
		Kind      string `json:"kind"`
		Text      string `json:"text"`
		Edited    bool   `json:"edited,omitempty"` // said before, with another text
		// The sender's session and generation, if an agent is the sender.
		SessionID  string `json:"session_id,omitempty"`
		Generation int    `json:"generation,omitempty"`
	}
	// Delivered says the CLI proved to have taken a message up.
	Delivered struct {
		MessageID string `json:"message_id"`
		From      string `json:"from,omitempty"`
		// The reader's session and generation, and which of all its deliveries this is.
		SessionID  string `json:"session_id,omitempty"`
		Generation int    `json:"generation,omitempty"`
		Sequence   int    `json:"sequence,omitempty"`
	}
	// Assistant is prose of an agent's main thread or of its subagent.
	Assistant struct {
		Text       string  `json:"text"`
		ContextPct float64 `json:"context_pct"`
		Subagent   string  `json:"subagent,omitempty"` // tool_use of the call that started it
	}
	// Delta is a piece of text as it arrives; screens only.
	Delta struct {
		Text    string `json:"text"`
		Verdict bool   `json:"verdict,omitempty"`
	}
	// ToolUse is a call of one of Claude's tools.
	ToolUse struct {
		Tool     string          `json:"tool"`
		Input    json.RawMessage `json:"input"`
		ToolUse  string          `json:"tool_use,omitempty"`
		Subagent string          `json:"subagent,omitempty"`
	}
	// ToolResult ends it.
	ToolResult struct {
		ToolUse  string `json:"tool_use"`
		Text     string `json:"text"`
		IsError  bool   `json:"is_error,omitempty"`
		Subagent string `json:"subagent,omitempty"`
	}
	// ToolCall is a call of one of arbiter's own tools.
	ToolCall struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	// SubagentStart and SubagentStop frame a subagent's life.
	SubagentStart struct {
		Description string `json:"description"`
		ToolUse     string `json:"tool_use,omitempty"` // of the call that started it
		Type        string `json:"type,omitempty"`
	}
	SubagentStop struct {
		Description string `json:"description"`
		ToolUse     string `json:"tool_use,omitempty"`
		Status      string `json:"status,omitempty"`
		Tokens      int    `json:"tokens,omitempty"`
	}
	// SubagentProgress is what a running subagent has used, and does.
	SubagentProgress struct {
		Description string  `json:"description"`
		ToolUse     string  `json:"tool_use"`
		Tokens      int     `json:"tokens"`
		ToolUses    int     `json:"tool_uses"`
		LastTool    string  `json:"last_tool,omitempty"`
		CostUSD     float64 `json:"cost_usd,omitempty"`
		DurationMS  int64   `json:"duration_ms,omitempty"`
	}
	// Turn ends an agent's turn.
	Turn struct {
		Usage      bridge.Usage `json:"usage"`
		CostUSD    float64      `json:"cost_usd"`
		Outcome    string       `json:"outcome"`
		MessageIDs []string     `json:"message_ids"`
	}
	// Context is a new reading, against the effective window.
	Context struct {
		Tokens    int     `json:"tokens"`
		Window    int     `json:"window"`
		Pct       float64 `json:"pct"`
		TurnsLeft int     `json:"turns_left,omitempty"`
		Source    string  `json:"source,omitempty"`
	}
	// ContextWarning is a level reached.
	ContextWarning struct {
		Pct   float64 `json:"pct"`
		Level string  `json:"level"`
	}
	// Compact is a compaction that happened, or was kept from happening.
	Compact struct {
		Trigger    string `json:"trigger"`
		Blocked    bool   `json:"blocked,omitempty"`
		PreTokens  int    `json:"pre_tokens,omitempty"`
		PostTokens int    `json:"post_tokens,omitempty"`
	}
	// Check is a check of a hand-off document that the supervisor has run.
	Check struct {
		Number  int             `json:"number"` // in the document, counted from 1
		Of      int             `json:"of"`
		Receipt verdict.Receipt `json:"receipt"`
	}
	// Handoff passes a document on: to the successor, to the Arbiter when done, or
	// from one Arbiter to the next.
	Handoff struct {
		From     string            `json:"from"`
		To       string            `json:"to"`
		Document *verdict.Document `json:"document"`
		Receipts []verdict.Receipt `json:"receipts,omitempty"` // of its checks, in their order
		Proofs   []string          `json:"proofs,omitempty"`   // of its claims, in their order
		// DrawnUp says why the supervisor wrote it in the author's place; empty: it did not.
		DrawnUp string `json:"drawn_up,omitempty"`
	}
	// Decision is a ruling, and who made it.
	Decision struct {
		Decision string  `json:"decision"`
		Mode     string  `json:"mode,omitempty"`
		To       string  `json:"to,omitempty"`
		Reason   string  `json:"reason"`
		Source   string  `json:"source"`
		Number   int     `json:"number,omitempty"` // of the run's decisions, counted from 1
		Point    string  `json:"point,omitempty"`  // select, evaluate, talk
		CostUSD  float64 `json:"cost_usd,omitempty"`
		// Warnings are what went wrong before: why the rules decided.
		Warnings []string `json:"warnings,omitempty"`
	}
	// Plan is the whole plan after a change, and what agents have set themselves.
	Plan struct {
		Steps []Step  `json:"steps"`
		Tasks []Tasks `json:"tasks,omitempty"`
	}
	// PermissionRequest waits for a `permission` command.
	PermissionRequest struct {
		Request  string          `json:"request"`
		Tool     string          `json:"tool"`
		Input    json.RawMessage `json:"input"`
		Subagent string          `json:"subagent,omitempty"`
		Reason   string          `json:"reason,omitempty"`
		// Action is the SHA-256 of the exact action, in hexadecimal: what an answer is for.
		Action string `json:"action"`
		// Suggestions are rules that cover it, narrow ones first, for an answer of scope
		// run or always.
		Suggestions []string `json:"suggestions,omitempty"`
	}
	// Permission is how one was decided; By is Human or one of the constants beside [DecidedBy].
	Permission struct {
		Request  string `json:"request"`
		Behavior string `json:"behavior"`
		By       string `json:"by"`
		Tool     string `json:"tool,omitempty"`
		Rule     string `json:"rule,omitempty"`
		Action   string `json:"action,omitempty"`
		Scope    string `json:"scope,omitempty"` // of a human's allow
		Reason   string `json:"reason,omitempty"`
		Subagent string `json:"subagent,omitempty"`
	}
	// Takeover says that a human has an agent's session in a terminal, or gave it back.
	Takeover struct {
		State  string   `json:"state"` // began, open, ended, failed
		Reason string   `json:"reason,omitempty"`
		Words  int      `json:"words,omitempty"`  // messages of the human's in it
		Files  []string `json:"files,omitempty"`  // that were changed meanwhile
		Digest string   `json:"digest,omitempty"` // that the Arbiter is given
	}
	// Withdrawn says that a message was taken back by the human before it was sent.
	Withdrawn struct {
		MessageID string `json:"message_id"`
	}
	// Halted says that everything was stopped at once.
	Halted struct {
		By string `json:"by"` // the channel it came by: stdin, screen, socket
	}
	// Question waits for a human's `message`.
	Question struct {
		Text string `json:"text"`
	}
	// Accepted and Rejected answer a command.
	Accepted struct {
		Ref     string `json:"ref,omitempty"`
		Message string `json:"message"`
	}
	Rejected struct {
		Ref     string `json:"ref,omitempty"`
		Message string `json:"message"`
	}
	// Retry is API trouble being waited out, by the CLI or by us.
	Retry struct {
		Attempt int    `json:"attempt"`
		DelayMS int64  `json:"delay_ms"`
		Reason  string `json:"reason"`
	}
	// Restart is a process started again.
	Restart struct {
		Attempt int    `json:"attempt"`
		DelayMS int64  `json:"delay_ms"`
		Reason  string `json:"reason"`
	}
	// Error is trouble a person should know of, with what can be done.
	Error struct {
		Category        bridge.Category `json:"category"`
		Message         string          `json:"message"`
		RecoveryOptions []string        `json:"recovery_options"`
	}
	// Notice is something met and survived.
	Notice struct {
		Text string `json:"text"`
	}
	// Done ends an agent.
	Done struct {
		SessionID string `json:"session_id"`
		Reason    string `json:"reason"`
	}
	// Result is the last line.
	Result struct {
		Status     string       `json:"status"` // complete, failed, cancelled, needs_input, limit
		Summary    string       `json:"summary"`
		CostUSD    float64      `json:"cost_usd"`
		Usage      bridge.Usage `json:"usage"`
		Iterations int          `json:"iterations"`
		DurationMS int64        `json:"duration_ms"`
		Crashes    int          `json:"crashes"`
		Session    string       `json:"session"`
		Rehearsal  bool         `json:"rehearsal,omitempty"`
		Checks     *Checks      `json:"checks,omitempty"`
		HalfDone   []string     `json:"half_done,omitempty"` // what was being done when the run was stopped
	}
)

// Checks counts what the checks of the last `done` came to when the supervisor ran them.
type Checks struct {
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Unproven int `json:"unproven"` // not run, or their end tells nothing
}

// Step is one step of the plan.
type Step struct {
	Text   string `json:"text"`
	Status string `json:"status"`          // pending, active, done, failed, skipped
	Agent  string `json:"agent,omitempty"` // who works, or worked, on it
	Mode   string `json:"mode,omitempty"`  // the mode it is meant for
}

// Tasks is an agent's own list, kept with Claude's task or todo tools.
type Tasks struct {
	Agent string `json:"agent"`
	Items []Step `json:"items"` // pending, active or done
}

// Statuses of a step.
const (
	StepPending = "pending"
	StepActive  = "active"
	StepDone    = "done"
	StepFailed  = "failed"
	StepSkipped = "skipped"
)

// Statuses of a result.
const (
	StatusComplete   = "complete"
	StatusFailed     = "failed"
	StatusCancelled  = "cancelled"
	StatusNeedsInput = "needs_input"
	StatusLimit      = "limit"
)

func (Session) EventName() string           { return "session" }
func (State) EventName() string             { return "state" }
func (Spawn) EventName() string             { return "spawn" }
func (Message) EventName() string           { return "message" }
func (Delivered) EventName() string         { return "delivered" }
func (Assistant) EventName() string         { return "assistant" }
func (Delta) EventName() string             { return "delta" }
func (ToolUse) EventName() string           { return "tool_use" }
func (ToolResult) EventName() string        { return "tool_result" }
func (ToolCall) EventName() string          { return "tool_call" }
func (SubagentStart) EventName() string     { return "subagent_start" }
func (SubagentStop) EventName() string      { return "subagent_stop" }
func (Turn) EventName() string              { return "turn" }
func (SubagentProgress) EventName() string  { return "subagent_progress" }
func (Context) EventName() string           { return "context" }
func (ContextWarning) EventName() string    { return "context_warning" }
func (Compact) EventName() string           { return "compact" }
func (Check) EventName() string             { return "check" }
func (Handoff) EventName() string           { return "handoff" }
func (Decision) EventName() string          { return "decision" }
func (Plan) EventName() string              { return "plan" }
func (PermissionRequest) EventName() string { return "permission_request" }
func (Permission) EventName() string        { return "permission" }
func (Takeover) EventName() string          { return "takeover" }
func (Withdrawn) EventName() string         { return "withdrawn" }
func (Halted) EventName() string            { return "halted" }
func (Question) EventName() string          { return "question" }
func (Accepted) EventName() string          { return "accepted" }
func (Rejected) EventName() string          { return "rejected" }
func (Retry) EventName() string             { return "retry" }
func (Restart) EventName() string           { return "restart" }
func (Error) EventName() string             { return "error" }
func (Notice) EventName() string            { return "notice" }
func (Done) EventName() string              { return "done" }
func (Result) EventName() string            { return "result" }
