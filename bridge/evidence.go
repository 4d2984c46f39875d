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
}

// CheckResult is what came of it. Every process it had started is gone.
type CheckResult struct {
	Exit       int    `json:"exit"` // -1 when ended by a signal
	Signal     string `json:"signal,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Bytes      int64  `json:"bytes"`            // of stdout and stderr together
	SHA256     string `json:"sha256"`           // of all of it, in hexadecimal
	Output     string `json:"output,omitempty"` // its end, CheckOutputCap at most
}

// SurveyParams asks what can be seen of a session's work from outside: its
// transcript and the repository in its working directory.
type SurveyParams struct {
	SessionID string            `json:"session_id"`
	CWD       string            `json:"cwd"`
	Env       map[string]string `json:"env,omitempty"` // as the session had it: says where it keeps its transcript
}

// SurveyResult is what was found; what could not be seen is absent, and Trouble
// says why.
type SurveyResult struct {
	Git      *GitState `json:"git,omitempty"` // nil outside of a repository
	Said     []string  `json:"said"`          // the last texts of the main thread, oldest first, bounded
	Files    []string  `json:"files"`         // that its tools wrote, subagents' too, the last written last
	Commands []Deed    `json:"commands"`      // that it ran last, oldest first, bounded
	Trouble  []string  `json:"trouble,omitempty"`
}

// Deed is a command that a session ran.
type Deed struct {
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
