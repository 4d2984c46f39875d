package subcommands

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func PsCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
	return &cli.Command{
		Name: "ps", Usage: "list live runs",
		Description: strings.TrimSpace(`
Lists your live runs, in any directory: where each stands, how many of its agents work, and how many things wait for
you. A run that does not answer within 2 s, or refuses to, is listed with the reason. --json prints an array of objects
as arbiter status --json does. Runs whose process was killed are named on stderr, with the command that resumes them.`),
		Flags:  []cli.Flag{command.JSONFlag(), settings.StateDirFlag()},
		Action: e.ps,
	}
}

// ps is `arbiter ps`.
func (e liveEnv) ps(c *cli.Context) error {
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	reports, err := liveReports(c.Context, store)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(reports)
	}
	defer e.sayKilled(store)
	if len(reports) == 0 {
		fmt.Fprintln(e.Stderr, "No run is live.")
		return nil
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATE\tAGENTS\tWAITING\tCOST\tBEGAN\tDIRECTORY\tTASK")
	for _, r := range reports {
		if r.Problem != "" {
			fmt.Fprintf(w, "%s\t%s\t\t\t\t\t%s\n", command.ShortID(r.Run), sanitize.Line(r.Problem, 60), sanitize.Line(r.CWD,
				60))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%d\t%s\t%s\t%s\t%s\n", command.ShortID(r.Run), r.stands(), r.working(),
			len(r.Agents),
			len(r.Inbox), eventtext.Dollars(r.CostUSD)+eventtext.Simulated(r.Rehearsal), r.Began.Local().Format(time.DateTime),
			sanitize.Line(r.CWD, 60), sanitize.Line(r.Title, 60))
	}
	return w.Flush()
}

// liveReports asks all live runs for their status, at the same time.
func liveReports(ctx context.Context, store *runstore.Runs) ([]LiveReport, error) {
	list, err := store.Live("")
	if err != nil {
		return nil, err
	}
	reports := make([]LiveReport, len(list))
	var asked sync.WaitGroup
	for i, info := range list {
		asked.Go(func() { reports[i] = reportOn(ctx, store, info) })
	}
	asked.Wait()
	return reports, nil
}

// sayKilled names the runs whose process was killed or crashed, the last active first.
func (e liveEnv) sayKilled(store *runstore.Runs) {
	const most = 5
	all, _ := store.List() // without it, ps still lists the live runs
	killed := slices.DeleteFunc(all, func(i journal.Info) bool { return !i.Killed() })
	for _, i := range killed[:min(len(killed), most)] {
		fmt.Fprintf(e.Stderr, "Interrupted: run %s in %s (%s). To resume: arbiter --resume --session %[1]s\n",
			command.ShortID(i.Run), sanitize.Line(i.CWD, 60), sanitize.Line(i.Title, 60))
	}
	if len(killed) > most {
		fmt.Fprintf(e.Stderr, "%d more were interrupted: arbiter sessions\n", len(killed)-most)
	}
}
