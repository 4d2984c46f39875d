package subcommands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func (e workEnv) usageCommand() *cli.Command {
	return &cli.Command{
		Name: "usage", Usage: "sum up what runs have cost, by day, run, agent or model",
		Description: strings.TrimSpace(`
Sums up all runs in the state directory, live ones too, from their events. Costs are those that Claude Code
states; tokens include those of subagents. Days are those of the local time zone. Rehearsals cost nothing and are left
out, and so are runs that were deleted. With --json, it prints an array of objects: day, run, agent or model, turns,
cost_usd and usage.

  arbiter usage --by run
  arbiter usage --by model --json

Exit codes: 0 printed, also if nothing was spent; 2 bad usage; 5 the state directory cannot be read.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "by", Value: string(report.SpendingDay), Usage: "`day|run|agent|model`: what to sum up by"},
		},
		Action: e.usage,
	}
}

func (e workEnv) usage(c *cli.Context) error {
	by := report.SpendingBy(c.String("by"))
	switch {
	case !slices.Contains(report.SpendingWays(), by):
		return command.Usagef("--by %s: use day, run, agent or model", by)
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	sum, err := e.sumUp(c.Context, store, by)
	if err != nil {
		return err
	}
	rows, total := sum.Rows()
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(e.Stderr, "No run has cost anything yet. Rehearsals do not count.")
		return nil
	}
	return writeUsage(e.Stdout, by, rows, total)
}

// sumUp reads the events of all runs. It reports and skips a run that cannot be read.
func (e workEnv) sumUp(ctx context.Context, store *runstore.Runs, by report.SpendingBy) (*report.Sum, error) {
	list, err := store.List()
	if err != nil {
		return nil, command.StateDirProblem(err)
	}
	sum := report.NewSpending(by, time.Local)
	for _, info := range list {
		if info.Empty {
			continue
		}
		sum.Begin(info.Run)
		log, err := store.EventLog(info.Run)
		if err == nil {
			_, err = log.Each(ctx, journal.LogPosition{}, func(entry journal.LogEntry) error {
				if entry.Line == nil {
					return nil
				}
				return sum.Take(entry.At, entry.Line)
			})
			log.Close()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(e.Stderr, "arbiter: run %s is not counted completely: %v\n", command.ShortID(info.Run),
				sanitize.Line(err.Error(), 300))
		}
	}
	return sum, nil
}

func writeUsage(to io.Writer, by report.SpendingBy, rows []report.Row, total report.Row) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tCOST\tTURNS\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITTEN\n", strings.ToUpper(string(by)))
	line := func(name string, r report.Row) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", sanitize.Line(name, 60), eventtext.Dollars(r.CostUSD), r.Turns,
			words.Tokens(r.Usage.Input), words.Tokens(r.Usage.Output), words.Tokens(r.Usage.CacheRead),
			words.Tokens(r.Usage.CacheCreation))
	}
	for _, r := range rows {
		name := r.Day + r.Model
		if r.Run != "" {
			name = strings.TrimSpace(command.ShortID(r.Run) + " " + r.Agent)
		}
		line(name, r)
	}
	line("total", total)
	return w.Flush()
}
