package runstore

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// NeverBegan is the status of a run that ended before it reached an agent.
const NeverBegan = "never_began"

// Interrupted is the status of a run that ended early: by a signal, a crash, or a closed screen.
const Interrupted = contract.StatusInterrupted

// Kept bounds the size of the state directory. Runs that can still be completed are never removed by this.
var Kept = journal.Retention{Runs: 200, Bytes: 4 << 30}

// Runs is the collection of runs in a state directory.
type Runs struct {
	*journal.Store
	Root string
}

// Dir returns the directory of a run.
func (r Runs) Dir(run string) string { return filepath.Join(r.Root, "runs", run) }

func Open(c *cli.Context) (*Runs, error) {
	dir, err := command.StateDir(c.String("state-dir"))
	if err != nil {
		return nil, err
	}
	return OpenIn(dir)
}

// OpenIn opens the runs of a state directory that exists.
func OpenIn(dir string) (*Runs, error) {
	store, err := journal.OpenStore(dir)
	if err != nil {
		return nil, command.StateDirProblem(err)
	}
	return &Runs{store, dir}, nil
}

// FindIn opens the runs of a state directory, and finds one by its id or a prefix of it. The caller closes the store.
func FindIn(dir, run string) (*Runs, journal.Info, error) {
	store, err := OpenIn(dir)
	if err != nil {
		return nil, journal.Info{}, err
	}
	info, err := Find(store.Store, run)
	if err != nil {
		store.Close()
		return nil, info, err
	}
	return store, info, nil
}

// Tidy removes files outside of the state directory that belong to removed or killed runs, and returns what it
// removed.
func (r Runs) Tidy() ([]string, error) {
	return command.SweepScratch(command.Places(), filepath.Join(r.Root, "runs"), r.Over)
}

// OpenOne opens the run that a command's argument names; without one, the last of this directory. The caller closes the
// store.
func OpenOne(c *cli.Context) (*Runs, journal.Info, error) {
	store, err := Open(c)
	if err != nil {
		return nil, journal.Info{}, err
	}
	info, err := NamedOrLatest(c, store, c.Args().First())
	if err != nil {
		store.Close()
		return nil, info, err
	}
	return store, info, nil
}

// NamedOrLatest finds a run by its name; without a name, the last one of the workspace.
func NamedOrLatest(c *cli.Context, store *Runs, name string) (journal.Info, error) {
	if name != "" {
		return Find(store.Store, name)
	}
	place, err := command.Workspace(c)
	if err != nil {
		return journal.Info{}, err
	}
	info, err := store.Latest(place, nil)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return info, command.Usagef("no run has worked in %s: name a RUN (arbiter sessions lists the runs)", place)
	case err != nil:
		return info, command.Environmentf("find the latest run: %v", err)
	}
	return info, nil
}

// ToResume finds the run to resume: the named one, or else the latest of a directory.
func ToResume(store *journal.Store, place, named string) (journal.Info, error) {
	if named != "" {
		return Find(store, named)
	}
	info, err := store.Latest(place, ReachedAgent)
	if err == nil {
		return info, nil
	}
	if !errors.Is(err, journal.ErrNotFound) {
		return info, command.Environmentf("find the latest run: %v", err)
	}
	return info, command.Usagef("nothing to resume: no run in %s started an agent; use --session RUN for a run "+
		"of another directory (arbiter sessions lists the runs)", place)
}

// ReachedAgent reports whether a run got far enough to be resumed.
func ReachedAgent(i journal.Info) bool { return !i.Empty && i.Status != NeverBegan }

// Status describes the state of a run, for a person who chooses one.
func Status(i journal.Info) string {
	switch {
	case i.Live:
		return "live"
	case i.Damaged:
		return "damaged"
	case i.Status != "":
		return i.Status
	case i.Empty:
		return NeverBegan
	}
	return Interrupted
}

type Line struct {
	Run        string    `json:"run"`
	Status     string    `json:"status"`
	CWD        string    `json:"cwd"`
	Title      string    `json:"title"`
	Began      time.Time `json:"began"`
	LastActive time.Time `json:"last_active"`
	Bytes      int64     `json:"bytes"`
	PID        int       `json:"pid,omitempty"`
	CostUSD    float64   `json:"cost_usd,omitempty"` // noted when a process of the run ended in order
	Rehearsal  bool      `json:"rehearsal,omitempty"`
	Resumable  bool      `json:"resumable"`
	Problem    string    `json:"problem,omitempty"`

	ForkedFrom *journal.Fork `json:"forked_from,omitempty"`
}

func LineOf(i journal.Info) Line {
	status := Status(i)
	return Line{
		Run: i.Run, Status: status, CWD: i.CWD, Title: i.Title, Began: i.Began, LastActive: i.LastActive,
		Bytes: i.Bytes, PID: i.PID, CostUSD: i.CostUSD, Rehearsal: i.Rehearsal, Problem: i.Problem,
		Resumable: !i.Live && !i.Damaged && status != NeverBegan, ForkedFrom: i.ForkedFrom,
	}
}

func PlayedElsewhere(run string, pid int) error {
	return command.Usagef("run %s is still running (process %d): open it with arbiter attach, or end it with arbiter stop",
		command.ShortID(run), pid)
}

// Find finds a run by its id or a prefix of it.
func Find(store *journal.Store, prefix string) (journal.Info, error) {
	info, err := store.Find(prefix)
	var many *journal.AmbiguousError
	switch {
	case errors.As(err, &many):
		return info, command.Usagef("%q fits several runs: %s; give more of the id", prefix, strings.Join(many.Matches, ", "))
	case errors.Is(err, journal.ErrNotFound):
		return info, command.Usagef("there is no run %q; arbiter sessions lists the runs", prefix)
	case err != nil:
		return info, command.Environmentf("find run %s: %v", prefix, err)
	}
	return info, nil
}

// SocketOf returns the path of a socket in the directory of a run.
func (r Runs) SocketOf(run, name string) string { return filepath.Join(r.Dir(run), name) }
