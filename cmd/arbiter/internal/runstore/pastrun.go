package runstore

// This part of the package reads what a run has left: its report, its work in Git, and the places of its
// sessions and images. The run may be live.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/report"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ImagesDir is the directory for the images of messages, in the run's directory.
const ImagesDir = "images"

// ClaudeConfig returns the directory where the agents of a run store their sessions.
func ClaudeConfig(o runconfig.Options) string {
	var environ []string
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "HOME"} {
		if value, ok := o.Env[name]; ok {
			environ = append(environ, name+"="+value)
		}
	}
	return proctree.ConfigDir(append(environ, os.Environ()...), o.CWD)
}

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

// WorkDir returns the directory that a run worked in.
func WorkDir(info journal.Info) string { return cmp.Or(info.Workspace, info.CWD) }

// PastWork opens the repository of a run in a state directory. Error: [git.ChangedError] if the run began with another
// one.
func PastWork(ctx context.Context, stateDir string, info journal.Info) (*workspaces.Repo, error) {
	dir := WorkDir(info)
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return workspaces.Open(ctx, options(stateDir, info))
}

func options(stateDir string, info journal.Info) workspaces.Options {
	began := filepath.Join(Runs{Root: stateDir}.Dir(info.Run), workspaces.BeganName)
	return workspaces.Options{Dir: WorkDir(info), Run: info.Run, Began: began}
}

// RemoveLeft removes the agents' directories that a run has left. The run must be over. said has a sentence for
// each agent whose work needs attention.
func RemoveLeft(ctx context.Context, store *Runs, info journal.Info) (messages []string, err error) {
	left, err := store.HasWork(info.Run)
	if err != nil || !left {
		return nil, err
	}
	own := filepath.Join(store.Dir(info.Run), journal.WorkName)
	files, err := FilesLeft(ctx, options(store.Root, info), own)
	if err == nil {
		messages, err = files.Remove(ctx)
	}
	if err == nil {
		left, err = store.HasWork(info.Run)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("work in %s cannot be saved (%w): take out what you need, and remove that directory", own, err)
	case left:
		err = fmt.Errorf("%s; then remove %s", strings.Join(messages, "; "), own)
	}
	return messages, err
}
