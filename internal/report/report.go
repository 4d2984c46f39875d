package report

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Report is the content of a report. Its JSON form is the format json.
type Report struct {
	Run        string          `json:"run"`
	Directory  string          `json:"directory"`
	Status     string          `json:"status"` // of the result; live, interrupted, never_began or damaged without one
	Rehearsal  bool            `json:"rehearsal,omitempty"`
	Began      time.Time       `json:"began"`
	Ended      time.Time       `json:"ended"` // the last event
	DurationMS int64           `json:"duration_ms"`
	Tasks      []string        `json:"tasks"`
	Messages   []string        `json:"said"` // messages of the human other than tasks
	Summary    string          `json:"summary"`
	Plan       []contract.Step `json:"plan"`
	Milestones []Milestone     `json:"milestones"`
	Changes    Changes         `json:"changes"`
	Acceptance []Criterion     `json:"acceptance"`
	Checks     []Check         `json:"checks"`
	Decisions  []Decision      `json:"decisions"`
	Answers    []Answer        `json:"answers,omitempty"`
	Agents     []Agent         `json:"agents"`
	CostUSD    float64         `json:"cost_usd"`
	Usage      bridge.Usage    `json:"usage"`
	Open       []Open          `json:"open"`
	Notes      []string        `json:"notes"` // what the report omits, and why

	ForkedFrom *contract.Fork `json:"forked_from,omitempty"` // its costs are a part of CostUSD
}

// Milestone is what an agent reported when it had reached something.
type Milestone struct {
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Kind  string    `json:"kind"` // done, handoff, complete or report
	Text  string    `json:"text"`
}

// Changes are the files that differ between the beginning of the run and its end.
type Changes struct {
	Files   []File `json:"files"`
	Added   int    `json:"added"` // lines, in all files, also those that are not listed
	Deleted int    `json:"deleted"`
	Count   int    `json:"count"`             // of files
	Missing string `json:"missing,omitempty"` // why nothing is known
	Branch  string `json:"branch,omitempty"`
	Head    string `json:"head,omitempty"`
}

// File is a changed file.
type File struct {
	Path    string   `json:"path"`
	Old     string   `json:"old,omitempty"` // previous path of a renamed file
	Status  string   `json:"status"`
	Added   int      `json:"added"`
	Deleted int      `json:"deleted"`
	Binary  bool     `json:"binary,omitempty"`
	Agents  []string `json:"agents,omitempty"`
}

// Criterion is an acceptance criterion with its last result, as the event acceptance reports it.
type Criterion struct {
	Text     string `json:"text"`
	Command  string `json:"command,omitempty"`
	By       string `json:"by"`
	Status   string `json:"status"` // passed, failed or unproven
	ExitCode int    `json:"exit_code"`
	SHA256   string `json:"sha256,omitempty"`
	Tree     string `json:"tree,omitempty"`
}

// Check is a check of a hand-off document with its last receipt.
type Check struct {
	Agent      string `json:"agent"`
	Command    string `json:"command"`
	Expect     string `json:"expect"`
	Result     string `json:"result"` // passed, failed, unrun or unclear
	Exit       int    `json:"exit"`
	SHA256     string `json:"sha256,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Output     string `json:"output,omitempty"` // the end of it, of a check that did not pass
	Why        string `json:"why,omitempty"`
	Final      bool   `json:"final"` // it ran once more before the run was complete
}

// Decision is a ruling with its reason.
type Decision struct {
	Number   int      `json:"number,omitempty"`
	Decision string   `json:"decision"`
	To       string   `json:"to,omitempty"`
	Mode     string   `json:"mode,omitempty"`
	Reason   string   `json:"reason"`
	Source   string   `json:"source"`
	Warnings []string `json:"warnings,omitempty"`
}

// Answer is what the human decided about a tool call.
type Answer struct {
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	Text  string `json:"text"`
}

// Agent is an agent with what it used.
type Agent struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Mode        string       `json:"mode,omitempty"`
	Host        string       `json:"host,omitempty"` // its last host; empty: the one of the run
	SuccessorOf string       `json:"successor_of,omitempty"`
	Turns       int          `json:"turns"`
	Restarts    int          `json:"restarts"`
	Handoffs    int          `json:"handoffs"`
	Done        int          `json:"done"` // how often it reported that its work is done
	CostUSD     float64      `json:"cost_usd"`
	Usage       bridge.Usage `json:"usage"`
}

// tokenCount returns how many tokens were used, including those of the cache.
func tokenCount(u bridge.Usage) int { return u.Input + u.Output + u.CacheRead + u.CacheCreation }

// Open is something unsettled at the end of the run.
type Open struct {
	Kind string `json:"kind"` // one of the Open… constants
	Text string `json:"text"`
}

// Kinds of open points.
const (
	OpenQuestion  = "question"
	OpenCriterion = "criterion"
	OpenCheck     = "check"
	OpenConflict  = "conflict"
	OpenStep      = "step"
	OpenWork      = "work"
	OpenPoint     = "point" // the supervisor found it, and the Arbiter completed the task all the same
	OpenError     = "error"
)

// Failed reports whether a criterion, a check or the run failed.
func (r *Report) Failed() bool {
	for _, c := range r.Acceptance {
		if c.Status == "failed" {
			return true
		}
	}
	for _, c := range r.Checks {
		if c.Result == "failed" {
			return true
		}
	}
	return r.Status == contract.StatusFailed || r.Status == contract.StatusIncomplete || r.Status == contract.StatusLimit
}
