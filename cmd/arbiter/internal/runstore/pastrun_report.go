package runstore

// This part of the package reads what a run has left: its report, its work in Git, and the places of its
// sessions and images. The run may be live.

import (
	"context"
	"errors"
	"os"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/report"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// PastReport makes the report of a run from its events and snapshots.
func PastReport(ctx context.Context, store *Runs, info journal.Info) (*report.Report, journal.LogHealth, error) {
	log, err := store.EventLog(info.Run)
	if err != nil {
		return nil, journal.LogHealth{}, err
	}
	defer log.Close()
	mask := settings.SecretMasker(nil)
	collector := report.NewCollector(mask)
	health, err := log.Each(ctx, journal.LogPosition{}, func(entry journal.LogEntry) error {
		if entry.Line == nil {
			return nil
		}
		return collector.Take(entry.At, entry.Line)
	})
	if err != nil {
		return nil, health, err
	}
	r := collector.Report(Status(info))
	if r.Run == "" {
		r.Run, r.Directory, r.Began, r.Ended = info.Run, info.CWD, info.Began.UTC(), info.LastActive.UTC()
	}
	addChanges(ctx, store.Root, r, info, mask)
	return r, health, nil
}

// addChanges adds the files that differ between the snapshots of the run to a report.
func addChanges(
	ctx context.Context, stateDir string, r *report.Report, info journal.Info, mask func(string) string,
) {
	repo, err := PastWork(ctx, stateDir, info)
	if err == nil {
		var span workspaces.Span
		if span, err = repo.Work(ctx); err == nil {
			var changes []workspaces.Change
			if changes, err = repo.Changes(ctx, span.From, span.To); err == nil {
				r.SetChanges(changes, mask)
				return
			}
		}
	}
	var changed *git.ChangedError
	switch {
	case errors.Is(err, workspaces.ErrNoGit):
		r.NoChanges("not known: the directory is not in a Git repository")
	case errors.Is(err, workspaces.ErrNoCommit):
		r.NoChanges("not known: the Git repository has no commit")
	case errors.Is(err, workspaces.ErrNoSnapshot):
		r.NoChanges("not known: the run has no snapshot")
	case errors.Is(err, os.ErrNotExist):
		r.NoChanges("not known: the directory no longer exists")
	case errors.As(err, &changed):
		r.NoChanges("not known: " + changed.Error())
	default:
		r.NoChanges("not known: Git failed")
	}
}
