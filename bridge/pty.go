package bridge

// PTYOpenParams opens a session of the CLI in a terminal of the bridge's, for a person:
// `claude --resume`. No other process may have the session; the generation is the next
// one of the agent's. The terminal is an agent like any other to `kill` and `shutdown`.
type PTYOpenParams struct {
	AgentRef
	// Config is that of the agent. What only a supervised process has (verdicts, our
	// tools, partial text) is left out of it by the bridge.
	Config AgentConfig `json:"config"`
	// Settings is JSON for the CLI's --settings: hooks that ask the running arbiter.
	Settings string `json:"settings,omitempty"`
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Term     string `json:"term,omitempty"` // TERM; empty: xterm-256color
}

// PTYOpenResult says that it is running.
type PTYOpenResult struct {
	PID int `json:"pid"`
	// Argv, CWD and Sandbox are as in SpawnResult.
	Argv    []string `json:"argv,omitempty"`
	CWD     string   `json:"cwd,omitempty"`
	Sandbox bool     `json:"sandbox,omitempty"`
}

// PTYWriteParams is what the person types.
type PTYWriteParams struct {
	AgentRef
	Data []byte `json:"data"` // base64
}

// PTYResizeParams is the size of the person's terminal, in cells.
type PTYResizeParams struct {
	AgentRef
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// PTYCloseParams ends the terminal's process in order (SIGHUP, TERM, KILL and sweep).
// The result comes when nothing of it is left.
type PTYCloseParams struct{ AgentRef }
