package subcommands

import (
	"context"
	"errors"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// RevertChange reverts one change of a run that no process plays.
func RevertChange(ctx context.Context, r *workspaces.Repo, info journal.Info, c contract.Revert) error {
	if branch, err := r.Commit(ctx, r.Branch(workspaces.Main)); err == nil && branch.ID != "" {
		return Refused("%s was not reverted: the agents of run %s worked in directories of their own, so your files "+
			"are as they were", FileName(c.Path), command.ShortID(info.Run))
	}
	err := runstore.RevertFiles(ctx, r, input.Revert{Path: c.Path, Seen: c.Seen, Hunk: c.Hunk})
	var kept *workspaces.RefusedError
	switch {
	case errors.As(err, &kept):
		return Refused("%s was not reverted: %s", FileName(c.Path), kept.Reason)
	case errors.Is(err, workspaces.ErrNoSnapshot):
		return WorkError(info, err)
	case err != nil:
		return command.Environmentf("revert %s: %v", FileName(c.Path), err)
	}
	return nil
}
