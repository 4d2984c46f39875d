package control

import "encoding/json"

// Version is the version of the protocol. Each result contains it.
const Version = 5

// SocketName is the socket in a run's directory, or a link to it.
const SocketName = "control.sock"

// Methods of a client, and the notifications that it gets.
const (
	MethodStatus  = "status"     // → StatusResult
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

// StatusResult has what the service says about its run. This package only passes that on.
type StatusResult[S any] struct {
	Head
	Status S `json:"status"`
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
// them, and null stands for one that is gone. Each agent is a member of its own: Agents/0, Agents/1 and so on.
type StateChange struct {
	Version int                        `json:"version"`
	Members map[string]json.RawMessage `json:"members,omitempty"`
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
