package bridge

import (
	"context"
	"fmt"
)

// Requests that find out about an agent's work without asking the agent.

// Bounds of checks.
const (
	// DefaultCheckTimeout is how long a check may take unless it says otherwise.
	DefaultCheckTimeoutMS = 120_000
	// CheckOutputCap bounds the output that a check's result quotes, in bytes: its end.
	CheckOutputCap = 4 << 10
)

// CheckParams runs the command of a check in a separate shell, outside of any agent.
// Its environment contains no credentials of the agents.
type CheckParams struct {
	Command   string            `json:"command"`
	CWD       string            `json:"cwd"`
	TimeoutMS int               `json:"timeout_ms,omitempty"` // 0 = DefaultCheckTimeoutMS
	Env       map[string]string `json:"env,omitempty"`        // added after the allow-list
	Sandbox   *SandboxConfig    `json:"sandbox,omitempty"`    // nil: no sandbox
	// Scratch runs the command in the sandbox on a copy of the workspace as it is, with its ignored and untracked
	// files: a command may succeed only because of a file that is in no commit. What the command changes is gone when
	// it ends. It has no network but its own loopback interface.
	Scratch bool `json:"scratch,omitempty"`
}

// CheckResult is the result of a check. All processes that the command started have ended.
type CheckResult struct {
	Exit       int    `json:"exit"` // -1 when ended by a signal
	Signal     string `json:"signal,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Bytes      int64  `json:"bytes"`            // of stdout and stderr together
	SHA256     string `json:"sha256"`           // of the whole output, in hexadecimal
	Output     string `json:"output,omitempty"` // the end of the output, at most CheckOutputCap bytes
}

// InspectParams asks what can be observed of a session's work from outside: its
// transcript and the repository in its working directory.
type InspectParams struct {
	SessionID string            `json:"session_id"`
	CWD       string            `json:"cwd"`
	Env       map[string]string `json:"env,omitempty"` // the session's environment, which locates its transcript
	// Mark asks only for a mark of the current state; Since asks only for the changes since
	// such a mark.
	Mark  bool         `json:"mark,omitempty"`
	Since *InspectMark `json:"since,omitempty"`
	// Sandbox confines the programs that read the repository: its configuration may name
	// programs, and an agent may have written it. Nil: no sandbox.
	Sandbox *SandboxConfig `json:"sandbox,omitempty"`
}

// InspectResult is what was found. What could not be read is absent, and Problems
// says why.
type InspectResult struct {
	Git      *GitState    `json:"git,omitempty"` // absent outside of a repository
	Texts    []string     `json:"said"`          // the last texts of the main thread, oldest first, limited
	Files    []string     `json:"files"`         // files that its tools and its subagents' tools wrote, the latest last
	Commands []RanCommand `json:"commands"`      // the last commands that it ran, oldest first, limited
	Problems []string     `json:"trouble,omitempty"`

	Mark    *InspectMark `json:"mark,omitempty"`    // the answer to InspectParams.Mark
	Changes *Changes     `json:"changes,omitempty"` // the answer to InspectParams.Since
}

// InspectMark is the state of a session and its repository at one time.
type InspectMark struct {
	AtMS       int64  `json:"at_ms"`      // Unix time in milliseconds
	Transcript int64  `json:"transcript"` // its size in bytes
	Git        bool   `json:"git,omitempty"`
	Head       string `json:"head,omitempty"` // commit; empty before the first commit
	// Dirty are files that differed from Head, including untracked files: at most MarkFiles.
	Dirty []DirtyFile `json:"dirty,omitempty"`
	// Partial says that there were more such files.
	Partial bool `json:"partial,omitempty"`
}

// MarkFiles bounds InspectMark.Dirty.
const MarkFiles = 500

// DirtyFile is a file that differs from the commit. Sum identifies its content;
// empty: the file did not exist.
type DirtyFile struct {
	Path string `json:"path"` // relative to the repository's root
	Sum  string `json:"sum,omitempty"`
}

// Changes is what happened since a mark. Lists are bounded.
type Changes struct {
	Words   int         `json:"words"`             // how many messages were typed into the session
	Typed   []string    `json:"typed"`             // the last of these messages, oldest first
	Texts   []string    `json:"said"`              // the model's last texts, oldest first
	Tools   []ToolCount `json:"tools"`             // tools that the session and its subagents used, by name
	Files   []string    `json:"files"`             // files that differ now, or that its tools wrote
	Commits []string    `json:"commits,omitempty"` // commits since the mark, newest first
	// Moved says that the repository's HEAD is not a descendant of the mark's Head.
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

// GitState is the state of a repository, read without changing it.
type GitState struct {
	Branch string `json:"branch,omitempty"`
	Head   string `json:"head,omitempty"`
	// Operation is an operation that is in progress: merge, rebase, cherry-pick,
	// revert or bisect.
	Operation string   `json:"operation,omitempty"`
	Commits   []string `json:"commits,omitempty"` // the latest commits, one line each, newest first
	Status    []string `json:"status,omitempty"`  // git status --porcelain, limited
	Stat      string   `json:"stat,omitempty"`    // git diff --stat HEAD, limited
}

// EvidenceCollector examines work without asking the agents that did it, for a [Server]. Its methods are
// safe for concurrent use.
type EvidenceCollector interface {
	// Check runs a command for its owner; everything that the command starts bears the owner's mark. When
	// ctx or the command ends, all these processes are ended before Check returns; that takes at most a
	// second.
	Check(ctx context.Context, of Owner, p CheckParams) (CheckResult, error)
	// Inspect looks at a session's transcript and repository, and changes neither. What it cannot see is
	// not an error, but is described in InspectResult.Problems.
	Inspect(ctx context.Context, p InspectParams) (InspectResult, error)
}

func (c *conversation) check(ctx context.Context, p CheckParams) (CheckResult, error) {
	return inquire(ctx, c.inquiries, "a check", func(ctx context.Context) (CheckResult, error) {
		r, err := c.collector.Check(ctx, c.owner, p)
		if err != nil {
			return r, fmt.Errorf("check: %w", err)
		}
		return r, nil
	})
}

func (c *conversation) inspect(ctx context.Context, p InspectParams) (InspectResult, error) {
	return inquire(ctx, c.inquiries, "a survey", func(ctx context.Context) (InspectResult, error) {
		r, err := c.collector.Inspect(ctx, p)
		if err != nil {
			return r, fmt.Errorf("survey: %w", err)
		}
		return r, nil
	})
}
