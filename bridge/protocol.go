package bridge

import (
	"encoding/json"
	"strconv"
)

// ProtocolVersion is the version of this protocol. A client and a server whose
// versions differ refuse each other in `initialize`.
const ProtocolVersion = 4

// Requests of the client, the notification of the server, and the requests of
// the server.
const (
	MethodInitialize = "initialize"
	MethodSpawn      = "spawn"
	MethodMessage    = "message"
	MethodInterrupt  = "interrupt"
	MethodKill       = "kill"
	MethodContext    = "context"
	MethodAsk        = "ask"
	MethodConfigure  = "configure"
	MethodProbe      = "probe"
	MethodCheck      = "check"
	MethodInspect    = "survey"
	MethodQuery      = "query"
	MethodSandbox    = "sandbox"
	MethodShutdown   = "shutdown"
	MethodPTYOpen    = "pty_open"
	MethodPTYWrite   = "pty_write"
	MethodPTYResize  = "pty_resize"
	MethodPTYClose   = "pty_close"

	// Requests to a remote bridge.
	MethodResolve     = "resolve"
	MethodInventory   = "inventory"
	MethodPrepareWork = "work_prepare"
	MethodCommitWork  = "work_commit"
	MethodRemoveWork  = "work_remove"

	MethodCancel = "cancel" // client → server notification: the caller cancelled request {id}

	MethodEvent = "event" // server → client notification

	MethodToolCall   = "tool_call"  // server → client request
	MethodPermission = "permission" // server → client request
	MethodJudge      = "judge"      // server → client request
	MethodTick       = "tick"       // server → client request; only a remote bridge sends it
)

// ClaudeSpec says which program to run as the Claude CLI.
type ClaudeSpec struct {
	// Path of the program; a bare name is looked up on PATH.
	Path string `json:"path"`
	// Args come before the flags that the driver adds (a stand-in needs them).
	Args []string `json:"args,omitempty"`
}

// ClaudeInfo describes the CLI, as `initialize` found it.
type ClaudeInfo struct {
	Path    string `json:"path"`    // absolute, symbolic links resolved
	Version string `json:"version"` // such as "2.1.329"
	StandIn bool   `json:"stand_in,omitempty"`
	// SHA256 is the hash of the program, in hex; empty while it is not known yet.
	SHA256 string `json:"sha256,omitempty"`
	// Identity is device:inode:size:mtime of the program's file, mtime in nanoseconds.
	Identity string `json:"identity,omitempty"`
}

// InitializeParams opens the conversation. It must be the first request.
type InitializeParams struct {
	ProtocolVersion int    `json:"protocol_version"`
	Client          string `json:"client"` // name and version, for the log
	Run             string `json:"run"`    // marks every descendant's environment (ARBITER_RUN)
	// Bridge names this bridge among those of the run, and marks every descendant, too (ARBITER_BRIDGE).
	Bridge string `json:"bridge,omitempty"`
	// Remote asks for a bridge on another host. Bridge is the host's name then.
	Remote *RemoteParams `json:"remote,omitempty"`
	Claude ClaudeSpec    `json:"claude"`
}

// InitializeResult is the answer to `initialize`.
type InitializeResult struct {
	ProtocolVersion int        `json:"protocol_version"`
	Version         string     `json:"version"`      // the bridge's own
	Capabilities    []string   `json:"capabilities"` // methods served
	Claude          ClaudeInfo `json:"claude"`
	// Remote is set if the client asked for a remote bridge.
	Remote *RemoteInfo `json:"remote,omitempty"`
}

// AgentRef names one incarnation of one agent. Generation grows by one with
// each process started under the same id; a request with an old generation is refused.
type AgentRef struct {
	ID         string `json:"id"`
	Generation int    `json:"generation"`
}

func (r AgentRef) ref() AgentRef { return r }

// String is for logs and messages: "orch-1#3".
func (r AgentRef) String() string { return r.ID + "#" + strconv.Itoa(r.Generation) }

// ToolSpec is a tool of Arbiter, offered to the agent over MCP.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	// TimeoutMS is the time limit of one call; 0 means DefaultToolTimeout.
	TimeoutMS int `json:"timeout_ms,omitempty"`
}

// MakeSpec is the program of an agent that is not the Claude CLI. It speaks the Agent Client Protocol.
type MakeSpec struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	// Env are variables that it gets besides those that each agent gets: NAME is taken from the bridge's own
	// environment, NAME=VALUE is set.
	Env []string `json:"env,omitempty"`
	// Like is the make that it behaves like, if that is not Name.
	Like string `json:"like,omitempty"`
	// AcceptUnasked lets it run without a sandbox although it does not ask about each command and edit: deny rules do
	// not hold for what it does not ask about.
	AcceptUnasked bool `json:"accept_unasked,omitempty"`
	// InputUSD and OutputUSD are what a million tokens cost, where it does not report costs; 0: not known.
	InputUSD  float64 `json:"input_usd,omitempty"`
	OutputUSD float64 `json:"output_usd,omitempty"`
}

// AgentConfig is the configuration of a Claude session, or of a session of another make.
type AgentConfig struct {
	// Make is set for an agent of another make.
	Make *MakeSpec `json:"make,omitempty"`
	// MakeSession is that make's own id of the session to resume.
	MakeSession string `json:"make_session,omitempty"`

	SessionID string `json:"session_id"`       // a UUID
	Resume    bool   `json:"resume,omitempty"` // continue SessionID instead of creating it
	CWD       string `json:"cwd"`
	Model     string `json:"model,omitempty"`
	Effort    string `json:"effort,omitempty"`

	SystemPrompt       string `json:"system_prompt,omitempty"`        // replaces Claude Code's own
	AppendSystemPrompt string `json:"append_system_prompt,omitempty"` // appended to Claude Code's own

	// Tools is the exact set of built-in tools; nil leaves the CLI's default.
	Tools           []string `json:"tools,omitempty"`
	DisallowedTools []string `json:"disallowed_tools,omitempty"` // tool names and deny rules
	AllowedTools    []string `json:"allowed_tools,omitempty"`    // rules the CLI does not ask about
	// Rules are in force before the first message, and can be replaced by `configure`. If the CLI does
	// not take one of the deny and ask rules, the agent does not start.
	Rules          PermissionRules `json:"rules,omitzero"`
	PermissionMode string          `json:"permission_mode,omitempty"` // a mode of the CLI; empty = default
	// NoSkillCommands keeps the CLI from running the command lines of skills and slash commands. Versions that
	// show such lines to no hook (older than 2.1.332) need it where a rule is more than the CLI's own reading of it.
	NoSkillCommands bool `json:"no_skill_commands,omitempty"`
	// a subset of user, project, local; empty loads none
	SettingSources []string        `json:"setting_sources"`
	StrictMCP      bool            `json:"strict_mcp,omitempty"`  // load no MCP servers except Arbiter's
	JSONSchema     json.RawMessage `json:"json_schema,omitempty"` // of the verdict that ends each turn
	MCPTools       []ToolSpec      `json:"mcp_tools,omitempty"`

	Partial      bool    `json:"partial,omitempty"`        // emit `delta` events
	MaxBudgetUSD float64 `json:"max_budget_usd,omitempty"` // the cost at which the CLI stops the session
	ContextCap   int     `json:"context_cap,omitempty"`    // in tokens; limits the effective window, 0 = no limit
	// ContextCaps are limits for single models, by name. The longest name that is a prefix of the
	// model's name takes precedence over ContextCap, even with the value 0.
	ContextCaps map[string]int `json:"context_caps,omitempty"`
	// Judged makes the bridge send `judge` before every tool call of the agent and of its subagents,
	// even for calls that the CLI would not ask about.
	Judged bool `json:"judged,omitempty"`
	// Sandbox confines the CLI and every process that it starts; nil: no sandbox.
	Sandbox *SandboxConfig `json:"sandbox,omitempty"`
	// Hooks configures what the agent's hooks report to it; nil: no hooks are registered.
	Hooks *HookConfig       `json:"hooks,omitempty"`
	Env   map[string]string `json:"env,omitempty"` // added after the allow-list

	// StartTimeoutMS is the time limit until the agent is ready; 0 means DefaultStartTimeout.
	StartTimeoutMS int `json:"start_timeout_ms,omitempty"`
}

// PermissionRules are permission rules in the CLI's own syntax. A deny rule takes precedence over
// an ask rule, and an ask rule over an allow rule.
type PermissionRules struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	Ask   []string `json:"ask,omitempty"`
}

// HookConfig is the policy of an agent's hooks: what the agent reads as its context
// fills, and after a compaction.
type HookConfig struct {
	Role     string  `json:"role"`     // arbiter or orchestrator: what a warning asks for
	Warn     float64 `json:"warn"`     // percent of the effective window
	Critical float64 `json:"critical"` // percent of the effective window
	// Spent is the level that was already reported to an earlier process: warn, critical, or
	// empty. Each level is reported once.
	Spent string `json:"spent,omitempty"`
	// Reminder is repeated after a compaction: role, rules, plan.
	Reminder string `json:"reminder,omitempty"`
	// KeepContext blocks automatic compactions, where the CLI allows it.
	KeepContext bool `json:"keep_context,omitempty"`
}

// SpawnParams starts an agent. The result comes when it is ready for a message.
type SpawnParams struct {
	AgentRef
	Config AgentConfig `json:"config"`
	// Pending are the ids of messages that were sent to an earlier incarnation and whose turn
	// has no known end. With Config.Resume, the result has the delivery status of each.
	Pending []string `json:"pending,omitempty"`
	// Answered is the id of the last message whose turn ended with an answer. With Config.Resume, a session whose
	// transcript has lost the end of that turn is refused (CatResume).
	Answered string `json:"answered,omitempty"`
}

// SpawnResult describes the agent, which is now ready.
type SpawnResult struct {
	SessionID     string `json:"session_id"`
	PID           int    `json:"pid"`
	ClaudeVersion string `json:"claude_version"`
	Window        int    `json:"window,omitempty"` // effective window in tokens, 0 if the CLI did not say
	Tokens        int    `json:"tokens,omitempty"` // context already in use, after a resume
	// Resumed says that Config.Resume found a history to continue. Otherwise a new
	// session was started under the same id.
	Resumed    bool             `json:"resumed,omitempty"`
	Deliveries []DeliveryStatus `json:"fates,omitempty"` // of SpawnParams.Pending, in that order

	// Argv is the command line of the process. An argument of more than 256 bytes is replaced by
	// "sha256:<hex> (<n> bytes)", a secret by "[the value of <name>]".
	Argv           []string `json:"argv,omitempty"`
	CWD            string   `json:"cwd,omitempty"`
	PermissionMode string   `json:"permission_mode,omitempty"` // in effect, as the CLI says
	// NotTaken are allow rules that the CLI does not know: it asks about what they are for.
	NotTaken []string `json:"not_taken,omitempty"`
	Sandbox  bool     `json:"sandbox,omitempty"`
	Env      []string `json:"env,omitempty"` // the names of its environment variables, sorted; never the values
	// ClaudeSHA256 is the hash of the program, in hex; empty while it is not known yet.
	ClaudeSHA256 string `json:"claude_sha256,omitempty"`

	// MakeSession is the id that an agent of another make gave its session; MakeVersion is what it says about itself.
	MakeSession string `json:"make_session,omitempty"`
	MakeVersion string `json:"make_version,omitempty"`
	// Lacks says in words what a make cannot do that Claude can.
	Lacks []string `json:"lacks,omitempty"`
}

// DeliveryStatus is what a session's transcript says about a message after the session's process
// has ended.
type DeliveryStatus struct {
	MessageID string `json:"message_id"`
	// Status is one of the DeliveryStatus… constants.
	Status string `json:"fate"`
	// Verdict is the verdict that ended the message's turn (DeliveryRuled only).
	Verdict json.RawMessage `json:"verdict,omitempty"`
}

// Delivery statuses of a message.
const (
	DeliveryAbsent = "absent" // the transcript does not contain it: the session never received it
	DeliverySeen   = "seen"   // the history contains it, and the model has not answered
	DeliveryBegun  = "begun"  // the model began to answer; tool calls may have been made
	DeliveryRuled  = "ruled"  // its turn ended with a verdict
	DeliveryEnded  = "ended"  // its turn ended without a verdict (plain text; interrupt or API error after an answer)
)

// MessageParams sends one message, which starts a turn. While a turn runs, the bridge
// refuses it with CodeBusy, unless Steer is set: then the CLI adds it to the running
// turn after the current tool call.
type MessageParams struct {
	AgentRef
	MessageID string `json:"message_id"` // a UUID, the CLI's message uuid
	Content   string `json:"content"`
	Steer     bool   `json:"steer,omitempty"`
	// Images follow the text, in this order.
	Images []Image `json:"images,omitempty"`
}

// Image is an image of a message. In JSON its contents are base64.
type Image struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// InterruptParams stops the running turn; the agent stays.
type InterruptParams struct{ AgentRef }

// InterruptResult lists the messages that the CLI had queued and keeps.
type InterruptResult struct {
	StillQueued []string `json:"still_queued,omitempty"`
}

// KillParams ends an agent: in steps (interrupt, end of input, TERM, KILL and
// sweep), or at once. The result comes when all of its processes have ended.
type KillParams struct {
	AgentRef
	Now bool `json:"now,omitempty"`
}

// ContextParams asks the CLI how full the context is.
type ContextParams struct{ AgentRef }

// ContextResult is the CLI's own number of tokens, and its share of the effective window.
type ContextResult struct {
	Tokens int     `json:"tokens"`
	Window int     `json:"window"`
	Pct    float64 `json:"pct"`
}

// AskParams asks a side question, which does not become part of the session's history.
type AskParams struct {
	AgentRef
	Question string `json:"question"`
}

// AskResult is the answer to it.
type AskResult struct {
	Answer string `json:"answer"`
}

// ConfigureParams changes a live agent; empty fields leave a value unchanged.
type ConfigureParams struct {
	AgentRef
	Model          string `json:"model,omitempty"`
	PermissionMode string `json:"permission_mode,omitempty"`
	// Rules replaces AgentConfig.Rules, from the next tool call on.
	Rules *PermissionRules `json:"rules,omitempty"`
	// Reminder replaces HookConfig.Reminder.
	Reminder string `json:"reminder,omitempty"`
}

// ProbeParams asks for signs of life.
type ProbeParams struct{ AgentRef }

// ProbeResult is what can be observed of an agent from outside, including its
// descendants. Only Answered needs the agent's cooperation.
type ProbeResult struct {
	SilentMS  int64 `json:"silent_ms"` // since the last frame on its stdout, except answers to the bridge's requests
	CPUMS     int64 `json:"cpu_ms"`    // used so far by the live processes of its process tree
	RSSBytes  int64 `json:"rss_bytes"` // of its process tree
	Processes int   `json:"processes"`
	Stopped   bool  `json:"stopped,omitempty"` // its process is stopped (SIGSTOP)
	// TranscriptBytes is the size of its transcript and of its subagents' transcripts.
	TranscriptBytes int64 `json:"transcript_bytes"`
	// OutputBytes is what its tools and background tasks have written to their
	// output files; OutputPath is the largest of them.
	OutputBytes int64  `json:"output_bytes"`
	OutputPath  string `json:"output_path,omitempty"`
	Answered    bool   `json:"answered"` // it answered a control ping within ProbeTimeout
}

// ShutdownParams ends all agents within GraceMS (0 = the default times).
type ShutdownParams struct {
	GraceMS int `json:"grace_ms,omitempty"`
}

// ShutdownResult says how many agents were stopped, and names those that did not stop.
type ShutdownResult struct {
	Stopped   int      `json:"stopped"`
	Swept     int      `json:"swept"` // escaped processes that were killed
	Unstopped []string `json:"unstopped,omitempty"`
}

// CancelParams names a request whose caller no longer waits for the answer.
type CancelParams struct {
	ID string `json:"id"`
}

// ToolCallParams is a call of one of Arbiter's MCP tools by an agent. If the client does not answer
// within the tool's deadline, the agent gets an error.
type ToolCallParams struct {
	AgentRef
	Call  string          `json:"call"` // the CLI's tool_use id, or one of the bridge's
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Subagent is the tool use of the call that started the calling subagent; empty:
	// the agent itself calls.
	Subagent string `json:"subagent,omitempty"`
}

// ToolCallResult is what the model reads.
type ToolCallResult struct {
	Text    string `json:"text"`
	IsError bool   `json:"is_error,omitempty"`
}

// PermissionParams asks whether a tool may run. If there is no answer, the tool call is denied.
type PermissionParams struct {
	AgentRef
	Request  string          `json:"request"` // unique among all bridges of a run
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use,omitempty"`
	Subagent string          `json:"subagent,omitempty"` // the subagent's id, if a subagent asks
	Reason   string          `json:"reason,omitempty"`   // the CLI's, if it gave one
	// ReasonType is the kind of the reason, as the CLI names it. [SafetyCheck]: no rule ever covers such a request.
	ReasonType string `json:"reason_type,omitempty"`
	// Suggestions are allow rules that the CLI offers, each of which covers such requests; several rules that
	// only together do so are one entry, with commas between them.
	Suggestions []string `json:"suggestions,omitempty"`
	Blocked     string   `json:"blocked,omitempty"` // the path that the request is about, if any
	CWD         string   `json:"cwd,omitempty"`     // the current directory of the session's shell, if known
}

// NetworkTool is the tool of a request to reach a host from a sandbox; its input has `host` and `port`.
const NetworkTool = "Network"

// Behaviours of a PermissionResult (Allow, Deny) and of a JudgeResult (Pass, Ask, Deny).
const (
	Allow = "allow"
	Deny  = "deny"
	Ask   = "ask"
	Pass  = "pass"
)

// BypassPermissions is the CLI's mode that asks for no permission, but for what a deny or ask rule, or a hook, is
// about. A CLI can only be started in it, not switched to it.
const BypassPermissions = "bypassPermissions"

// SafetyCheck is the ReasonType of a request about a file or command that the CLI always asks about.
const SafetyCheck = "safetyCheck"

// PermissionResult is the decision. Message goes to the model when denied.
type PermissionResult struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"` // the reason of a denial; the answer to an Elicitation
}
