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

// BriefCompany is the heading under which a brief ends in a note about others in the same working tree. What stands
// before it is the brief's own text.
const BriefCompany = "\n\n## You are not alone"

// Event is one thing that scripts, screens and the log receive. ID says whom it
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
		CWD           string `json:"cwd" jsonschema:"The working directory."`
		Resumed       bool   `json:"resumed" jsonschema:"The run was taken up again."`
		ClaudeVersion string `json:"claude_version" jsonschema:"The CLI's version."`
		Claude        string `json:"claude" jsonschema:"Path of the CLI."`
		Rehearsal     bool   `json:"rehearsal,omitempty"`
		StandIn       bool   `json:"stand_in,omitempty" jsonschema:"A stand-in ran instead of the CLI."`
		Scenario      string `json:"scenario,omitempty" jsonschema:"The scripted scenario."`
		Trusted       bool   `json:"trusted" jsonschema:"The workspace's own settings are loaded."`
		Permissions   string `json:"permissions" jsonschema:"How permissions are decided."`
		Sandbox       string `json:"sandbox" jsonschema:"What confines the agents: bubblewrap, or unsandboxed."`
		SandboxReason string `json:"sandbox_reason,omitempty" jsonschema:"Why there is no sandbox."`
		Version       string `json:"version" jsonschema:"Arbiter's own version."`
		Log           string `json:"log,omitempty" jsonschema:"Path of the log file."`
	}
	// State is a move of the task machine.
	State struct {
		From    string `json:"from" jsonschema:"The state left."`
		To      string `json:"to" jsonschema:"The state entered."`
		Trigger string `json:"trigger" jsonschema:"What moved it."`
	}
	// Spawn announces a new agent; SessionID is Claude's.
	Spawn struct {
		Name        string `json:"name" jsonschema:"How the agent is called, such as Orchestrator I."`
		Mode        string `json:"mode,omitempty"`
		Prompt      string `json:"prompt" jsonschema:"The brief."`
		SessionID   string `json:"session_id"`
		Generation  int    `json:"generation" jsonschema:"Counts the processes started under this id."`
		SuccessorOf string `json:"successor_of,omitempty" jsonschema:"The agent whose work it takes up."`
		Resumed     bool   `json:"resumed,omitempty" jsonschema:"Another process takes the agent's session up."`
		Host        string `json:"host,omitempty" jsonschema:"The host it lives on; absent: the one that arbiter runs on."`
	}
	// Message is something one party says to another.
	Message struct {
		MessageID  string  `json:"message_id"`
		From       string  `json:"from" jsonschema:"The sender's id."`
		To         string  `json:"to"`
		Kind       string  `json:"kind" jsonschema:"What kind of message it is, such as task, brief, question, progress."`
		Text       string  `json:"text"`
		Images     []Image `json:"images,omitempty" jsonschema:"The images that go with the text."`
		Edited     bool    `json:"edited,omitempty" jsonschema:"It was said before, with another text, and not sent yet."`
		SessionID  string  `json:"session_id,omitempty" jsonschema:"Claude's session id of the sender; absent: no agent sent it."`
		Generation int     `json:"generation,omitempty" jsonschema:"The sender's generation."`
	}
	// Delivered says the CLI proved to have taken a message up.
	Delivered struct {
		MessageID  string `json:"message_id"`
		From       string `json:"from,omitempty" jsonschema:"The id of who sent it."`
		SessionID  string `json:"session_id,omitempty" jsonschema:"Claude's session id of the process that read it."`
		Generation int    `json:"generation,omitempty" jsonschema:"The generation that read it."`
		Sequence   int    `json:"sequence,omitempty" jsonschema:"Counts what was delivered to this id, from 1."`
	}
	// Assistant is prose of an agent's main thread or of its subagent.
	Assistant struct {
		Text       string  `json:"text"`
		ContextPct float64 `json:"context_pct" jsonschema:"Percent of the effective window in use."`
		Subagent   string  `json:"subagent,omitempty"` // tool_use of the call that started it
	}
	// Delta is a piece of text as it arrives; screens only.
	Delta struct {
		Text    string `json:"text"`
		Verdict bool   `json:"verdict,omitempty" jsonschema:"The text is part of a verdict's JSON."`
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
		Text     string `json:"text" jsonschema:"The result, bounded."`
		IsError  bool   `json:"is_error,omitempty" jsonschema:"The tool failed."`
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
		Type        string `json:"type,omitempty" jsonschema:"The kind of agent that was started."`
	}
	SubagentStop struct {
		Description string `json:"description"`
		ToolUse     string `json:"tool_use,omitempty"`
		Status      string `json:"status,omitempty" jsonschema:"How the subagent ended."`
		Tokens      int    `json:"tokens,omitempty" jsonschema:"Of its own context, at the end; absent: not told."`
	}
	// SubagentProgress is what a running subagent has used, and does.
	SubagentProgress struct {
		Description string  `json:"description"`
		ToolUse     string  `json:"tool_use"`
		Tokens      int     `json:"tokens" jsonschema:"Of the subagent's own context."`
		ToolUses    int     `json:"tool_uses" jsonschema:"Tools it has called."`
		LastTool    string  `json:"last_tool,omitempty" jsonschema:"The tool it called last."`
		CostUSD     float64 `json:"cost_usd,omitempty"`
		DurationMS  int64   `json:"duration_ms,omitempty" jsonschema:"Milliseconds since it was started."`
	}
	// Turn ends an agent's turn.
	Turn struct {
		Usage      bridge.Usage `json:"usage"`
		CostUSD    float64      `json:"cost_usd"`
		Models     []ModelCost  `json:"models,omitempty" jsonschema:"By model, subagents included; absent: not told."`
		Outcome    string       `json:"outcome" jsonschema:"done, interrupted, failed or lost."`
		MessageIDs []string     `json:"message_ids" jsonschema:"The messages the turn answered."`
	}
	// Cost is what an agent's running turn has cost so far.
	Cost struct {
		CostUSD    float64      `json:"cost_usd" jsonschema:"Of the running turn so far, subagents included: an estimate, which the end of the turn replaces."`
		Usage      bridge.Usage `json:"usage" jsonschema:"Tokens of the running turn so far, subagents included."`
		RunCostUSD float64      `json:"run_cost_usd" jsonschema:"Of the whole run so far, all running turns included: what --max-cost bounds."`
	}
	// Context is a new reading, against the effective window.
	Context struct {
		Tokens    int     `json:"tokens" jsonschema:"Tokens in use."`
		Window    int     `json:"window" jsonschema:"The effective window, in tokens."`
		Pct       float64 `json:"pct"`
		TurnsLeft int     `json:"turns_left,omitempty" jsonschema:"How many turns fit before the critical level, by the recent pace."`
		Source    string  `json:"source,omitempty" jsonschema:"stream, transcript, or cli (its own answer)."`
	}
	// ContextWarning is a level reached.
	ContextWarning struct {
		Pct   float64 `json:"pct"`
		Level string  `json:"level" jsonschema:"The level reached."`
	}
	// Compact is a compaction that happened, or was kept from happening.
	Compact struct {
		Trigger    string `json:"trigger" jsonschema:"auto or manual."`
		Blocked    bool   `json:"blocked,omitempty" jsonschema:"It was kept from happening."`
		PreTokens  int    `json:"pre_tokens,omitempty" jsonschema:"Tokens before it."`
		PostTokens int    `json:"post_tokens,omitempty" jsonschema:"Tokens of the messages after it."`
	}
	// Check is a check of a hand-off document that the supervisor has run.
	Check struct {
		Number  int             `json:"number" jsonschema:"Which check of the document, counted from 1."`
		Of      int             `json:"of" jsonschema:"How many it has."`
		Receipt verdict.Receipt `json:"receipt" jsonschema:"The command, its exit code, the hash and size of its output, and what that proves."`
		Again   bool            `json:"again,omitempty" jsonschema:"It is one of the checks of all documents of the task, which are run once more before COMPLETE takes effect; number and of count those."`
		Agents  []string        `json:"agents,omitempty" jsonschema:"If it then failed: who last changed its files."`
	}
	// Handoff passes a document on: to the successor, to the Arbiter when done, or
	// from one Arbiter to the next.
	Handoff struct {
		From     string            `json:"from" jsonschema:"The author's id."`
		To       string            `json:"to"`
		Document *verdict.Document `json:"document" jsonschema:"The hand-off document, the author's word."`
		Receipts []verdict.Receipt `json:"receipts,omitempty" jsonschema:"What came of its checks when the supervisor ran them, in their order."`
		Proofs   []string          `json:"proofs,omitempty" jsonschema:"Of each claim: verified, unverified or refuted."`
		DrawnUp  string            `json:"drawn_up,omitempty" jsonschema:"Why the supervisor wrote it in the author's place."`
	}
	// Decision is a ruling, and who made it.
	Decision struct {
		Decision string   `json:"decision" jsonschema:"The ruling."`
		Mode     string   `json:"mode,omitempty"`
		To       string   `json:"to,omitempty"`
		Reason   string   `json:"reason"`
		Source   string   `json:"source" jsonschema:"session, model, rules, cache, fallback or human."`
		Number   int      `json:"number,omitempty" jsonschema:"Of the run's decisions, counted from 1: arbiter decide --explain shows it."`
		Point    string   `json:"point,omitempty" jsonschema:"select: which agent works next; evaluate: what follows from what was done; talk: any other turn."`
		CostUSD  float64  `json:"cost_usd,omitempty" jsonschema:"What the decision itself has cost, where a model was asked for it alone."`
		Warnings []string `json:"warnings,omitempty" jsonschema:"What went wrong on the way: why the rules decided."`
	}
	// Plan is the whole plan after a change, and what agents have set themselves.
	Plan struct {
		Steps []Step  `json:"steps"`
		Tasks []Tasks `json:"tasks,omitempty" jsonschema:"What agents keep in their own task lists."`
	}
	// PermissionRequest waits for a `permission` command.
	PermissionRequest struct {
		Request     string          `json:"request"`
		Tool        string          `json:"tool"`
		Input       json.RawMessage `json:"input"`
		Subagent    string          `json:"subagent,omitempty"`
		Reason      string          `json:"reason,omitempty"`
		Action      string          `json:"action"`
		Suggestions []string        `json:"suggestions,omitempty" jsonschema:"Rules that cover it, narrow ones first, for an answer of scope run or always."`
	}
	// Permission is how one was decided; By is Human or one of the constants beside [DecidedBy].
	Permission struct {
		Request  string `json:"request"`
		Behavior string `json:"behavior" jsonschema:"The answer."`
		By       string `json:"by"`
		Tool     string `json:"tool,omitempty"`
		Rule     string `json:"rule,omitempty" jsonschema:"The rule that decided."`
		Action   string `json:"action,omitempty"`
		Scope    string `json:"scope,omitempty" jsonschema:"Of a human's answer: once, run or always."`
		Reason   string `json:"reason,omitempty"`
		Subagent string `json:"subagent,omitempty"`
	}
	// Takeover says that a human has an agent's session in a terminal, or gave it back.
	Takeover struct {
		State  string   `json:"state" jsonschema:"began: its process is being stopped; open: the terminal is there; ended: given back; failed."`
		Reason string   `json:"reason,omitempty"`
		Words  int      `json:"words,omitempty" jsonschema:"Messages of the human's in it."`
		Files  []string `json:"files,omitempty" jsonschema:"Files that were changed meanwhile."`
		Digest string   `json:"digest,omitempty" jsonschema:"What the Arbiter reads about it."`
	}
	// Withdrawn says that a message was taken back by the human before it was sent.
	Withdrawn struct {
		MessageID string `json:"message_id"`
	}
	// Halted says that everything was stopped at once.
	Halted struct {
		By string `json:"by" jsonschema:"The channel it came by: stdin, screen or socket."`
	}
	// Question waits for a human's `message`.
	Question struct {
		Text     string `json:"text"`
		Question string `json:"question,omitempty" jsonschema:"Its id in the inbox; absent: choose answers it."`
		// Options are there where a choose command answers it.
		Options []string `json:"options,omitempty" jsonschema:"What a choose command may take; absent: a message answers it."`
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
		Category        bridge.Category `json:"category" jsonschema:"What kind of trouble it is."`
		Message         string          `json:"message"`
		RecoveryOptions []string        `json:"recovery_options" jsonschema:"What a choose command may take."`
	}
	// Notice is something met and survived.
	Notice struct {
		Text string `json:"text"`
	}
	// Done ends an agent.
	Done struct {
		SessionID string `json:"session_id"`
		Reason    string `json:"reason" jsonschema:"Why the agent ended."`
	}
	// Result is the last line.
	Result struct {
		Status     string       `json:"status" jsonschema:"How the run ended."`
		Summary    string       `json:"summary" jsonschema:"What came of it."`
		CostUSD    float64      `json:"cost_usd"`
		Usage      bridge.Usage `json:"usage"`
		Iterations int          `json:"iterations" jsonschema:"How often work was entered by a summon."`
		DurationMS int64        `json:"duration_ms" jsonschema:"Milliseconds the run took."`
		Crashes    int          `json:"crashes" jsonschema:"Processes that ended unasked."`
		Session    string       `json:"session"`
		Rehearsal  bool         `json:"rehearsal,omitempty"`
		Checks     *Checks      `json:"checks,omitempty" jsonschema:"What the checks of all documents of the task came to when they were last run."`
		Failing    []string     `json:"failing,omitempty" jsonschema:"Those of them that failed: whose it is, the command and why. One that had held before is named in the summary, too."`
		HalfDone   []string     `json:"half_done,omitempty" jsonschema:"What was being done when the run was stopped, and was not finished."`
		// Acceptance is nil if there are no criteria.
		Acceptance []Acceptance `json:"acceptance,omitempty" jsonschema:"The acceptance criteria, and what each came to on the final tree."`
		// Changes is nil if there are no snapshots.
		Changes *ResultChanges `json:"changes,omitempty" jsonschema:"What differs between the files at the start and at the end of the run."`
	}
)

// Checks counts what the checks of the documents of a task came to when the supervisor ran them last.
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
func (Cost) EventName() string              { return "cost" }
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

// events has a row for each event: what it means, and what frontends do with it. The schema,
// the decoder, docs/contract.md and the frontends go by it.
var events = []struct {
	body   Body
	about  string
	traits trait
}{
	{Session{}, "The first line: the run, and what it runs on.", talk | aside},
	{State{}, "The task machine moved.", fine | aside},
	{Spawn{}, "An agent was started; id is the new agent.", 0},
	{Message{}, "Something one party says to another.", 0},
	{Delivered{}, "The CLI proved to have taken a message up.", fine | aside},
	{Assistant{}, "Prose of an agent or of its subagent.", narrates},
	{Delta{}, "A piece of text as it arrives, for screens.", narrates | fine | aside},
	{ToolUse{}, "An agent calls one of Claude's tools.", narrates},
	{ToolResult{}, "Such a call ended.", narrates},
	{ToolCall{}, "An agent calls one of arbiter's own tools.", 0},
	{SubagentStart{}, "A subagent was started.", narrates},
	{SubagentStop{}, "A subagent ended.", narrates},
	{SubagentProgress{}, "What a running subagent has used, and does.", narrates | fine | aside},
	{Turn{}, "An agent's turn ended.", fine},
	{Cost{}, "What an agent's running turn has cost so far.", fine | aside},
	{Context{}, "A new reading of an agent's context.", narrates | fine | aside},
	{ContextWarning{}, "An agent's context reached a level.", talk},
	{Compact{}, "An agent's context was compacted.", talk},
	{Check{}, "A check of a hand-off document that the supervisor has run itself.", 0},
	{Acceptance{}, "A criterion was judged on the final tree; id is the supervisor.", talk},
	{Handoff{}, "A hand-off document was passed on.", talk},
	{Decision{}, "A ruling, and who made it.", talk},
	{Plan{}, "The whole plan after a change.", aside},
	{PermissionRequest{}, "A tool waits for a permission command.", urgent | talk},
	{Permission{}, "How a permission was decided.", urgent},
	{Takeover{}, "A human has an agent's session in a terminal, or gave it back.", urgent | talk},
	{Withdrawn{}, "A message was taken back by the human before it was sent.", talk | aside},
	{Halted{}, "Everything was stopped at once.", urgent | talk | aside},
	{Question{}, "A human is asked; a message command answers.", urgent | talk},
	{Accepted{}, "A command was taken up and is durable.", fine | aside},
	{Rejected{}, "A command was refused.", urgent | talk | aside},
	{Retry{}, "API trouble is being waited out.", narrates},
	{Restart{}, "A process is being started again.", talk},
	{Host{}, "Where a host stands that Orchestrators live on; id is the supervisor.", talk},
	{Error{}, "Trouble a person should know of.", urgent | talk},
	{Notice{}, "Something was met and survived.", narrates | talk},
	{Budget{}, "So much of a limit of costs is spent; id is the agent, or the supervisor for the run.", talk},
	{Quota{}, "How much of a usage window of the plan is used, at each percent; id is the supervisor.", fine | aside},
	{Quiet{}, "A working agent gives no output, no tool progress, no API retry. Nothing follows from it.", talk},
	{Workspace{}, "Where an agent works.", fine},
	{Changes{}, "Files that changed in an agent's turn.", 0},
	{Overlap{}, "Living agents changed the same file; id is the supervisor.", talk},
	{Merge{}, "An agent's work was merged, or is in conflict; id is the agent.", talk},
	{Done{}, "An agent ended.", 0},
	{Result{}, "The last line: how the run ended.", urgent | talk | aside},
}
