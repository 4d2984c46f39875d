package subcommands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func (e workEnv) landCommand() *cli.Command {
	return &cli.Command{
		Name: "land", Usage: "merge the work of a run into the branch that is checked out", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. Uncommitted changes are never overwritten: if some are in the
way, or there is a conflict, nothing changes. A run that worked in the workspace itself has nothing to land.

Exit codes: 0 landed, or there is nothing more to land; 1 refused: a conflict, uncommitted changes, a merge or
rebase under way, no branch, nothing to land; 2 bad usage, no such run; 5 Git, files or the state directory
cannot be read or written.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.BoolFlag{Name: "squash", Usage: "as one commit with all changes"},
			&cli.StringFlag{Name: "message", Usage: "message of the commit, as `TEXT`"},
		},
		Action: e.land,
	}
}

func (e workEnv) land(c *cli.Context) error {
	if c.IsSet("message") && strings.TrimSpace(c.String("message")) == "" {
		return command.Usagef("--message is empty: give the text of the commit")
	}
	r, info, err := e.openWork(c, c.Args().First())
	if err != nil {
		return err
	}
	message, err := LandWork(
		c.Context,
		r,
		info,
		workspaces.LandRequest{Squash: c.Bool("squash"), Message: c.String("message")},
	)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.Stdout, message)
	return err
}

// LandWork lands the work of a run according to a request, and returns the result as text.
func LandWork(ctx context.Context, r *workspaces.Repo, info journal.Info, q workspaces.LandRequest) (string, error) {
	q.Commit = r.Branch(workspaces.Main)
	found, err := r.Commit(ctx, q.Commit)
	if err == nil && found.ID == "" {
		return "", Refused("run %s has no branch %s: it worked in the workspace itself, so there is nothing to land",
			command.ShortID(info.Run), strings.TrimPrefix(q.Commit, "refs/heads/"))
	}
	var result workspaces.Landed
	if err == nil {
		result, err = workspaces.Land(ctx, r, q)
	}
	var busy *workspaces.BusyError
	var conflict *workspaces.ConflictError
	var dirty *workspaces.DirtyError
	var filtered *workspaces.FilteredError
	switch {
	case errors.As(err, &filtered), errors.As(err, &busy), errors.As(err, &conflict), errors.As(err, &dirty),
		errors.Is(err, workspaces.ErrDetached), errors.Is(err, workspaces.ErrMoved):
		return "", Refused("land run %s: %v", command.ShortID(info.Run), err)
	case err != nil:
		return "", command.Environmentf("land run %s: %v", command.ShortID(info.Run), err)
	case result.Status == workspaces.MergeNothing:
		return fmt.Sprintf("%s has the work of run %s already", strings.TrimPrefix(result.Branch, "refs/heads/"),
			command.ShortID(info.Run)), nil
	}
	return fmt.Sprintf("%s is now %s", strings.TrimPrefix(result.Branch, "refs/heads/"), command.ShortID(result.Head)), nil
}

func Refused(format string, args ...any) error {
	return &command.Error{Code: contract.ExitFailed, Text: fmt.Sprintf(format, args...)}
}
