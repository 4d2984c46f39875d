package tui

import (
	"context"
	"io"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Host is the program around the frontend: all that touches processes, files and the
// terminal. Calls may take time unless they say otherwise; the frontend makes them from
// a worker.
type Host interface {
	// Inspect finds out what a person should know before anything is begun.
	Inspect(ctx context.Context) Findings
	// Trust records that the workspace is trusted, as it was surveyed last, and loads what
	// it brings along into the next run; it fails if it is not as it was. Without notes
	// that the person continues without; it does not block.
	Trust(ctx context.Context) error
	Without()
	// Begin starts a run, takes one up again, or follows one that another process plays. Its
	// events go to sink, in order and on one goroutine at a time: sink does not block. With Resume
	// the first of them are those that the run's log has behind After.
	Begin(ctx context.Context, b Begin, sink runloop.Sink) (Run, error)
	// Past opens the event log of a run; nil: there is none. The frontend closes it.
	Past(ctx context.Context, run string) (*eventlog.Log, error)

	// Runs lists the live, resumable and finished runs of all directories, the last active first. Report
	// is the report of one, as Markdown.
	Runs(ctx context.Context) ([]RunInfo, error)
	Report(ctx context.Context, run string) (string, error)

	// Explain says how a decision of a run was made: what was read for it, word for word, and the answer. It is named
	// by its number; 0: the last one.
	Explain(ctx context.Context, run string, number int) (string, error)

	// Changes lists the files that a run has changed so far, by path. Versions reads one of them; it was renamed from
	// old, or old is empty.
	Changes(ctx context.Context, run string) ([]ChangedFile, error)
	Versions(ctx context.Context, run, path, old string) (Versions, error)
	// Revert takes back a change of a run that is not active. Land merges the work of a run into the branch that is
	// checked out, and reports the result.
	Revert(ctx context.Context, run string, r contract.Revert) error
	Land(ctx context.Context, run string) (say string, err error)

	// Settings are those of the program, and the file that the person changes them in. ChangeSetting writes one there,
	// or removes it if the value is empty, and says what it did; nothing is written that the program would not start
	// with. OpenSettings opens the file in the person's editor, and takes the terminal as Edit does.
	Settings(ctx context.Context) (list []Setting, file string, err error)
	ChangeSetting(ctx context.Context, name, value string) (say string, err error)
	OpenSettings() error

	// Edit has a text edited in the user's own editor, and Login has `claude` log in.
	// They take the terminal: the frontend calls them while its screen is suspended.
	Edit(text string) (string, error)
	Login() error
	// Open shows a changed file of a run in that editor, at a line that is counted from 1. The same holds.
	Open(run, path string, line int) error
	// Attach shows an agent's session until it is given back. The same holds.
	Attach(agent string) error
	// Suspend stops the process until it is continued. The same holds.
	Suspend() error

	// Shell runs a line in the user's shell, in a directory, until it ends or ctx does. When it returns, nothing runs
	// of what the line has started. Out takes what it says.
	Shell(ctx context.Context, dir, line string, out io.Writer) (code int, err error)

	// Files lists what in the workspace begins with a path's beginning, directories
	// with a slash at the end, and files that have its letters in their paths. Documents lists its Markdown files,
	// the nearest first.
	Files(ctx context.Context, prefix string) []string
	Documents(ctx context.Context) []Document
	ReadDocument(path string) (string, error)
	// Image reads an image file, and returns its absolute path and what it is, as 640×480 png. The error says why it
	// cannot be sent.
	Image(path string) (absolute, size string, err error)
	// Save writes a text into a new file and returns its path.
	Save(name, text string) (path string, err error)
	// Inputs are earlier inputs, oldest first; Remember adds one.
	Inputs() []string
	Remember(text string)
}

// Run is a run from one start of the program to its end.
type Run interface {
	// ID names the run; it stays the same when the run is resumed.
	ID() string
	// Snapshot is the present state; it is not changed. It does not block.
	Snapshot() *supervisor.State
	// Changed has a value when the state is another one than before.
	Changed() <-chan struct{}
	// Put hands a command in. It reports false when the run is over. It may block for
	// a moment when the run is busy, so that the frontend calls it from a worker.
	Put(contract.Command) bool
	// Stop ends the run in order, so that it can be taken up again; the second call is
	// in a hurry. It does not block.
	Stop()
	// Leave has the run go on when the frontend ends. It does not block.
	Leave()
	// Halt stops every agent, even if the run itself does not answer, and describes the
	// result. It may take some seconds.
	Halt() (say string)
	// Done is closed when the run is over and all that belonged to it has ended.
	Done() <-chan struct{}
	// Outcome is how it ended, once it is done.
	Outcome() Outcome
}

// Begin says what to start.
type Begin struct {
	Task     string            // the human's first word; with Resume, a further one
	Images   []string          // paths of image files that go with Task
	Resume   string            // id of the run to resume; empty: a new one
	After    eventlog.Position // how far the log of the run that is taken up was read
	Rehearse bool
}

// Outcome is how a process ended.
type Outcome struct {
	Exit contract.Exit
	Text string // what a person should read of it, empty if all is said
	// Unfinished names what did not end in time.
	Unfinished []string
	// Lost says that the process that played the run ended without a word.
	Lost bool
}

// Findings are the facts about this machine and directory.
type Findings struct {
	Claude      string // version of the CLI; empty: there is none that can be driven
	Path        string
	Problem     string // why there is none
	Missing     bool   // it is not there at all
	Login       Login
	Account     string // who is logged in, as the CLI puts it
	Model       string // that was asked for; empty: the CLI's own choice
	CWD         string
	Trusted     bool
	Permissions string    // the mode: ask, rules, accept-edits, allow-all; empty: not told
	Sandbox     string    // what was asked for: off, auto, on; empty: not told
	Trust       Trust     // what would be loaded of the workspace if it were
	Rehearsal   bool      // a scripted model plays: neither CLI nor login is needed
	Runs        []RunInfo // of this directory that can be taken up, the last active first
}

// Trust lists the parts of a workspace that can run code or redirect an agent. Its texts
// are unchanged.
type Trust struct {
	Items   []TrustItem // none: there is nothing to ask about
	Changed bool        // it was trusted once, and has changed since
	Problem string      // why it could not be told
}

// TrustItem is one thing of it. How reports what happened to it since it was trusted; empty:
// nothing, or it never was.
type TrustItem struct{ Kind, File, Name, What, How string }

// Login reports whether the CLI has a login.
type Login uint8

// The answers.
const (
	LoginUnknown Login = iota // not asked, or not told
	LoginNo
	LoginYes
)

// RunInfo is a run, which can be taken up or not.
type RunInfo struct {
	ID, Title, Status string
	LastActive        time.Time
	Bytes             int64
	Rehearsal         bool

	CWD       string
	Here      bool // it is a run of this directory
	Live      bool
	Finished  bool    // it came to an end, and has a report
	Resumable bool    // it can be taken up again
	CostUSD   float64 // as far as its event log tells; of Host.Runs alone
}

// Document is a file that may hold requirements.
type Document struct {
	Path  string // from the workspace
	Bytes int64
	Title string // its first heading
}
