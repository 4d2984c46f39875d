package subcommands

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func (e workEnv) undoCommand() *cli.Command {
	return &cli.Command{
		Name: "undo", Usage: "revert what a run changed, except files that were modified since", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. Files become what they were when the run began; commits,
branches and the index stay as they are. What the run made is kept in refs/arbiter.

Exit codes: 0 reverted, also where some files were kept; 1 there is no snapshot, or the one file of --file was kept; 2 bad usage, no such run, or it
is still running; 5 Git, files or the state directory cannot be read or written.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be done"},
			&cli.StringFlag{Name: "file", Usage: "revert only this file, a `PATH` from the top of the work tree"},
		},
		Action: e.undo,
	}
}

// revertWords describes what reverting does to a file: done, and in a dry run.
var revertWords = map[workspaces.Status][2]string{
	workspaces.Added:    {"restored", "would restore"},
	workspaces.Modified: {"reverted", "would revert"},
	workspaces.Retyped:  {"reverted", "would revert"},
	workspaces.Deleted:  {"removed", "would remove"},
}

func (e workEnv) undo(c *cli.Context) error {
	r, info, err := e.openWork(c, c.Args().First())
	if err != nil {
		return err
	}
	dry, tense := c.Bool("dry-run"), 0
	if dry {
		tense = 1
	} else if info.Live {
		return runstore.PlayedElsewhere(info.Run, info.PID)
	}
	if path := c.String("file"); path != "" {
		if dry {
			return command.Usagef("--dry-run and --file exclude each other: arbiter diff shows what --file reverts")
		}
		if err := RevertChange(c.Context, r, info, contract.Revert{Path: path}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(e.Stdout, "reverted %s\n", FileName(path))
		return err
	}
	span, err := r.Work(c.Context)
	if err != nil {
		return WorkError(info, err)
	}
	result, err := workspaces.Undo(c.Context, r, span.From, span.To, dry)
	if err != nil {
		return command.Environmentf("undo run %s: %v", command.ShortID(info.Run), err)
	}
	for _, f := range result.Reverted {
		fmt.Fprintf(e.Stdout, "%s %s\n", revertWords[f.Status][tense], FileName(f.Path))
	}
	for _, k := range result.Kept {
		fmt.Fprintf(e.Stdout, "kept %s: %s\n", FileName(k.Path), k.Reason)
	}
	fmt.Fprintf(e.Stderr, "%s of run %s, %d kept.\n", words.Count(len(result.Reverted), "file"), command.ShortID(info.Run),
		len(result.Kept))
	return nil
}
