package tui

import (
	"context"
	"io"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Host is the program around the frontend: it does everything that concerns processes, files and the
// terminal. Calls may take time unless they are documented otherwise; the frontend makes them on a worker.
type Host interface {
	// Inspect determines what a person should know before a run begins.
	Inspect(ctx context.Context) Findings
	// Trust records that the workspace is trusted in the state of the last survey, and loads its files into
	// the next run; it fails if the workspace has changed. Without records that the person continues
	// without them; it does not block.
	Trust(ctx context.Context) error
	Without()
	// Begin starts a run, resumes one, or follows one that another process plays. Its events go to sink, in
	// order and on one goroutine at a time: sink does not block. With Resume, the first of them are those
	// that follow After in the run's log.
	Begin(ctx context.Context, b Begin, sink runloop.Sink) (Run, error)
	// Past opens the event log of a run; nil: there is none. The frontend closes it.
	Past(ctx context.Context, run string) (*journal.EventLog, error)

	// Runs lists the active, resumable and finished runs of all directories, the last active first. Report
	// returns the report of one, as Markdown.
	Runs(ctx context.Context) ([]RunInfo, error)
	Report(ctx context.Context, run string) (string, error)

	// Explain describes how a decision of a run was made: what was read for it, verbatim, and the answer.
	// The decision is named by its number; 0: the last one.
	Explain(ctx context.Context, run string, number int) (string, error)

	// Changes lists the files that a run has changed so far, by path. Versions reads the versions of one of
	// them; old is its previous path if it was renamed, otherwise empty.
	Changes(ctx context.Context, run string) ([]ChangedFile, error)
	Versions(ctx context.Context, run, path, old string) (Versions, error)
	// Revert reverts a change of a run that is not active. Land commits the work of a run on the branch
	// that is checked out, and reports the result.
	Revert(ctx context.Context, run string, r contract.Revert) error
	Land(ctx context.Context, run string) (report string, err error)
	// Fork begins a run in the background that continues another one from before a decision, and reports how to
	// see it.
	Fork(ctx context.Context, run string, at int) (report string, err error)

	// Settings are those of the program, and the file in which the person changes them. ChangeSetting
	// writes one there, or removes it if the value is empty, and reports what it did; it refuses a value
	// with which the program would not start. OpenSettings opens the file in the person's editor, and takes
	// the terminal like Edit.
	Settings(ctx context.Context) (list []Setting, file string, err error)
	ChangeSetting(ctx context.Context, name, value string) (report string, err error)
	OpenSettings() error

	// Edit opens a text in the user's own editor, and Login runs the log-in of `claude`. They take the
	// terminal: the frontend calls them while its screen is suspended.
	Edit(text string) (string, error)
	Login() error
	// Open opens a changed file of a run in that editor, at a line counted from 1. It takes the terminal,
	// too.
	Open(run, path string, line int) error
	// Attach shows an agent's session until it is given back. It takes the terminal, too.
	Attach(agent string) error
	// Suspend stops the process until it is continued. It takes the terminal, too.
	Suspend() error

	// Shell runs a line in the user's shell, in a directory, until it ends or ctx does. When it returns, no
	// process that the line has started is running. out receives its output.
	Shell(ctx context.Context, dir, line string, out io.Writer) (code int, err error)

	// Files lists the paths in the workspace that begin with a prefix, directories with a slash at the end,
	// and files whose paths contain its letters. Documents lists its Markdown files, the nearest first.
	Files(ctx context.Context, prefix string) []string
	Documents(ctx context.Context) []Document
	ReadDocument(path string) (string, error)
	// Image reads an image file, and returns its absolute path and its size and type, such as 640×480 png.
	// The error says why it cannot be sent.
	Image(path string) (absolute, size string, err error)
	// Save writes a text into a new file and returns its path.
	Save(name, text string) (path string, err error)
	// Inputs returns earlier inputs, oldest first; Remember adds one.
	Inputs() []string
	Remember(text string)
}

// Run is one process of a run, from its start to its end.
type Run interface {
	// ID names the run; it stays the same when the run is resumed.
	ID() string
	// Snapshot returns the current state, which is never modified. It does not block.
	Snapshot() *supervisor.State
	// Changed has a value when the state has changed.
	Changed() <-chan struct{}
	// Silent returns since when the process that plays the run has not answered; zero: it answers.
	Silent() time.Time
	// Put submits a command. It returns false if the run is over, or if ctx ends before the run has taken it. It may
	// block when the run is busy or hangs, so the frontend calls it on a worker.
	Put(context.Context, contract.Command) bool
	// Stop ends the run in order, so that it can be resumed; a second call ends it in a hurry. It does not
	// block.
	Stop()
	// Leave makes the run continue when the frontend ends. It does not block.
	Leave()
	// Halt stops every agent, even if the run itself does not answer, and describes the
	// result. It may take some seconds.
	Halt() (report string)
	// Done is closed when the run and everything that belongs to it has ended.
	Done() <-chan struct{}
	// Outcome returns how it ended, once it is done.
	Outcome() Outcome
}

// Begin describes what to start.
type Begin struct {
	Task     string              // the human's first word; with Resume, a further one
	Images   []string            // paths of image files that go with Task
	Resume   string              // id of the run to resume; empty: a new one
	After    journal.LogPosition // how far the log of the run to resume was read
	Rehearse bool
}

// Outcome describes how a process ended.
type Outcome struct {
	Exit contract.Exit
	Text string // what a person should read about it, empty if everything was shown
	// Unfinished names what did not end in time.
	Unfinished []string
	// Lost reports that the process that played the run ended without reporting a result.
	Lost bool
}

// Findings are the facts about this machine and directory.
type Findings struct {
	Claude      string // version of the CLI; empty: there is none that can be driven
	Path        string
	Problem     string // why there is none
	Missing     bool   // it is not installed at all
	Login       Login
	Account     string // who is logged in, as the CLI reports it
	Model       string // the requested model; empty: the CLI's default
	CWD         string
	Trusted     bool
	Permissions string    // the mode: ask, rules, accept-edits, allow-all; empty: not reported
	Sandbox     string    // the requested mode: off, auto, on; empty: not reported
	Trust       Trust     // the files of the workspace that would be loaded if it were trusted
	Rehearsal   bool      // a scripted model plays: neither CLI nor login is needed
	Runs        []RunInfo // of this directory that can be resumed, the last active first
	State       string    // the flag with which commands find the runs, with a leading space; empty: without one
}

// Trust lists the parts of a workspace that can run code or redirect an agent. Its texts
// are unchanged.
type Trust struct {
	Items   []TrustItem // none: there is nothing to ask about
	Texts   []string    // files with text for agents, such as CLAUDE.md, which need trust, too, but are not asked about
	Changed bool        // it was trusted once, and has changed since
	Problem string      // why it could not be determined
}

// TrustItem is one such part. How reports what has changed since it was trusted; empty: nothing, or it was
// never trusted.
type TrustItem struct{ Kind, File, Name, What, How string }

// Login reports whether the CLI has a login.
type Login uint8

// The possible answers.
const (
	LoginUnknown Login = iota // not asked, or not told
	LoginNo
	LoginYes
)

// RunInfo is a run, which may be resumable.
type RunInfo struct {
	ID, Title, Status string
	LastActive        time.Time
	Bytes             int64
	Rehearsal         bool

	CWD       string
	Here      bool // it is a run of this directory
	Live      bool
	Finished  bool    // it came to an end, and has a report
	Resumable bool    // it can be resumed
	CostUSD   float64 // according to its event log; only from Host.Runs

	CostUnknown bool // it has cost more than CostUSD, and nobody knows how much
}

// Document is a file that may hold requirements.
type Document struct {
	Path  string // relative to the workspace
	Bytes int64
	Title string // its first heading
}
