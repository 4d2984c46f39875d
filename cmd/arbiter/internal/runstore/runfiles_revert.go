package runstore

import (
	"context"
	"errors"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Revert undoes one change of the run, and updates the last snapshot. A call after a crash finishes the work.
func (f *Files) Revert(ctx context.Context, e input.Revert) input.ChangeReverted {
	_, err := again(ctx, func() (struct{}, error) { return struct{}{}, RevertFiles(ctx, f.repo, e) })
	done := input.ChangeReverted{Serial: e.Serial}
	var refused *workspace.RefusedError
	switch {
	case errors.As(err, &refused):
		done.Refused = refused.Reason
	case err != nil:
		done.Refused = err.Error()
	}
	return done
}

// RevertFiles undoes one change of a run in its repository. Errors: [workspace.RefusedError], and errors of Git or the
// file system, after which a second call finishes the work.
func RevertFiles(ctx context.Context, r *workspace.Repo, e input.Revert) error {
	part := workspace.UndoPart{Path: e.Path, Seen: e.Seen}
	if e.Hunk != "" {
		hunk, err := workspace.ParseHunk(e.Hunk)
		if err != nil {
			return &workspace.RefusedError{Path: e.Path, Reason: err.Error()}
		}
		part.Hunk = hunk
	}
	span, err := r.Work(ctx)
	if err != nil {
		return err
	}
	if err := workspace.Revert(ctx, r, span.From, span.To, part); err != nil {
		return err
	}
	end, err := r.Find(ctx, workspace.End)
	if err != nil || end.Commit.ID == "" { // there is no snapshot to update
		return err
	}
	_, err = r.Again(ctx, workspace.End)
	if errors.Is(err, workspace.ErrMoved) { // a snapshot after a turn came first, and has the change
		return nil
	}
	return err
}
