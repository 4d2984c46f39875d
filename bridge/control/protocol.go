package control

import (
	"encoding/json"
	"time"
)

// Version is the version of the protocol. Each result contains it.
const Version = 3

// SocketName is the socket in a run's directory, or a link to it.
const SocketName = "control.sock"

// Methods of a client, and the notifications that it gets.
const (
	MethodStatus  = "status"     // → Status
	MethodCommand = "command"    // CommandParams → CommandResult
	MethodAttach  = "attach"     // AttachParams → AttachResult, when the terminal is open
	MethodWrite   = "pty_write"  // Data
	MethodResize  = "pty_resize" // Size
	MethodDetach  = "detach"     // → Head; `ended` follows when the session was given back
	MethodHalt    = "halt"       // HaltParams → HaltResult

	MethodState     = "state"       // → StateResult
	MethodSubscribe = "subscribe"   // SubscribeParams → Head, and then events, state and run_ended
	MethodPut       = "put"         // PutParams → Head, without waiting for what happens to the command
	MethodStop      = "stop"        // StopParams → Head; the run ends in order
	MethodNoInput   = "input_ended" // → Head; no human will answer from now on

	NotifyProgress = "progress" // Progress, before attach is answered
	NotifyPTY      = "pty"      // Data
	NotifyEnded    = "ended"    // Ended, the last of an attachment

	NotifyEvents   = "events"    // Events of a subscription
	NotifyState    = "state"     // StateChange of a subscription that asked for it
	NotifyRunEnded = "run_ended" // RunEnded, the last of a subscription
)

// Codes of errors, in addition to those of JSON-RPC.
const (
	CodeRefused = -32001 // the peer may not send requests
	CodeFailed  = -32002 // it could not be done; the message says why
	CodeBusy    = -32003 // too much at once
	CodeUnopen  = -32004 // the session of an agent could not be opened; the message says why
)

// Head is in every result.
type Head struct {
	V int `json:"v"`
}

// Status is the state of a run.
type Status struct {
	Head
	Run    string    `json:"run"`
	CWD    string    `json:"cwd"`
	PID    int       `json:"pid"` // of the arbiter
	Title  string    `json:"title"`
	Began  time.Time `json:"began"`
	Phase  string    `json:"phase"`
	Does   string    `json:"does"` // what the run does, in the words of all faces
	Paused bool      `json:"paused"`
	Halted bool      `json:"halted"`
	Seq    uint64    `json:"seq"` // of the last event
	Cost   float64   `json:"cost_usd"`
	// Rehearsal reports that a scripted model plays; costs are not real.
	Rehearsal bool `json:"rehearsal,omitempty"`
	// LogLines is how many lines the event log had when this process began to run it.
	LogLines uint64 `json:"log_lines"`
	// Permissions is the permission mode.
	Permissions string        `json:"permissions"`
	Agents      []AgentStatus `json:"agents"`
	// Subagents counts those that the run has started, of all that it may start; 0: no limit.
	Subagents    int         `json:"subagents"`
	MaxSubagents int         `json:"max_subagents"`
	Inbox        []InboxItem `json:"inbox"` // what waits for a human, oldest first
}

// InboxItem is one thing that waits for a human.
type InboxItem struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`           // question, acceptance, permission, trust, recovery
	Agent    string          `json:"agent"`          // who asks, or who failed
	Host     string          `json:"host,omitempty"` // that the agent runs on; absent: the one that arbiter runs on
	Text     string          `json:"text"`
	Since    time.Time       `json:"since"`
	Choices  []string        `json:"choices,omitempty"`  // what a choose command accepts
	Request  json.RawMessage `json:"request,omitempty"`  // the fields of the permission_request event
	Optional bool            `json:"optional,omitempty"` // an agent may resolve it as well
}

// AgentStatus is one agent.
type AgentStatus struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Mode     string    `json:"mode,omitempty"`
	Status   string    `json:"status"`
	Does     string    `json:"does"`  // what it does, in the words of all faces
	Since    time.Time `json:"since"` // of Does
	Session  string    `json:"session_id"`
	Context  float64   `json:"context_pct"`
	Cost     float64   `json:"cost_usd"`
	Host     string    `json:"host,omitempty"`     // on which it runs; absent: the host of arbiter
	Make     string    `json:"make,omitempty"`     // absent: Claude Code
	Attached string    `json:"attached,omitempty"` // who has it open in a terminal
	// Fuse is what it may cost before it is parked, and how much of that is spent; 0: no limit.
	Fuse      float64 `json:"fuse_usd,omitempty"`
	FuseSpent float64 `json:"fuse_spent_usd,omitempty"`
	// Lacks is what its make cannot do. What nobody knows is not in Context and Cost.
	Lacks          []string `json:"lacks,omitempty"`
	ContextUnknown bool     `json:"context_unknown,omitempty"`
	CostUnknown    bool     `json:"cost_unknown,omitempty"`
	// Subagents counts those that work, of all that may at once.
	Subagents    int `json:"subagents,omitempty"`
	MaxSubagents int `json:"max_subagents,omitempty"`
}

// CommandParams is a line as `arbiter --json` reads it on stdin.
type CommandParams struct {
	Command json.RawMessage `json:"command"`
}

// CommandResult is returned when the command is durable, or refused.
type CommandResult struct {
	Head
	Accepted bool   `json:"accepted"`
	Ref      string `json:"ref,omitempty"`
	Message  string `json:"message"`
}

// PutParams is such a line from a frontend. An event with the command's own ref reports what happens to it.
// "screen" as Frontend stands for the run's screen or its plain lines; other values count as another
// process.
type PutParams struct {
	Command  json.RawMessage `json:"command"`
	Frontend string          `json:"frontend,omitempty"`
}

// StopParams names the signal with which the run ends: INT, TERM or HUP. Fast skips the steps that take
// time.
type StopParams struct {
	Signal string `json:"signal"`
	Fast   bool   `json:"fast,omitempty"`
}

// StateResult is the whole state of the run, as its snapshots hold it. Its shape belongs to this version of
// arbiter: scripts should rely on the events.
type StateResult struct {
	Head
	Version int             `json:"version"` // of the state
	State   json.RawMessage `json:"state"`
}

// SubscribeParams selects what a client receives. The seq of an event counts from the start of the process
// that plays the run.
type SubscribeParams struct {
	// Since requests the events after this seq: 0 for all of this process, negative for future ones only.
	Since int64 `json:"since"`
	// Pieces requests delta events, too: text that is still being written. They have the seq of the event
	// before them, are in no log, and are omitted for a client that is behind.
	Pieces bool `json:"pieces,omitempty"`
	// State requests the state and each change of it, too.
	State bool `json:"state,omitempty"`
}

// Events are lines as `arbiter --json` prints them, without their line feeds and in order. A line is a
// string: as JSON in JSON it would arrive with other bytes, because encoders escape differently.
type Events struct {
	Lines []string `json:"lines"`
	// Skipped counts lost events before these: neither the process nor the event log has them.
	Skipped uint64 `json:"skipped,omitempty"`
}

// StateChange holds the members of the state that differ from those sent last; the first change has all of
// them. The member Agents is sent agent by agent: Agents holds those that changed, by their index, and
// AgentCount how many there are.
type StateChange struct {
	Version    int                        `json:"version"`
	Members    map[string]json.RawMessage `json:"members,omitempty"`
	Agents     map[int]json.RawMessage    `json:"agents,omitempty"`
	AgentCount int                        `json:"agent_count"`
}

// RunEnded reports how the run ended. The process that played it ends right after it.
type RunEnded struct {
	Exit       int      `json:"exit"`
	Text       string   `json:"text,omitempty"` // what a person should read about it
	Unfinished []string `json:"unfinished,omitempty"`
	Notices    []string `json:"notices,omitempty"` // printed after the frontend has closed, a line each
}

// AttachParams requests an agent's session in a terminal of that size, in cells.
type AttachParams struct {
	Agent string `json:"agent"`
	Size
	Term string `json:"term,omitempty"` // TERM
	// Frontend is as in PutParams.
	Frontend string `json:"frontend,omitempty"`
}

// Size is the size of a terminal, in cells.
type Size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// AttachResult reports that the session is open, and whose it is.
type AttachResult struct {
	Head
	Run     string `json:"run"`
	Agent   string `json:"agent"`
	Name    string `json:"name"`
	Host    string `json:"host,omitempty"` // on which it runs; empty: here
	Session string `json:"session"`        // the id of Claude's session
}

// Progress describes how far opening has come.
type Progress struct {
	Text string `json:"text"`
}

// Data is what a person typed, or what the terminal shows; base64.
type Data struct {
	Data []byte `json:"data"`
}

// Ended reports how an attachment ended.
type Ended struct {
	Reason string   `json:"reason"`
	Words  int      `json:"words,omitempty"` // number of messages that the person sent
	Files  []string `json:"files,omitempty"` // changed meanwhile
	// Dropped reports that the output was not taken in time.
	Dropped bool `json:"dropped,omitempty"`
	// Lost reports that the arbiter has gone.
	Lost bool `json:"-"`
}

// HaltParams says who halts the run; Frontend is as in PutParams.
type HaltParams struct {
	Frontend string `json:"frontend,omitempty"`
}

// HaltResult reports what happened to a halt.
type HaltResult struct {
	Head
	// How is the way in which it was done: loop, bridge, killed; each is more forcible than the one before.
	How    string   `json:"how"`
	Swept  int      `json:"swept"`          // processes that were killed one by one
	Left   []string `json:"left,omitempty"` // processes that run nevertheless
	Halted bool     `json:"halted"`         // the run itself has recorded it
}
