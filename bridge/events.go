package bridge

import (
	"encoding/json"
	"reflect"
)

// Event is a notification about one incarnation of an agent. On the wire, the body's
// fields are in the same object as id, generation and event.
type Event struct {
	AgentRef
	Body EventBody
}

// EventBody is the sealed union of what can happen to an agent.
type EventBody interface{ eventName() string }

// Usage counts tokens. Input counts those that were neither read from nor written to the cache.
type Usage struct {
	Input         int `json:"input_tokens"`
	Output        int `json:"output_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
}

// Plus adds two usages.
func (u Usage) Plus(o Usage) Usage {
	return Usage{Input: u.Input + o.Input, Output: u.Output + o.Output, CacheRead: u.CacheRead + o.CacheRead,
		CacheCreation: u.CacheCreation + o.CacheCreation}
}

// Assistant is a complete text of the main thread, or of a subagent.
type Assistant struct {
	Text       string  `json:"text"`
	ContextPct float64 `json:"context_pct"`
	MessageID  string  `json:"api_message,omitempty"`
	Subagent   string  `json:"subagent,omitempty"` // tool use id of the Agent call it belongs to
}

// Delta is a piece of text as it arrives (AgentConfig.Partial only). Verdict
// marks pieces of the verdict's JSON rather than prose.
type Delta struct {
	Text    string `json:"text"`
	Verdict bool   `json:"verdict,omitempty"`
}

// ToolUse is a tool call of the agent, or of one of its subagents.
type ToolUse struct {
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use"`
	Subagent string          `json:"subagent,omitempty"`
}

// ToolResult is the result of a tool call. Text is cut to ToolResultCap bytes on a rune border.
type ToolResult struct {
	ToolUse  string `json:"tool_use"`
	Text     string `json:"text"`
	IsError  bool   `json:"is_error,omitempty"`
	Subagent string `json:"subagent,omitempty"`
}

// ToolRan says that a tool ran with another input than its ToolUse names: a hook of the user's settings changed
// it. It comes when the call is over.
type ToolRan struct {
	Tool     string          `json:"tool"`
	ToolUse  string          `json:"tool_use"`
	Input    json.RawMessage `json:"input"` // that it ran with
	Subagent string          `json:"subagent,omitempty"`
}

// SubagentStart is the start of a blocking subagent.
type SubagentStart struct {
	Description string `json:"description"`
	ToolUse     string `json:"tool_use"`
	Type        string `json:"type,omitempty"`
}

// SubagentStop is the end of a blocking subagent. Status is the CLI's (completed, failed …).
type SubagentStop struct {
	Description string `json:"description"`
	ToolUse     string `json:"tool_use"`
	Status      string `json:"status,omitempty"`
	Tokens      int    `json:"tokens,omitempty"`
}

// SubagentProgress reports what a running subagent has used so far, and what it is doing.
type SubagentProgress struct {
	Description string  `json:"description"`
	ToolUse     string  `json:"tool_use"`
	Tokens      int     `json:"tokens"`    // current size of its own context
	ToolUses    int     `json:"tool_uses"` // calls so far
	LastTool    string  `json:"last_tool,omitempty"`
	CostUSD     float64 `json:"cost_usd,omitempty"` // so far, an estimate; 0: not known
	DurationMS  int64   `json:"duration_ms,omitempty"`
}

// Context is a new measurement of the main thread's context, one per API message.
type Context struct {
	Tokens int     `json:"tokens"`
	Window int     `json:"window"` // the effective window
	Pct    float64 `json:"pct"`
	// TurnsLeft is a forecast of the turns left before the critical level, at the
	// recent rate; 0: not known, or none.
	TurnsLeft int `json:"turns_left,omitempty"`
	// Source is stream, transcript, or cli (the CLI's own answer).
	Source string `json:"source,omitempty"`
}

// ContextWarning says that the agent's model was notified of a level (warn, critical).
type ContextWarning struct {
	Pct   float64 `json:"pct"`
	Level string  `json:"level"`
}

// Compact reports a compaction, or that a compaction was blocked.
type Compact struct {
	Trigger    string `json:"trigger"`
	Blocked    bool   `json:"blocked,omitempty"` // the compaction was blocked
	PreTokens  int    `json:"pre_tokens,omitempty"`
	PostTokens int    `json:"post_tokens,omitempty"`
}

// Turn reports the end of a turn. There is exactly one for each turn that a message started,
// even if the turn was interrupted or failed, or its process ended.
type Turn struct {
	Verdict json.RawMessage `json:"verdict,omitempty"` // absent: the model gave none
	// Oversize is the size of a verdict that is left out because it was larger than MaxVerdict.
	Oversize   int      `json:"oversize,omitempty"`
	Text       string   `json:"text,omitempty"` // the result text if there is no verdict, limited
	MessageIDs []string `json:"message_ids"`
	// Unread are the MessageIDs that the session did not receive because of an interrupt: its
	// model will never see them.
	Unread  []string `json:"unread,omitempty"`
	Usage   Usage    `json:"usage"`    // of this turn, including subagents
	CostUSD float64  `json:"cost_usd"` // of this turn, including subagents
	// CostUnknown says that nobody knows what the turn has cost: CostUSD is 0 then.
	CostUnknown bool  `json:"cost_unknown,omitempty"`
	NumTurns    int   `json:"num_turns,omitempty"`
	DurationMS  int64 `json:"duration_ms,omitempty"`
	// Outcome is one of the Turn… constants; Category and Error explain TurnFailed.
	Outcome  string   `json:"outcome"`
	Category Category `json:"category,omitempty"`
	Error    string   `json:"error,omitempty"`
	Reason   string   `json:"reason,omitempty"` // the CLI's terminal_reason
	// Tools counts the main thread's tool calls, except calls of Arbiter's own tools and the verdict.
	Tools int `json:"tools,omitempty"`
	// Failed is the main thread's last tool call, if it failed and no other call followed.
	Failed *FailedTool `json:"failed_tool,omitempty"`
	// Files are the files that editing tools wrote, including those of subagents, without repeats;
	// at most TurnFiles.
	Files []string `json:"files,omitempty"`
	// Models is the cost of the turn by model, including subagents; absent: not reported.
	Models []ModelCost `json:"models,omitempty"`
	// ResetsAt is when a usage limit ends (CatUsageLimit), in Unix seconds; 0: not reported.
	ResetsAt int64 `json:"resets_at,omitempty"`
	// Model and Window say which model refused a prompt as too long, and how many tokens it takes at most
	// (CatPromptTooLong); 0: the refusal did not say.
	Model  string `json:"model,omitempty"`
	Window int    `json:"window,omitempty"`
}

// ModelCost is what calls of one model have cost.
type ModelCost struct {
	Model   string  `json:"model"`
	CostUSD float64 `json:"cost_usd"`
	Usage   Usage   `json:"usage"`
	Window  int     `json:"window,omitempty"` // its context window in tokens; 0: not reported
}

// Limits of the texts of Turn, in bytes: more than a model writes in one answer.
// Text and Error are cut off.
const (
	MaxVerdict  = 512 << 10
	MaxTurnText = 4 << 20
)

// Spent reports the cost of the running turn so far, including subagents. It is the CLI's
// estimate, without the current API call. The turn event has the final cost.
type Spent struct {
	CostUSD float64 `json:"cost_usd"`
	Usage   Usage   `json:"usage"`
}

// Quota reports how much of a usage window of the account's plan is used up.
type Quota struct {
	Window   string  `json:"window"` // five_hour, seven_day …
	UsedPct  float64 `json:"used_pct"`
	ResetsAt int64   `json:"resets_at,omitempty"` // in Unix seconds; 0: not reported
}

// TurnFiles bounds Turn.Files.
const TurnFiles = 50

// FailedTool is a tool call that failed.
type FailedTool struct {
	Tool      string `json:"tool"`
	Attempted string `json:"attempted"`         // the command, path or pattern of the call, limited
	Command   string `json:"command,omitempty"` // the command of a Bash call, limited
	Message   string `json:"message"`           // its result, limited
	Denied    bool   `json:"denied,omitempty"`  // the call was not permitted
	InputSize int    `json:"input_size,omitempty"`
	Size      int    `json:"size,omitempty"` // size of the whole result, in bytes
}

// Tasks is the complete task list that an agent keeps for itself, whenever its task or todo tools
// have changed it. It has only the tasks of the main thread.
type Tasks struct {
	Items []Task `json:"items"`
}

// Task is one task of an agent's own list. Status is pending, in_progress or completed.
type Task struct {
	ID     string `json:"id,omitempty"`
	Text   string `json:"text"`
	Status string `json:"status"`
}

// Outcomes of a turn.
const (
	TurnDone        = "done"        // the model finished; look at Verdict
	TurnInterrupted = "interrupted" // by an interrupt
	TurnFailed      = "failed"      // API error, budget, refusal …
	TurnLost        = "lost"        // the process ended during the turn
)

// Delivered says that it is proven that the CLI received a message.
type Delivered struct {
	MessageID string `json:"message_id"`
	Proof     string `json:"proof"` // lifecycle, replay, result, transcript, or ProofWritten
}

// ProofWritten is the Proof of a message to a make that proves no delivery: it was written.
const ProofWritten = "written"

// Retry says that the CLI repeats a failed API request after a delay.
type Retry struct {
	Attempt    int    `json:"attempt"`
	MaxRetries int    `json:"max_retries,omitempty"`
	DelayMS    int64  `json:"delay_ms"`
	Status     int    `json:"status,omitempty"` // HTTP status; 0: none
	Reason     string `json:"reason"`
}

// Stderr is a line that the child process wrote to stderr, limited.
type Stderr struct {
	Text string `json:"text"`
}

// Notice reports an unexpected event that the driver handled: an unknown frame, an invalid
// line, an unanswered request. Each kind is reported once.
type Notice struct {
	Text string `json:"text"`
	// Frame is the type and subtype of a frame that the driver does not know and ignores; empty for other notices.
	Frame string `json:"frame,omitempty"`
}

// PTY is output of a terminal. `done` reports the end of its process.
type PTY struct {
	Data []byte `json:"data"` // base64
}

// Done is the last event of an incarnation: the process and everything that it started have ended.
type Done struct {
	SessionID string `json:"session_id"`
	Exit      Exit   `json:"exit"`
}

// Exit reports how a process ended.
type Exit struct {
	Code     int    `json:"code"`             // -1: ended by a signal
	Signal   string `json:"signal,omitempty"` // such as "killed"
	Expected bool   `json:"expected"`         // the bridge had asked the process to end
	Swept    int    `json:"swept,omitempty"`  // how many escaped descendants were killed
	Stderr   string `json:"stderr,omitempty"` // its last lines, limited
}

// Error is a problem that does not end a turn.
type Error struct {
	Category Category `json:"category"`
	Message  string   `json:"message"`
}

// Unknown is an event that this version does not know, or an event with a field of the wrong
// type: then Err says which. Raw is the whole object.
type Unknown struct {
	Name string
	Raw  json.RawMessage
	Err  error
}

func (Assistant) eventName() string        { return "assistant" }
func (Delta) eventName() string            { return "delta" }
func (ToolUse) eventName() string          { return "tool_use" }
func (ToolResult) eventName() string       { return "tool_result" }
func (ToolRan) eventName() string          { return "tool_ran" }
func (SubagentStart) eventName() string    { return "subagent_start" }
func (SubagentStop) eventName() string     { return "subagent_stop" }
func (SubagentProgress) eventName() string { return "subagent_progress" }
func (Context) eventName() string          { return "context" }
func (ContextWarning) eventName() string   { return "context_warning" }
func (Compact) eventName() string          { return "compact" }
func (Turn) eventName() string             { return "turn" }
func (Spent) eventName() string            { return "spent" }
func (Quota) eventName() string            { return "quota" }
func (Tasks) eventName() string            { return "tasks" }
func (Delivered) eventName() string        { return "delivered" }
func (Retry) eventName() string            { return "retry" }
func (Stderr) eventName() string           { return "stderr" }
func (Notice) eventName() string           { return "notice" }
func (PTY) eventName() string              { return "pty" }
func (Done) eventName() string             { return "done" }
func (Error) eventName() string            { return "error" }
func (u Unknown) eventName() string        { return u.Name }

// eventKinds lists all events: the decoder, the schema and the tests use it.
var eventKinds = []eventKind{
	kindOf[Assistant](), kindOf[Delta](), kindOf[ToolUse](), kindOf[ToolResult](), kindOf[ToolRan](),
	kindOf[SubagentStart](), kindOf[SubagentStop](), kindOf[SubagentProgress](), kindOf[Context](),
	kindOf[ContextWarning](), kindOf[Compact](), kindOf[Turn](), kindOf[Tasks](), kindOf[Spent](), kindOf[Quota](),
	kindOf[Delivered](),
	kindOf[Retry](), kindOf[Stderr](), kindOf[Notice](), kindOf[PTY](), kindOf[Done](), kindOf[Error](),
}

// EventBodies returns an empty body of each event except [Unknown].
func EventBodies() []EventBody {
	bodies := make([]EventBody, len(eventKinds))
	for i, k := range eventKinds {
		bodies[i] = reflect.Zero(k.typ).Interface().(EventBody)
	}
	return bodies
}
