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

// BriefCompany is the heading of the note about other agents in the same working tree, with which a brief ends. The
// text before it is the brief itself.
const BriefCompany = "\n\n## You are not alone"

// Event is what scripts, screens and the log receive. ID says whom it
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
		Resumed       bool   `json:"resumed" jsonschema:"The run was resumed."`
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
		// ForkedFrom is the run that this one branched off from.
		ForkedFrom *Fork `json:"forked_from,omitempty" jsonschema:"The run that this one branched off from; the events before this one are copies."`
	}
	// State is a move of the task machine.
	State struct {
		From    string `json:"from" jsonschema:"The previous state."`
		To      string `json:"to" jsonschema:"The new state."`
		Trigger string `json:"trigger" jsonschema:"What caused the change."`
	}
	// Spawn announces a new agent; SessionID is Claude's.
	Spawn struct {
		Name        string `json:"name" jsonschema:"The agent's name, such as Orchestrator I."`
		Mode        string `json:"mode,omitempty"`
		Prompt      string `json:"prompt" jsonschema:"The brief."`
		SessionID   string `json:"session_id"`
		Generation  int    `json:"generation" jsonschema:"Counts the processes started under this id."`
		SuccessorOf string `json:"successor_of,omitempty" jsonschema:"The agent whose work this one continues."`
		Resumed     bool   `json:"resumed,omitempty" jsonschema:"A new process resumes the agent's session."`
		Host        string `json:"host,omitempty" jsonschema:"The agent's host; absent: that of arbiter."`
		Make        string `json:"make,omitempty" jsonschema:"Its make; absent: Claude Code."`
	}
	// Message is a message from one party to another.
	Message struct {
		MessageID  string  `json:"message_id"`
		From       string  `json:"from" jsonschema:"The sender's id."`
		To         string  `json:"to"`
		Kind       string  `json:"kind" jsonschema:"Such as task, brief, question or progress."`
		Text       string  `json:"text"`
		Images     []Image `json:"images,omitempty" jsonschema:"Images with the text."`
		Edited     bool    `json:"edited,omitempty" jsonschema:"The human changed the text before it was sent."`
		SessionID  string  `json:"session_id,omitempty" jsonschema:"The sender's; absent: no agent sent it."`
		Generation int     `json:"generation,omitempty" jsonschema:"The sender's generation."`
	}
	// Delivered says that a model has answered a request that contained a message.
	Delivered struct {
		MessageID  string `json:"message_id"`
		From       string `json:"from,omitempty" jsonschema:"The sender's id."`
		SessionID  string `json:"session_id,omitempty" jsonschema:"That of the process that read it."`
		Generation int    `json:"generation,omitempty" jsonschema:"The generation that read it."`
		Sequence   int    `json:"sequence,omitempty" jsonschema:"Counts the deliveries to id from 1."`
		Proof      string `json:"proof,omitempty" jsonschema:"written: its make proves no delivery, the message was written to it; absent: proven."`
	}
	// Assistant is text of an agent's main thread or of its subagent.
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
	// ToolResult ends a ToolUse.
	ToolResult struct {
		ToolUse  string `json:"tool_use"`
		Text     string `json:"text" jsonschema:"The result, cut off if it is long."`
		IsError  bool   `json:"is_error,omitempty" jsonschema:"The tool failed."`
		Subagent string `json:"subagent,omitempty"`
	}
	// ToolCall is a call of one of arbiter's own tools.
	ToolCall struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	// SubagentStart and SubagentStop report when a subagent starts and ends.
	SubagentStart struct {
		Description string `json:"description"`
		ToolUse     string `json:"tool_use,omitempty"` // of the call that started it
		Type        string `json:"type,omitempty" jsonschema:"The kind of agent that was started."`
	}
	SubagentStop struct {
		Description string `json:"description"`
		ToolUse     string `json:"tool_use,omitempty"`
		Status      string `json:"status,omitempty" jsonschema:"How the subagent ended, such as completed or failed."`
		Tokens      int    `json:"tokens,omitempty" jsonschema:"Tokens in its context; absent: not reported."`
	}
	// SubagentProgress is what a running subagent has used so far, and what it is doing.
	SubagentProgress struct {
		Description string  `json:"description"`
		ToolUse     string  `json:"tool_use"`
		Tokens      int     `json:"tokens" jsonschema:"Tokens in its context."`
		ToolUses    int     `json:"tool_uses" jsonschema:"Its tool calls so far."`
		LastTool    string  `json:"last_tool,omitempty" jsonschema:"Its last tool."`
		CostUSD     float64 `json:"cost_usd,omitempty"`
		DurationMS  int64   `json:"duration_ms,omitempty" jsonschema:"Milliseconds since its start."`
	}
	// Turn ends an agent's turn.
	Turn struct {
		Usage      bridge.Usage `json:"usage"`
		CostUSD    float64      `json:"cost_usd"`
		Unknown    bool         `json:"cost_unknown,omitempty" jsonschema:"Its cost is not known; cost_usd is 0."`
		Models     []ModelCost  `json:"models,omitempty" jsonschema:"Cost and tokens by model, subagents included; absent: not reported."`
		Outcome    string       `json:"outcome" jsonschema:"done, interrupted, failed, or lost (its process ended)."`
		MessageIDs []string     `json:"message_ids" jsonschema:"Messages that it answered."`
	}
	// Cost is what an agent's running turn has cost so far, or a decider's answer that is not used.
	Cost struct {
		CostUSD    float64      `json:"cost_usd" jsonschema:"Cost of the turn so far, subagents included: an estimate until its turn event."`
		Usage      bridge.Usage `json:"usage" jsonschema:"Its tokens so far, subagents included."`
		RunCostUSD float64      `json:"run_cost_usd" jsonschema:"Cost of the run so far, running turns included; --max-cost limits it."`
	}
	// Context is a new measurement, relative to the effective window.
	Context struct {
		Tokens    int     `json:"tokens" jsonschema:"Tokens in use."`
		Window    int     `json:"window" jsonschema:"The effective window, in tokens."`
		Pct       float64 `json:"pct"`
		TurnsLeft int     `json:"turns_left,omitempty" jsonschema:"A forecast of the turns left before the critical level; absent: none, or not known."`
		Source    string  `json:"source,omitempty" jsonschema:"Where the numbers come from: stream, transcript, or cli."`
	}
	// ContextWarning says that a warning level was reached.
	ContextWarning struct {
		Pct   float64 `json:"pct"`
		Level string  `json:"level" jsonschema:"The level reached."`
	}
	// Compact is a compaction that happened, or that was blocked.
	Compact struct {
		Trigger    string `json:"trigger" jsonschema:"auto or manual."`
		Blocked    bool   `json:"blocked,omitempty" jsonschema:"The compaction was blocked."`
		PreTokens  int    `json:"pre_tokens,omitempty" jsonschema:"Tokens before the compaction."`
		PostTokens int    `json:"post_tokens,omitempty" jsonschema:"Tokens of the messages after the compaction."`
	}
	// Check is the result of a check of a hand-off document, which the supervisor ran.
	Check struct {
		Number  int             `json:"number" jsonschema:"Its number in the document, from 1."`
		Of      int             `json:"of" jsonschema:"How many the document has."`
		Receipt verdict.Receipt `json:"receipt" jsonschema:"What ran, and what it proves."`
		Again   bool            `json:"again,omitempty" jsonschema:"Repeated before COMPLETE takes effect; number and of then count the checks of all documents of the task."`
		Agents  []string        `json:"agents,omitempty" jsonschema:"If a repeated check failed: who last changed its files."`
	}
	// Handoff passes a document on: to the successor, to the Arbiter when done, or
	// from one Arbiter to the next.
	Handoff struct {
		From             string            `json:"from" jsonschema:"The author's id."`
		To               string            `json:"to"`
		Document         *verdict.Document `json:"document" jsonschema:"The author's own statements."`
		Receipts         []verdict.Receipt `json:"receipts,omitempty" jsonschema:"The results of its checks, in their order."`
		Proofs           []string          `json:"proofs,omitempty" jsonschema:"For each claim: verified, unverified or refuted."`
		GeneratedBecause string            `json:"drawn_up,omitempty" jsonschema:"Why the supervisor wrote it, not its author."`
	}
	// Decision is a decision, and who made it.
	Decision struct {
		Decision string   `json:"decision" jsonschema:"Such as CONTINUE or COMPLETE."`
		Mode     string   `json:"mode,omitempty"`
		To       string   `json:"to,omitempty"`
		Reason   string   `json:"reason"`
		Source   string   `json:"source" jsonschema:"session, model, rules, cache, fallback or human."`
		Number   int      `json:"number,omitempty" jsonschema:"Counts the run's decisions from 1."`
		Point    string   `json:"point,omitempty" jsonschema:"select: which agent works next; evaluate: what follows from the work done; talk: any other turn."`
		CostUSD  float64  `json:"cost_usd,omitempty" jsonschema:"Cost of the decision itself, if a model was asked only for it."`
		Warnings []string `json:"warnings,omitempty" jsonschema:"Problems, such as why the rules had to decide."`
	}
	// Plan is the whole plan after a change, and the agents' own task lists.
	Plan struct {
		Steps []Step  `json:"steps"`
		Tasks []Tasks `json:"tasks,omitempty" jsonschema:"The agents' own task lists."`
	}
	// PermissionRequest waits for a `permission` command.
	PermissionRequest struct {
		Request     string          `json:"request"`
		Tool        string          `json:"tool"`
		Input       json.RawMessage `json:"input"`
		Subagent    string          `json:"subagent,omitempty"`
		Reason      string          `json:"reason,omitempty"`
		Action      string          `json:"action"`
		Suggestions []string        `json:"suggestions,omitempty" jsonschema:"Rules that Claude Code offers for an answer of scope run or always; those that only together cover the request have commas between them."`
		Meanings    []string        `json:"meanings,omitempty" jsonschema:"What each suggestion allows, in plain words."`
		Place       *CallPlace      `json:"place,omitempty" jsonschema:"Where the call runs."`
		Deadline    string          `json:"deadline,omitempty" jsonschema:"When it is denied if nobody answers (RFC 3339, UTC); absent: it waits."`
	}
	// CallPlace is where an agent's tool call runs.
	CallPlace struct {
		CWD       string `json:"cwd" jsonschema:"The agent's working directory."`
		Own       bool   `json:"own" jsonschema:"The directory is the agent's own copy of the workspace."`
		Host      string `json:"host,omitempty" jsonschema:"The host; absent: the one that arbiter runs on."`
		Sandboxed bool   `json:"sandboxed" jsonschema:"A sandbox confines the agent."`
	}
	// Permission says how a permission was decided; By is Human or one of the constants beside [DecidedBy].
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
	// Takeover says that a human took an agent's session over in a terminal, or gave it back.
	Takeover struct {
		State  string   `json:"state" jsonschema:"began: its process is being stopped; open: the terminal is open; ended: it was given back; failed: reason says why."`
		Reason string   `json:"reason,omitempty"`
		Words  int      `json:"words,omitempty" jsonschema:"How many messages the human wrote."`
		Files  []string `json:"files,omitempty" jsonschema:"Files that changed meanwhile."`
		Digest string   `json:"digest,omitempty" jsonschema:"The summary for the Arbiter."`
	}
	// Withdrawn says that the human withdrew a message before it was sent.
	Withdrawn struct {
		MessageID string `json:"message_id"`
	}
	// Halted says that all agents were stopped at once.
	Halted struct {
		By string `json:"by" jsonschema:"Where the command came from: stdin, screen or socket; empty: not known."`
	}
	// Question waits for a human's `message`.
	Question struct {
		Text     string `json:"text"`
		Question string `json:"question,omitempty" jsonschema:"Its id in the inbox."`
		// Options is set if a choose command answers the question.
		Options []string `json:"options,omitempty" jsonschema:"For a choose command; absent: a message command answers it."`
	}
	// Settled closes what waited for the human, except permission requests, which [Permission] closes.
	Settled struct {
		Item string `json:"item" jsonschema:"What no longer waits: the id of a question, else recovery-AGENT or host-NAME, as the inbox names it."`
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
	// Retry says that the CLI or the supervisor repeats a failed API request after a delay.
	Retry struct {
		Attempt int    `json:"attempt"`
		DelayMS int64  `json:"delay_ms"`
		Reason  string `json:"reason"`
	}
	// Restart says that a process is restarted after a delay.
	Restart struct {
		Attempt int    `json:"attempt"`
		DelayMS int64  `json:"delay_ms"`
		Reason  string `json:"reason"`
	}
	// Error is a problem that a human should know about, with the options for recovery.
	Error struct {
		Category        bridge.Category `json:"category" jsonschema:"Its kind."`
		Message         string          `json:"message"`
		RecoveryOptions []string        `json:"recovery_options" jsonschema:"The options of a choose command."`
	}
	// Notice is something that a human may want to know; the run continues.
	Notice struct {
		Text string `json:"text"`
	}
	// Done says that an agent ended.
	Done struct {
		SessionID string `json:"session_id"`
		Reason    string `json:"reason" jsonschema:"Why the agent ended."`
	}
	// Result is the last line.
	Result struct {
		Status          string       `json:"status" jsonschema:"How the run ended."`
		Summary         string       `json:"summary" jsonschema:"The outcome, in prose."`
		CostUSD         float64      `json:"cost_usd"`
		Usage           bridge.Usage `json:"usage"`
		Iterations      int          `json:"iterations" jsonschema:"How often an Orchestrator was summoned."`
		DurationMS      int64        `json:"duration_ms" jsonschema:"Milliseconds that it took."`
		Crashes         int          `json:"crashes" jsonschema:"How many processes ended unexpectedly."`
		Session         string       `json:"session"`
		Rehearsal       bool         `json:"rehearsal,omitempty"`
		Checks          *Checks      `json:"checks,omitempty" jsonschema:"The last results of the checks of all documents of the task."`
		Open            []string     `json:"open,omitempty" jsonschema:"What was still open when the Arbiter completed once more. The summary names it, too."`
		Failing         []string     `json:"failing,omitempty" jsonschema:"The checks that failed: author, command and reason. The summary names those that had passed before."`
		InterruptedWork []string     `json:"half_done,omitempty" jsonschema:"Work in progress when the run was stopped."`
		// Acceptance is nil if there are no criteria.
		Acceptance []Acceptance `json:"acceptance,omitempty" jsonschema:"The criteria and their outcomes on the final files."`
		// Changes is nil if there are no snapshots.
		Changes *ResultChanges `json:"changes,omitempty" jsonschema:"What differs between the files before and after the run."`
	}
)

// Checks counts the results of the checks of all documents of a task when the supervisor last ran them.
type Checks struct {
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Unproven int `json:"unproven"` // not run, or the result proves nothing
}

// Step is one step of the plan.
type Step struct {
	Text   string `json:"text"`
	Status string `json:"status"`          // pending, active, done, failed, skipped
	Agent  string `json:"agent,omitempty"` // who works, or worked, on it
	Mode   string `json:"mode,omitempty"`  // the mode it is meant for
	Make   string `json:"make,omitempty"`  // the make of agent it is meant for
}

// Tasks is an agent's own task list, which it keeps with Claude's task or todo tools.
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
	StatusIncomplete = "incomplete" // completed over a check of the last document that fails
	StatusFailed     = "failed"
	StatusCancelled  = "cancelled"
	StatusNeedsInput = "needs_input"
	StatusLimit      = "limit"

	// StatusInterrupted is the status of a run that was stopped in the middle, and can be resumed. Where its process was
	// killed or crashed there is no result, and frontends show this status instead of one.
	StatusInterrupted = "interrupted"
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
func (Settled) EventName() string           { return "settled" }
func (Accepted) EventName() string          { return "accepted" }
func (Rejected) EventName() string          { return "rejected" }
func (Retry) EventName() string             { return "retry" }
func (Restart) EventName() string           { return "restart" }
func (Error) EventName() string             { return "error" }
func (Notice) EventName() string            { return "notice" }
func (Done) EventName() string              { return "done" }
func (Result) EventName() string            { return "result" }

// events has a row for each event: what it means, and how frontends treat it. The schema,
// the decoder, docs/contract.md and the frontends use it.
var events = []struct {
	body   Body
	about  string
	traits trait
}{
	{Session{}, "The first line: the run and its environment.", talk | aside},
	{State{}, "The task machine changed its state.", fine | aside},
	{Spawn{}, "An agent was started; id is the new agent.", 0},
	{Message{}, "A message from one party to another.", 0},
	{Delivered{}, "A model has answered a request that contained a message.", fine | aside},
	{Assistant{}, "Text that an agent or its subagent wrote.", narrates},
	{Delta{}, "A piece of text as it arrives from the model, for screens.", narrates | fine | aside},
	{ToolUse{}, "An agent calls one of Claude's tools.", narrates},
	{ToolResult{}, "A call of one of Claude's tools ended.", narrates},
	{ToolCall{}, "An agent calls one of arbiter's own tools.", 0},
	{SubagentStart{}, "A subagent was started.", narrates},
	{SubagentStop{}, "A subagent ended.", narrates},
	{SubagentProgress{}, "What a running subagent has used so far, and what it is doing.", narrates | fine | aside},
	{Turn{}, "An agent's turn ended.", fine},
	{Cost{}, "What an agent's running turn has cost so far; id supervisor: what a decider's unused answer has cost.",
		fine | aside},
	{Context{}, "A new measurement of an agent's context.", narrates | fine | aside},
	{ContextWarning{}, "An agent's context reached a warning level.", talk},
	{Compact{}, "An agent's context was compacted, or the compaction was blocked.", talk},
	{Check{}, "The supervisor ran a check of a hand-off document.", 0},
	{Acceptance{}, "An acceptance criterion was tested on the final files; id is the supervisor.", talk},
	{Handoff{}, "A hand-off document was passed on.", talk},
	{Decision{}, "A decision, and who made it.", talk},
	{Plan{}, "The whole plan after a change.", aside},
	{PermissionRequest{}, "A tool call waits for a permission command.", urgent | talk},
	{Permission{}, "How a permission was decided.", urgent},
	{Takeover{}, "A human took an agent's session over in a terminal, or gave it back.", urgent | talk},
	{Withdrawn{}, "The human withdrew a message before it was sent.", talk | aside},
	{Halted{}, "All agents were stopped at once.", urgent | talk | aside},
	{Question{}, "A question to the human; a message or choose command answers it.", urgent | talk},
	{Settled{}, "A question or a choice no longer waits for the human: somebody answered it, or it has become pointless.",
		fine | aside},
	{Accepted{}, "A command was accepted and is on disk.", fine | aside},
	{Rejected{}, "A command was rejected.", urgent | talk | aside},
	{Retry{}, "An API request failed; it is tried again after a delay.", narrates},
	{Restart{}, "A process is restarted after a delay.", talk},
	{Host{}, "The status of a host that Orchestrators run on; id is the supervisor.", talk},
	{Error{}, "A problem that a human should know about.", urgent | talk},
	{Notice{}, "Something happened that a human may want to know; the run continues.", narrates | talk},
	{Budget{}, "Spending reached a level of a cost limit; id is the agent, or the supervisor for the run.", talk},
	{Fuse{}, "What an Orchestrator may cost was set, is nearly spent, or is spent; id is the Orchestrator.", talk},
	{Forecast{}, "What a step, or the plan, will cost by earlier runs; id is the supervisor, or the agent that is " +
		"summoned for it.", 0},
	{Quota{},
		"How much of a usage window of the account's plan is used, at each percent; id is the supervisor.",
		fine | aside},
	{Quiet{}, "A working agent has shown no sign of work for some time: no output, tool progress or API retry. " +
		"Arbiter only reports it.", talk},
	{Workspace{}, "Where an agent works.", fine},
	{Changes{}, "Files that changed in an agent's turn.", 0},
	{Overlap{}, "Several live agents changed the same file; id is the supervisor.", talk},
	{Merge{}, "An agent's work was merged, or is in conflict; id is the agent.", talk},
	{Done{}, "An agent ended.", 0},
	{Result{}, "The last line: how the run ended.", urgent | talk | aside},
}

// Host is the status of a host that Orchestrators run on, other than the host of arbiter itself.
type Host struct {
	Name   string `json:"name" jsonschema:"Its name in the configuration."`
	Status string `json:"status" jsonschema:"up: in use; down: arbiter does not try to reach it; lost: its agents are down, and arbiter tries again; waiting: it is being started, or waits in a queue."`
	Reason string `json:"reason,omitempty" jsonschema:"Why it is not up."`
}

func (Host) EventName() string { return "host" }

// Statuses of a host.
const (
	HostUp      = "up"
	HostDown    = "down"
	HostLost    = "lost"
	HostWaiting = "waiting"
)

// AcceptanceCriterion is one thing that must hold before the task is complete.
type AcceptanceCriterion struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"` // its exit code 0 proves the criterion
	By      string `json:"by,omitempty"`      // "arbiter": the criterion remains one of the Arbiter's
}

// Acceptance is a criterion and its outcome on the final files.
type Acceptance struct {
	Text     string `json:"text" jsonschema:"What must hold."`
	Command  string `json:"command,omitempty" jsonschema:"The command that proves it."`
	By       string `json:"by" jsonschema:"Who set the criterion: human or arbiter."`
	Status   string `json:"status" jsonschema:"The outcome."`
	ExitCode int    `json:"exit_code" jsonschema:"-1: no command ran, or it did not end in time."`
	SHA256   string `json:"sha256,omitempty" jsonschema:"Of the command's whole output, in hexadecimal."`
	Tree     string `json:"tree,omitempty" jsonschema:"The Git tree that it was tested on."`
	Before   string `json:"before,omitempty" jsonschema:"Of one that passed, on the files before the work: failed at first, or already true."`
}

func (Acceptance) EventName() string { return "acceptance" }
