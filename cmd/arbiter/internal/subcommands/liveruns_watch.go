package subcommands

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func WatchCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
	return &cli.Command{
		Name: "watch", Usage: "print the events of a live run until it ends", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Prints the same lines as arbiter --json: one event per line, from the first one of the run's process
on. Without RUN it is the live run of this directory. A reader that is slow costs the run nothing.

  arbiter watch | jq -r 'select(.event == "question") | .text'
  arbiter watch --since -1                             # only what happens from now on

Exit code: that of the run when it ends; else 1: stdout was closed; 5: the connection was lost; 130, 143: a
signal ended watch, the run continues.`),
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "since", DefaultText: "0: all",
				Usage: "print the events after the one with seq `N`; -1: those from now on"},
			settings.StateDirFlag(),
		},
		Action: e.watch,
	}
}

// watch is `arbiter watch`.
func (e liveEnv) watch(c *cli.Context) error {
	if c.Int64("since") < -1 {
		return command.Usagef("--since %d: use the seq of an event, 0 for all, or -1 for those from now on", c.Int64("since"))
	}
	command.OutliveReaders()
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	l, err := runstore.Connect(c, c.Args().First(), nil)
	if err != nil {
		return err
	}
	defer func() { l.Close() }() // of the last connection
	f := runstore.Follower{Out: e.Stdout, Errs: e.Stderr, Since: c.Int64("since")}
	for {
		end, err := f.Follow(ctx, l)
		switch {
		case ctx.Err() != nil:
			return command.BySignal(ctx, "")
		case f.Failed != nil:
			return &command.Error{Code: contract.ExitFailed, Text: "stdout: " + f.Failed.Error()}
		case end != nil && end.Exit == int(contract.ExitComplete):
			return nil
		case end != nil:
			return &command.Error{Code: contract.Exit(end.Exit), Text: "the run ended: " + end.Text}
		case err != nil:
			return runstore.NotConnected(l.Info, err)
		}
		if err := l.Reconnect(c); err != nil { // the run dropped the connection because we read too slowly
			return err
		}
	}
}
