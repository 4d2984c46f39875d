package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func (e env) sessionCommands() []*cli.Command {
	list := []cli.Flag{settings.StateDirFlag(), command.JSONFlag(),
		&cli.BoolFlag{Name: "here", Usage: "list only the runs of this directory"}}
	return []*cli.Command{
		{
			Name: "sessions", Usage: "list, show, delete, export or import runs", Flags: list,
			Action: runstore.InRuns(e.listSessions),
			Subcommands: []*cli.Command{
				{Name: "ls", Usage: "list runs, the most recent first", Flags: list, Action: runstore.InRuns(e.listSessions)},
				{
					Name: "show", Usage: "show a run: its agents, its plan and its messages", ArgsUsage: "[RUN]",
					Flags:  []cli.Flag{settings.StateDirFlag(), command.JSONFlag()},
					Action: subcommands.Env{Env: e.Env}.ShowSession,
				},
				{
					Name: "rm", Usage: "delete runs", ArgsUsage: "RUN…",
					Flags: []cli.Flag{settings.StateDirFlag()}, Action: runstore.InRuns(e.removeSessions),
				},
				subcommands.Env{Env: e.Env}.ExportCommand(), subcommands.Env{Env: e.Env}.ImportCommand(),
			},
		},
		{
			Name: "logs", Usage: "print what happened in a run, or its audit",
			ArgsUsage: "[RUN] | --verify FILE [RUN]",
			Description: strings.TrimSpace(`
Prints a story for people: what each agent was told, said, did and handed over, questions, answers, checks, changed
files and the end, with times. In the audit, each line holds the hash of the line before it. --verify finds lines that
were changed, removed, added or moved, and compares them with the run if it is still in the state directory.

  arbiter logs                                         # of the last run of this directory
  arbiter logs -f                                      # continues while the run is live
  arbiter logs RUN --audit --json > run.audit
  arbiter logs --verify run.audit

Exit code 1: the event log or the audit was changed, or is of another run.`),
			Flags: []cli.Flag{
				settings.StateDirFlag(),
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"},
					Usage: "also -f: continue until the run ends (default: the live run of this directory)"},
				&cli.BoolFlag{Name: "program",
					Usage: "print the program's own log, for looking into a fault of Arbiter, instead of the story"},
				&cli.BoolFlag{Name: "audit",
					Usage: "print what the run did: process starts with their arguments, permissions, messages, commands, " +
						"kills and ends, as a chain of hashes"},
				&cli.BoolFlag{Name: "json", Usage: "with --audit: print one JSON object per line, for --verify"},
				&cli.BoolFlag{Name: "text", Usage: "with --audit: print the text of messages, not only their size and SHA-256"},
				&cli.StringFlag{Name: "verify", TakesFile: true,
					Usage: "check an audit `FILE` that --audit --json printed: its chain of hashes and, if the run is in the " +
						"state directory, each line"},
			},
			Action: runstore.InRuns(subcommands.Env{Env: e.Env}.Logs),
		},
		e.replayCommand(),
	}
}

func (e env) listSessions(c *cli.Context, store *runstore.Runs) error {
	list, err := store.List()
	if err != nil {
		return command.StateDirProblem(err)
	}
	lines := []runstore.Line{}
	here, _ := os.Getwd()
	for _, info := range list {
		if !c.Bool("here") || command.SameDir(info.CWD, here) {
			lines = append(lines, runstore.LineOf(store.Costed(c.Context, info)))
		}
	}
	return command.PrintList(e.Env, c.Bool("json"), lines, "No runs yet.",
		"RUN\tSTATUS\tLAST ACTIVE\tCOST\tSIZE\tDIRECTORY\tTASK", func(l runstore.Line) string {
			cost := cmp.Or(eventtext.Total(l.CostUSD, l.Rehearsal, l.CostUnknown), "–")
			return strings.Join([]string{command.ShortID(l.Run), l.Status, l.LastActive.Local().Format("2006-01-02 15:04"),
				cost, words.Size(l.Bytes), sanitize.Line(l.CWD, 60), sanitize.Line(l.Title, 60)}, "\t")
		})
}

func (e env) removeSessions(c *cli.Context, store *runstore.Runs) error {
	if c.NArg() == 0 {
		return command.Usagef("sessions rm: give the RUNs to remove; arbiter sessions lists the runs")
	}
	runstore.ReportStrays(e.Stderr, store.Store)
	var infos []journal.Info
	for _, prefix := range c.Args().Slice() { // all are found before any is removed
		info, err := runstore.Find(store.Store, prefix)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(infos, func(i journal.Info) bool { return i.Run == info.Run }) {
			infos = append(infos, info)
		}
	}
	for _, info := range infos {
		if err := e.removeRun(c.Context, store, info); err != nil {
			return err
		}
	}
	gone, err := store.Tidy()
	for _, dir := range gone {
		fmt.Fprintln(e.Stderr, "Removed, too: "+dir)
	}
	if err != nil {
		return command.Environmentf("remove what runs had left: %v", err)
	}
	return nil
}

// removeRun removes a run, unless another process has removed it meanwhile.
func (e env) removeRun(ctx context.Context, store *runstore.Runs, info journal.Info) error {
	run := command.ShortID(info.Run)
	var messages []string
	var err error
	if !info.Live {
		messages, err = runstore.RemoveLeft(ctx, store, info)
	}
	for _, text := range messages {
		fmt.Fprintln(e.Stderr, "Run "+run+": "+text)
	}
	if err == nil {
		err = store.Remove(info.Run)
	}
	switch held, ok := errors.AsType[*journal.HeldError](err); {
	case ok && !held.Gone:
		return command.Usagef("run %s is still running (process %d): end it first", run, held.PID)
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrDeleted):
		fmt.Fprintln(e.Stderr, "Run "+run+" was removed by another process.")
		return nil
	case err != nil:
		return command.Environmentf("remove run %s: %v", run, err)
	}
	fmt.Fprintln(e.Stdout, info.Run)
	return nil
}
