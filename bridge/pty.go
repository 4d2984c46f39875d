package bridge

// PTYOpenParams opens a session of the CLI in a terminal of the bridge, for a human:
// `claude --resume`. No other process may use the session. The generation is the agent's
// next one. `kill` and `shutdown` treat the terminal like any other agent.
type PTYOpenParams struct {
	AgentRef
	// Config is the agent's configuration. The bridge leaves out what only a supervised process
	// has: verdicts, Arbiter's tools, partial text.
	Config AgentConfig `json:"config"`
	// Settings is JSON for the CLI's --settings: hooks that ask the running arbiter.
	Settings string `json:"settings,omitempty"`
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Term     string `json:"term,omitempty"` // the variable TERM; empty: xterm-256color
}

// PTYOpenResult says that the session is running.
type PTYOpenResult struct {
	PID int `json:"pid"`
	// Argv, CWD and Sandbox are as in SpawnResult.
	Argv    []string `json:"argv,omitempty"`
	CWD     string   `json:"cwd,omitempty"`
	Sandbox bool     `json:"sandbox,omitempty"`
}

// PTYWriteParams is what the human types.
type PTYWriteParams struct {
	AgentRef
	Data []byte `json:"data"` // base64
}

// PTYResizeParams is the size of the human's terminal, in cells.
type PTYResizeParams struct {
	AgentRef
	Cols int `json:"cols"`
	Rows int `json:"rows"`
}

// PTYCloseParams ends the terminal's process in steps (SIGHUP, TERM, KILL and sweep).
// The result comes when all of its processes have ended.
type PTYCloseParams struct{ AgentRef }
