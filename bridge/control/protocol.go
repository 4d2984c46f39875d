package control

import "encoding/json"

// Version of the protocol. Each result tells it.
const Version = 1

// SocketName is the socket in a run's directory, or a link to it.
const SocketName = "control.sock"

// Methods of a client, and what it is told meanwhile.
const (
	MethodStatus  = "status"     // → Status
	MethodCommand = "command"    // CommandParams → CommandResult
	MethodAttach  = "attach"     // AttachParams → AttachResult, when the terminal is open
	MethodWrite   = "pty_write"  // Data
	MethodResize  = "pty_resize" // Size
	MethodDetach  = "detach"     // → Head; `ended` follows when the session was given back
	MethodHalt    = "halt"       // → HaltResult

	NotifyProgress = "progress" // Progress, before attach is answered
	NotifyPTY      = "pty"      // Data
	NotifyEnded    = "ended"    // Ended, the last of an attachment
)

// Codes of errors, beside those of JSON-RPC.
const (
	CodeRefused = -32001 // the peer may not ask
	CodeFailed  = -32002 // it could not be done; the message says why
	CodeBusy    = -32003 // too much at once
)

// Head is in every result.
type Head struct {
	V int `json:"v"`
}

// Status is what runs.
type Status struct {
	Head
	Run    string        `json:"run"`
	CWD    string        `json:"cwd"`
	PID    int           `json:"pid"` // of the arbiter
	Phase  string        `json:"phase"`
	Paused bool          `json:"paused"`
	Halted bool          `json:"halted"`
	Agents []AgentStatus `json:"agents"`
}

// AgentStatus is one agent.
type AgentStatus struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	Session  string `json:"session"`
	Attached string `json:"attached,omitempty"` // who has it in a terminal
}

// CommandParams is a line as `arbiter --json` takes it on stdin.
type CommandParams struct {
	Command json.RawMessage `json:"command"`
}

// CommandResult comes when the command is durable, or refused.
type CommandResult struct {
	Head
	Accepted bool   `json:"accepted"`
	Ref      string `json:"ref,omitempty"`
	Message  string `json:"message"`
}

// AttachParams asks for an agent's session in a terminal of that size, in cells.
type AttachParams struct {
	Agent string `json:"agent"`
	Size
	Term string `json:"term,omitempty"` // TERM
}

// Size is one of a terminal, in cells.
type Size struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// AttachResult says that it is open: whose session it is.
type AttachResult struct {
	Head
	Run     string `json:"run"`
	Agent   string `json:"agent"`
	Name    string `json:"name"`
	Session string `json:"session"` // Claude's
}

// Progress is a word while it is being opened.
type Progress struct {
	Text string `json:"text"`
}

// Data is what a person typed, or what the terminal shows; base64.
type Data struct {
	Data []byte `json:"data"`
}

// Ended says how an attachment ended.
type Ended struct {
	Reason string   `json:"reason"`
	Words  int      `json:"words,omitempty"` // messages of the person's
	Files  []string `json:"files,omitempty"` // changed meanwhile
	// Dropped says that the output was not taken in time.
	Dropped bool `json:"dropped,omitempty"`
	// Lost says that the arbiter has gone.
	Lost bool `json:"-"`
}

// HaltResult says what became of a halt.
type HaltResult struct {
	Head
	// How it was done: loop, bridge, killed; the later the harder.
	How    string   `json:"how"`
	Swept  int      `json:"swept"`          // processes that were killed one by one
	Left   []string `json:"left,omitempty"` // that are alive all the same
	Halted bool     `json:"halted"`         // the run itself has taken note
}
