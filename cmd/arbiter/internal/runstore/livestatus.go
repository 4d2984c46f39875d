package runstore

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// LiveStatus is where a live run stands, as its process answers on the control socket.
type LiveStatus struct {
	LiveReport
	LogLines    uint64 `json:"log_lines"`   // of the event log when this process began to run it
	Permissions string `json:"permissions"` // the mode
	Ending      bool   `json:"ending"`      // or over: it takes nothing any more
}

// LiveReport is a live run in the output of status --json, and an element of that of ps --json.
type LiveReport struct {
	Run          string                 `json:"run"`
	PID          int                    `json:"pid"`
	CWD          string                 `json:"cwd"`
	Title        string                 `json:"title"`
	Began        time.Time              `json:"began"`
	Rehearsal    bool                   `json:"rehearsal,omitempty"` // a scripted model plays; costs are not real
	Phase        string                 `json:"state"`
	Does         string                 `json:"does"` // the same in words
	Paused       bool                   `json:"paused"`
	Halted       bool                   `json:"halted"`
	Seq          uint64                 `json:"seq"` // of the last event
	CostUSD      float64                `json:"cost_usd"`
	Subagents    int                    `json:"subagents"`     // that the run has started
	MaxSubagents int                    `json:"max_subagents"` // that it may start
	Agents       []AgentStatus          `json:"agents"`
	Inbox        []supervisor.InboxItem `json:"inbox"` // the oldest first
	// ForkedFrom is the run that it branched off from.
	ForkedFrom *journal.Fork `json:"forked_from,omitempty"`
	// Problem says why the run did not answer. Then only the data in its directory is known.
	Problem string `json:"problem,omitempty"`
}

// Name returns the name of a party of the run.
func (r LiveReport) Name(id string) string {
	for _, a := range r.Agents {
		if a.ID == id {
			return eventtext.Whole(a.Name, a.Host, a.Make)
		}
	}
	return eventtext.Name(id)
}

// CostUnknown reports whether the run has cost more than is known.
func (r LiveReport) CostUnknown() bool {
	return slices.ContainsFunc(r.Agents, func(a AgentStatus) bool { return a.CostUnknown })
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
