package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func (e env) forkCommand() *cli.Command {
	return &cli.Command{
		Name: "fork", Usage: "begin a new run that continues another one from before one of its decisions",
		ArgsUsage: "RUN --at N [-- RUN_FLAG…]",
		Description: strings.TrimSpace(`
N is the number of a decision: arbiter decide --explain RUN lists them, and the screen and the log show them. The new
run has the state, the conversations and the files that RUN had just before that decision, and makes it again. RUN may
be live; nothing of it is changed. The Orchestrators get directories of their own, so arbiter land NEW-RUN brings the
work into your branch. What the agents were doing when the question was put, they repeat. The costs of RUN until then
are part of the new run's costs, and count for --max-cost.

  arbiter fork 1a2b3c4d --at 3 --task "Without a new dependency"
  arbiter fork 1a2b3c4d --at 3 --decider rules --json --no-input
  arbiter fork 1a2b3c4d --at 3 --times 3 --no-input      # and compares the results
  arbiter fork 1a2b3c4d --at 3 -- --max-cost 5

Exit codes: those of arbiter; 1 RUN cannot be forked there; with --times, 0 if all runs have ended.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.IntFlag{Name: "at", Usage: "branch off just before decision `N`"},
			&cli.IntFlag{Name: "times", Value: 1, Usage: "begin `N` such runs, wait until they have ended, and compare them"},
			&cli.StringFlag{Name: "task", Usage: "say `TEXT` to the Arbiter before it decides"},
			settings.FlagOf("decider"), settings.FlagOf("model"),
			&cli.StringFlag{Name: "isolation", Value: runconfig.IsolationWorktree,
				Usage: "`worktree|shared`: shared is for a RUN without Git: the new run works in the same directory, with the " +
					"files as they are now"},
			settings.FlagOf("json"), settings.FlagOf("plain"), settings.FlagOf("detach"), settings.FlagOf("no-input"),
		},
		Action: e.fork,
	}
}

// fork is `arbiter fork`.
func (e env) fork(c *cli.Context) error {
	isolation, times := c.String("isolation"), c.Int("times")
	switch {
	case c.NArg() == 0:
		return command.Usagef("fork: name the RUN; arbiter sessions lists the runs")
	case !c.IsSet("at"):
		return command.Usagef("fork: name the decision with --at N: arbiter decide --explain %s lists them", c.Args().First())
	case isolation != runconfig.IsolationWorktree && isolation != runconfig.IsolationShared:
		return command.Usagef("--isolation %q: use worktree or shared", isolation)
	case times < 1 || times > maxForks:
		return command.Usagef("--times %d: use 1 to %d", times, maxForks)
	case times > 1 && isolation == runconfig.IsolationShared:
		return command.Usagef("--times and --isolation shared exclude each other: the runs would change each other's files")
	}
	port, err := e.openRunPort(c)
	if err != nil {
		return err
	}
	info, err := port.Find(c.Args().First())
	if err != nil {
		return err
	}
	args := slices.Clone(c.Args().Tail())
	if len(args) > 0 && args[0] == "--" { // after the name of a run, it is an argument
		args = args[1:]
	}
	for _, name := range []string{"decider", "model"} {
		if c.IsSet(name) {
			args = append(args, "--"+name+"="+c.String(name))
		}
	}
	if c.Bool("no-input") {
		args = append(args, "--no-input")
	}
	if _, err := port.choices(info.CWD, info.Run, args); err != nil {
		return err
	}
	if err := settings.CheckTask(c.String("task"), "the task"); err != nil {
		return err
	}
	shown := !c.Bool("json") && !c.Bool("plain") && !c.Bool("detach") && times == 1
	if problem := noScreen(); shown && problem != "" { // before a run is made
		return command.Usagef("cannot show the screen: %s; use --plain, --json or --detach", problem)
	}
	var runs []string
	for range times {
		run, err := e.forkOnce(c.Context, port, info, c.Int("at"), isolation == runconfig.IsolationShared)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	var begin []settings.Choices
	for _, run := range runs {
		chosen, err := port.choices(info.CWD, run, args)
		if err != nil {
			return err
		}
		chosen.Options.Task = strings.TrimSpace(c.String("task"))
		chosen.JSON, chosen.Plain, chosen.Detach = c.Bool("json"), c.Bool("plain"), c.Bool("detach")
		begin = append(begin, chosen)
	}
	if times > 1 {
		return e.bestOf(c.Context, port, begin)
	}
	return e.begin(c.Context, begin[0])
}

// maxForks bounds --times.
const maxForks = 20

// forkOnce makes a run, and prints what a person should know about it.
func (e env) forkOnce(
	ctx context.Context, port runPort, info journal.Info, at int, shared bool,
) (string, error) {
	store, err := runstore.OpenIn(port.stateDir)
	if err != nil {
		return "", err
	}
	defer store.Close()
	run, notes, err := store.Fork(ctx, info, at, shared)
	short := command.ShortID(info.Run)
	switch refused, ok := errors.AsType[*runstore.ForkError](err); {
	case ok:
		return "", command.Failedf("run %s cannot be forked: %v", short, refused)
	case err != nil:
		return "", command.Environmentf("fork run %s: %v", short, err)
	}
	fmt.Fprintf(e.Stderr, "arbiter: run %s branches off from run %s before decision %d\n", command.ShortID(run), short, at)
	for _, text := range notes {
		fmt.Fprintln(e.Stderr, "arbiter:", text)
	}
	return run, nil
}

// bestOf runs several forks at once, and compares them.
func (e env) bestOf(ctx context.Context, port runPort, begin []settings.Choices) error {
	ctx, stop := command.Interruptible(ctx, false)
	defer stop()
	runs, err := e.playAll(ctx, begin)
	if err != nil && len(runs) > 0 {
		fmt.Fprintln(e.Stderr, "arbiter: the runs continue: arbiter compare"+settings.StateForCommand(port.stateDir)+" "+
			strings.Join(runs, " ")+" compares them")
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return err
	}
	store, err := runstore.OpenIn(port.stateDir)
	if err != nil {
		return err
	}
	defer store.Close()
	return subcommands.CompareRuns(ctx, e.Env, store, runs, begin[0].JSON)
}

// playAll starts runs, and waits until all of them have ended. With an error, those that it returns go on.
func (e env) playAll(ctx context.Context, begin []settings.Choices) (runs []string, err error) {
	var running []*host.Process
	for _, c := range begin {
		p, err := host.Detached(ctx, c)
		if err != nil {
			return runs, err
		}
		fmt.Fprint(e.Stderr, p.Notices)
		running, runs = append(running, p), append(runs, p.Run)
	}
	fmt.Fprintf(e.Stderr, "arbiter: waiting for %s to end; arbiter attach%s shows one of them\n", strings.Join(runs, ", "),
		settings.StateForCommand(begin[0].StateDir))
	for _, p := range running {
		select {
		case <-p.Exited:
		case <-ctx.Done():
			return runs, ctx.Err()
		}
	}
	return runs, nil
}
