package bridge

// What is found out about work without asking the agent that did it.

// Bounds of checks.
const (
	// DefaultCheckTimeout is how long a check may take unless it says otherwise.
	DefaultCheckTimeoutMS = 120_000
	// CheckOutputCap bounds the output that a check's result quotes, in bytes: its end.
	CheckOutputCap = 4 << 10
)

// CheckParams runs a command that is to prove something, in a shell of its own,
// outside of any agent. No credential of the agents is in its environment.
type CheckParams struct {
	Command   string            `json:"command"`
	CWD       string            `json:"cwd"`
	TimeoutMS int               `json:"timeout_ms,omitempty"` // 0 = DefaultCheckTimeoutMS
	Env       map[string]string `json:"env,omitempty"`        // added after the allow-list
	Sandbox   *SandboxConfig    `json:"sandbox,omitempty"`    // confines it; nil does not
}

// CheckResult is the result. Every process it had started is gone.
type CheckResult struct {
	Exit       int    `json:"exit"` // -1 when ended by a signal
	Signal     string `json:"signal,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Bytes      int64  `json:"bytes"`            // of stdout and stderr together
	SHA256     string `json:"sha256"`           // of all of it, in hexadecimal
	Output     string `json:"output,omitempty"` // its end, CheckOutputCap at most
}

// InspectParams asks what can be seen of a session's work from outside: its
// transcript and the repository in its working directory.
type InspectParams struct {
	SessionID string            `json:"session_id"`
	CWD       string            `json:"cwd"`
	Env       map[string]string `json:"env,omitempty"` // as the session had it: says where it keeps its transcript
	// Mark asks for nothing but a mark of how things stand; Since for nothing but what is
	// different from such a mark.
	Mark  bool         `json:"mark,omitempty"`
	Since *InspectMark `json:"since,omitempty"`
	// Sandbox confines what is run to look at the repository: its configuration may name
	// programs, and an agent may have written it. Nil does not.
	Sandbox *SandboxConfig `json:"sandbox,omitempty"`
}

// InspectResult is what was found; what could not be seen is absent, and Trouble
// says why.
type InspectResult struct {
	Git      *GitState    `json:"git,omitempty"` // nil outside of a repository
	Said     []string     `json:"said"`          // the last texts of the main thread, oldest first, bounded
	Files    []string     `json:"files"`         // that its tools wrote, subagents' too, the last written last
	Commands []RanCommand `json:"commands"`      // that it ran last, oldest first, bounded
	Trouble  []string     `json:"trouble,omitempty"`

	Mark    *InspectMark `json:"mark,omitempty"`    // InspectParams.Mark
	Changes *Changes     `json:"changes,omitempty"` // InspectParams.Since
}

// InspectMark is how a session and its repository stood at a time.
type InspectMark struct {
	AtMS       int64  `json:"at_ms"`      // Unix time
	Transcript int64  `json:"transcript"` // bytes of it
	Git        bool   `json:"git,omitempty"`
	Head       string `json:"head,omitempty"` // commit; empty before the first
	// Dirty are files that were not as in Head, untracked ones too: MarkFiles at most.
	Dirty []DirtyFile `json:"dirty,omitempty"`
	// Partial says that there were more.
	Partial bool `json:"partial,omitempty"`
}

// MarkFiles bounds InspectMark.Dirty.
const MarkFiles = 500

// DirtyFile is one that differs from its commit. Sum tells its content from another's;
// empty: it was not there.
type DirtyFile struct {
	Path string `json:"path"` // from the repository's root
	Sum  string `json:"sum,omitempty"`
}

// Changes is what happened since a mark. Lists are bounded.
type Changes struct {
	Words   int         `json:"words"`             // messages that were typed into the session
	Typed   []string    `json:"typed"`             // the last of them, oldest first
	Said    []string    `json:"said"`              // the model's last texts, oldest first
	Tools   []ToolCount `json:"tools"`             // that it used, subagents too, by name
	Files   []string    `json:"files"`             // that are different now, or were written by its tools
	Commits []string    `json:"commits,omitempty"` // made since, newest first
	// Moved says that the repository's HEAD is no descendant of the mark's.
	Moved bool `json:"moved,omitempty"`
}

// ToolCount is how often a tool was used.
type ToolCount struct {
	Tool  string `json:"tool"`
	Count int    `json:"count"`
}

// RanCommand is a command that a session ran.
type RanCommand struct {
	Command string `json:"command"`
	// Outcome is done, failed, or unknown (it has no result).
	Outcome  string `json:"outcome"`
	Subagent bool   `json:"subagent,omitempty"`
}

// GitState is a repository's, read without changing it.
type GitState struct {
	Branch string `json:"branch,omitempty"`
	Head   string `json:"head,omitempty"`
	// Operation is what was begun and not finished: merge, rebase, cherry-pick,
	// revert or bisect.
	Operation string   `json:"operation,omitempty"`
	Commits   []string `json:"commits,omitempty"` // the last ones, one line each, newest first
	Status    []string `json:"status,omitempty"`  // git status --porcelain, bounded
	Stat      string   `json:"stat,omitempty"`    // git diff --stat HEAD, bounded
}
