package subcommands

import (
	"context"
	"errors"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// LiveReport is a live run in the output of status --json, and an element of that of ps --json.
type LiveReport struct {
	Run       string                 `json:"run"`
	PID       int                    `json:"pid"`
	CWD       string                 `json:"cwd"`
	Title     string                 `json:"title"`
	Began     time.Time              `json:"began"`
	Rehearsal bool                   `json:"rehearsal,omitempty"`
	Phase     string                 `json:"state"`
	Paused    bool                   `json:"paused"`
	Halted    bool                   `json:"halted"`
	Seq       uint64                 `json:"seq"`
	CostUSD   float64                `json:"cost_usd"`
	Subagents int                    `json:"subagents"`     // that the run has started
	Most      int                    `json:"max_subagents"` // that it may start
	Agents    []liveAgent            `json:"agents"`
	Inbox     []supervisor.InboxItem `json:"inbox"`
	// ForkedFrom is the run that it branched off from.
	ForkedFrom *journal.Fork `json:"forked_from,omitempty"`
	// Problem says why the run did not answer. Then only the data in its directory is known.
	Problem string `json:"problem,omitempty"`
}

type liveAgent struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Mode       string    `json:"mode,omitempty"`
	Host       string    `json:"host,omitempty"` // absent: the host of arbiter
	Make       string    `json:"make,omitempty"` // absent: Claude Code
	Lacks      []string  `json:"lacks,omitempty"`
	Status     string    `json:"status"`
	Since      time.Time `json:"since"`
	SessionID  string    `json:"session_id"`
	ContextPct float64   `json:"context_pct"`
	CostUSD    float64   `json:"cost_usd"`
	// What nobody knows: how full its context is, and what some of its turns have cost.
	ContextUnknown bool    `json:"context_unknown,omitempty"`
	CostUnknown    bool    `json:"cost_unknown,omitempty"`
	Attached       string  `json:"attached,omitempty"`
	FuseUSD        float64 `json:"fuse_usd,omitempty"` // what it may cost before it is parked
	FuseSpent      float64 `json:"fuse_spent_usd,omitempty"`
	Subagents      int     `json:"subagents,omitempty"`     // that work
	Most           int     `json:"max_subagents,omitempty"` // that may at once
}

// reportOn asks a live run for its status.
func reportOn(ctx context.Context, store *runstore.Runs, info journal.Info) LiveReport {
	client, st, err := store.Dial(ctx, info, runstore.AnswerTime, nil)
	if err != nil {
		return silentReport(info, err)
	}
	defer client.Close()
	r, err := liveReportOf(info, st)
	if err != nil {
		return silentReport(info, err)
	}
	return r
}

func silentReport(info journal.Info, err error) LiveReport {
	r := LiveReport{Run: info.Run, PID: info.PID, CWD: info.CWD, Title: info.Title, Began: info.Began,
		Rehearsal: info.Rehearsal, Agents: []liveAgent{}, Inbox: []supervisor.InboxItem{}, Problem: err.Error(),
		ForkedFrom: info.ForkedFrom}
	if errors.Is(err, control.ErrSilent) || errors.Is(err, context.DeadlineExceeded) {
		r.Problem = "does not answer"
	}
	return r
}

func liveReportOf(info journal.Info, st control.Status) (LiveReport, error) {
	waiting, err := inboxOf(st)
	r := LiveReport{
		Run: st.Run, PID: st.PID, CWD: st.CWD, Title: st.Title, Began: st.Began, Rehearsal: info.Rehearsal,
		Phase: st.Phase, Paused: st.Paused, Halted: st.Halted, Seq: st.Seq, CostUSD: st.Cost, Agents: []liveAgent{},
		Inbox: waiting, Subagents: st.Subagents, Most: st.MaxSubagents, ForkedFrom: info.ForkedFrom,
	}
	for _, a := range st.Agents {
		r.Agents = append(r.Agents, liveAgent{ID: a.ID, Name: a.Name, Mode: a.Mode, Host: a.Host, Make: a.Make,
			Lacks: a.Lacks, ContextUnknown: a.ContextUnknown, CostUnknown: a.CostUnknown, Status: a.Status,
			Since: a.Since, SessionID: a.Session, ContextPct: a.Context, CostUSD: a.Cost, Attached: a.Attached,
			FuseUSD: a.Fuse, FuseSpent: a.FuseSpent, Subagents: a.Subagents, Most: a.MaxSubagents})
	}
	return r, err
}

// stands returns the state of the run in one word.
func (r LiveReport) stands() string {
	switch {
	case r.Halted:
		return "halted"
	case r.Paused:
		return "paused"
	}
	return r.Phase
}

// working returns the number of busy agents.
func (r LiveReport) working() (n int) {
	for _, a := range r.Agents {
		if a.Status == string(supervisor.AgentBusy) {
			n++
		}
	}
	return n
}
