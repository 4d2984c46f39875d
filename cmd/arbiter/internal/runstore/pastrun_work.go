package runstore

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

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
