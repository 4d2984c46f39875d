package subcommands

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/report"
)

// CompareCommand is `arbiter compare`.
func CompareCommand(io command.Env) *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "show runs side by side: outcome, criteria, changes, cost and time", ArgsUsage: "RUN RUN…",
		Description: strings.TrimSpace(`
The runs may be live. The cost of a run that was forked is given with what it has cost since.

  arbiter compare 1a2b3c4d 5e6f7a8b
  arbiter compare --json 1a2b3c4d 5e6f7a8b

Exit codes: 0 compared; 2 bad usage, no such run; 5 a run cannot be read.`),
		Flags: []cli.Flag{settings.StateDirFlag(), command.JSONFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				return command.Usagef("compare: name two or more RUNs; arbiter sessions lists the runs")
			}
			store, err := runstore.Open(c)
			if err != nil {
				return err
			}
			defer store.Close()
			return CompareRuns(c.Context, io, store, c.Args().Slice(), c.Bool("json"))
		},
	}
}

// CompareRuns prints a comparison of runs.
func CompareRuns(ctx context.Context, io command.Env, store *runstore.Runs, runs []string, asJSON bool) error {
	var reports []*report.Report
	for _, name := range runs {
		info, err := runstore.Find(store.Store, name)
		if err != nil {
			return err
		}
		r, health, err := runstore.PastReport(ctx, store, info)
		if err != nil {
			return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
		}
		runstore.PrintDamage(io.Stderr, health)
		reports = append(reports, r)
	}
	all := report.Compare(reports)
	if asJSON {
		return json.NewEncoder(io.Stdout).Encode(all)
	}
	return report.WriteComparison(io.Stdout, all)
}
