package runstore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/arbiter-cli/arbiter/internal/workspace"
)

// Remove removes the directories of all agents after the end of a run. Their branches stay, and uncommitted work is
// saved in refs/arbiter/RUN8/orch-N/wip. It returns sentences about work that is not part of the run's result, and
// about directories that had to stay.
func (f *Files) Remove(ctx context.Context) (messages []string, err error) {
	dirs, err := workspace.OpenWorktrees(f.repo, f.Workspace.Own)
	if err != nil {
		return nil, err
	}
	all, err := dirs.List()
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		text, removeErr := f.remove(ctx, dirs, w)
		messages, err = append(messages, text...), errors.Join(err, removeErr)
	}
	return messages, errors.Join(err, dirs.RemoveUnfinished(ctx), dirs.RemoveReader(ctx))
}

func (f *Files) remove(
	ctx context.Context, dirs *workspace.Worktrees, w workspace.Worktree,
) (messages []string, err error) {
	head := "refs/heads/" + w.Branch
	if _, gone := os.Lstat(w.Dir); gone == nil { // otherwise the files were deleted, and only the branch is left
		if head, err = dirs.Head(ctx, w); err != nil {
			return nil, err
		}
	}
	saved, err := dirs.Remove(ctx, w, false)
	var unsaved *workspace.UnsavedError
	if errors.As(err, &unsaved) {
		return []string{unsaved.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	if saved.Ref != "" {
		messages = append(messages, fmt.Sprintf("uncommitted work of orch-%d is saved in %s", w.Orchestrator, saved.Ref))
	}
	has, err := f.has(ctx, w, head)
	if err == nil && !has {
		messages = append(messages,
			fmt.Sprintf("the work of orch-%d was not merged: it is on branch %s", w.Orchestrator, w.Branch))
	}
	return messages, err
}

// has reports whether the run's result includes a commit of an agent: on the run branch, or for a shared run in the
// shared files. An agent without commits has nothing to merge.
func (f *Files) has(ctx context.Context, w workspace.Worktree, head string) (bool, error) {
	found, err := f.repo.Commits(ctx, head, f.main(), f.repo.Ref(fmt.Sprintf("orch-%d%s", w.Orchestrator, synced)))
	if err != nil || found[0].ID == "" || found[0].ID == w.Base {
		return err == nil, err
	}
	for _, target := range found[1:] {
		if target.ID == "" {
			continue
		}
		has, err := workspace.Contains(ctx, f.repo, target.ID, found[0].ID)
		if err != nil || has {
			return has, err
		}
	}
	return false, nil
}
