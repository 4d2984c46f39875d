package runfiles

import (
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/internal/workspace/merge"
	"github.com/arbiter-cli/arbiter/internal/workspace/worktree"
)

// Remove removes all directories of the agents of a run that is over. Their branches stay, and uncommitted work is saved in
// refs/arbiter/RUN8/orch-N/wip. It returns sentences about work that is not part of the run's result, and about
// directories that had to stay.
func (f *Files) Remove(ctx context.Context) (said []string, err error) {
	dirs, err := f.directories()
	if err != nil {
		return nil, err
	}
	all, err := dirs.List()
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		text, removeErr := f.remove(ctx, dirs, w)
		if text != "" {
			said = append(said, text)
		}
		err = errors.Join(err, removeErr)
	}
	return said, errors.Join(err, dirs.RemoveUnfinished(ctx), dirs.RemoveReader(ctx))
}

func (f *Files) remove(ctx context.Context, dirs *worktree.Manager, w worktree.Worktree) (said string, err error) {
	head, err := dirs.Head(ctx, w)
	if err != nil {
		return "", err
	}
	saved, err := dirs.Remove(ctx, w, false)
	var unsaved *worktree.UnsavedError
	if errors.As(err, &unsaved) {
		return unsaved.Error(), nil
	}
	if err != nil {
		return "", err
	}
	// The run branch, or of a shared run what the shared files have.
	targets, err := f.repo.Commits(ctx, f.main(), f.repo.Ref(fmt.Sprintf("orch-%d%s", w.Orchestrator, synced)))
	if err != nil {
		return "", err
	}
	has := head == w.Base
	for _, target := range targets {
		if target.ID == "" || has {
			continue
		}
		if has, err = merge.Contains(ctx, f.repo, target.ID, head); err != nil {
			return "", err
		}
	}
	switch {
	case saved.Ref != "":
		said = fmt.Sprintf("uncommitted work of orch-%d is saved in %s", w.Orchestrator, saved.Ref)
	case !has:
		said = fmt.Sprintf("the work of orch-%d was not merged: it is on branch %s", w.Orchestrator, w.Branch)
	}
	return said, err
}
