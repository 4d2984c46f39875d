package journal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

var (
	// ErrClosed is returned by a run that was closed.
	ErrClosed = errors.New("journal is closed")
	// ErrFull is returned for a record that would exceed [Options.MaxBytes], and for an input that would exceed
	// twice [Options.MaxPending] while the disk does not accept the pending data.
	ErrFull = errors.New("the journal is full")
	// ErrDropped is returned for a Narration that was dropped because of [Options.MaxPending]. It has no sequence
	// number.
	ErrDropped = errors.New("narration dropped")
	// ErrTooLarge is returned for a payload over [MaxPayload].
	ErrTooLarge = errors.New("record is too large")
	// ErrNotFound is returned when no run matches.
	ErrNotFound = errors.New("no such run")
	// ErrExists is returned by Create for a run that exists already.
	ErrExists = errors.New("run exists already")
	// ErrVanished is reported by a run whose files are no longer in their place, or cannot be added to: the
	// directory was deleted, moved, replaced or made read-only.
	ErrVanished = errors.New("journal is no longer in its place")
	// ErrDeleted is an ErrVanished that lasts: the directory was deleted. It is reported even if nothing is written.
	ErrDeleted = errors.New("journal was deleted")
	// ErrForeignWrite is reported by a run when another process wrote to one of its files. The added bytes are
	// not used: the run continues in another file. If records were cut off, nothing is confirmed as durable
	// from then on.
	ErrForeignWrite = errors.New("somebody else wrote to the journal")
	// ErrNoSnapshot refuses a run none of whose snapshots can be read. Its event log says what happened in it.
	ErrNoSnapshot = errors.New("no snapshot of its state can be read; what happened is still in " + LogName)
	// ErrStuck is returned by Close when the disk did not answer in time. The lock is then held until it does.
	ErrStuck = errors.New("journal waits for the disk")
)

// HeldError says that a run or a working directory belongs to another process.
type HeldError struct {
	Path string // the lock file
	PID  int    // of the process that holds the lock; 0: unknown
	Run  string
	// Gone is true if that process has ended, and a process that inherited the lock from it, a bridge, still
	// holds it.
	Gone bool
}

func (e *HeldError) Error() string {
	who := "another process"
	switch {
	case e.PID != 0 && e.Gone:
		who = fmt.Sprintf("what process %d left behind", e.PID)
	case e.PID != 0:
		who = fmt.Sprintf("process %d", e.PID)
	}
	what := e.Path
	if e.Run != "" {
		what = "run " + e.Run
	}
	return fmt.Sprintf("%s is held by %s", what, who)
}

// AmbiguousError says that more than one run begins with Prefix.
type AmbiguousError struct {
	Prefix  string
	Matches []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits %d runs: %s", e.Prefix, len(e.Matches), strings.Join(e.Matches, ", "))
}

// VersionError refuses a file of another format. The file was not changed.
type VersionError struct {
	File  string
	Found int
	Known int
}

// Newer reports whether a newer release wrote the file.
func (e *VersionError) Newer() bool { return e.Found > e.Known }

func (e *VersionError) Error() string {
	if e.Newer() {
		return fmt.Sprintf("%s has format %d of a newer release; this one reads format %d", e.File, e.Found, e.Known)
	}
	return fmt.Sprintf("%s has format %d of an older release; this one reads only format %d", e.File, e.Found, e.Known)
}

// ForeignError refuses a file that is not a journal of this run. The file was not changed.
type ForeignError struct {
	File   string
	Run    string // the run it belongs to, if that is known
	Reason string
}

func (e *ForeignError) Error() string { return fmt.Sprintf("%s is not ours: %s", e.File, e.Reason) }

// UnsafeError refuses a file or directory that another user could have put there or can change: a link, another owner,
// a pipe, a device.
type UnsafeError = statedir.UnsafeError

// attempted says in the error of a method what it was to do with a run.
func attempted(err *error, doing, id string) {
	switch {
	case *err == nil:
	case validID(id) != nil: // the error names it
		*err = fmt.Errorf("%s run: %w", doing, *err)
	default:
		*err = fmt.Errorf("%s run %s: %w", doing, id, *err)
	}
}

type vanishedError struct {
	path, reason string
	lasting      error // ErrDeleted, or nil
}

func (e *vanishedError) Error() string        { return fmt.Sprintf("%s: %s", e.path, e.reason) }
func (e *vanishedError) Is(target error) bool { return target == ErrVanished || target == e.lasting }
