package clients

// This file is the interface to the user's runs for servers of other protocols: MCP, ACP, and the web page.

import (
	"context"
	"io"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Start describes a run to start.
type Start struct {
	Dir  string // the workspace, absolute
	Task string
	// Args are arbiter flags for the run, such as "--max-cost", "5". Flags that choose a frontend, a workspace, a
	// task or another run are refused.
	Args []string
	Run  string // the id for the run, a UUID; empty: a new one
}

// Runs are the runs of this user. The methods are safe for concurrent use. The text of an error is for people: it
// says what happened and what to do.
type Runs interface {
	// List lists the live, resumable and finished runs, the most recently active first.
	List() ([]journal.Info, error)
	// Find finds a run by its id or a prefix of it.
	Find(named string) (journal.Info, error)
	// Dial connects to the process that plays a run. The caller closes the client.
	Dial(ctx context.Context, run string) (*control.Client, control.Status, error)
	// Start starts a run and returns its id. The run continues without the caller.
	Start(ctx context.Context, s Start) (run string, err error)
	// Resume resumes a run, which then continues without the caller. It does nothing to a live run.
	Resume(ctx context.Context, run string, args []string) error
	// Log opens the event log of a run: all events that the frontends received. The caller closes it.
	Log(run string) (*journal.EventLog, error)
	// Report writes a report of a run in one of the formats of arbiter report.
	Report(ctx context.Context, run, format string, w io.Writer) error
}
