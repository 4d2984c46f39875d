package subcommands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// LiveReport is a live run in the output of status --json, and an element of that of ps --json.
type LiveReport struct {
	Run       string                 `json:"run"`
	PID       int                    `json:"pid"`
	CWD       string                 `json:"cwd"`
	Title     string                 `json:"title"`
	Began     time.Time              `json:"began"`
	Rehearsal bool                   `json:"rehearsal,omitempty"`
	Phase     string                 `json:"state"`
	Does      string                 `json:"does"` // the same in words
	Paused    bool                   `json:"paused"`
	Halted    bool                   `json:"halted"`
	Seq       uint64                 `json:"seq"`
	CostUSD   float64                `json:"cost_usd"`
	Subagents int                    `json:"subagents"`     // that the run has started
	Most      int                    `json:"max_subagents"` // that it may start
	Agents    []control.AgentStatus  `json:"agents"`
	Inbox     []supervisor.InboxItem `json:"inbox"`
	// ForkedFrom is the run that it branched off from.
	ForkedFrom *journal.Fork `json:"forked_from,omitempty"`
	// Problem says why the run did not answer. Then only the data in its directory is known.
	Problem string `json:"problem,omitempty"`
}

// reportOn asks a live run for its status.
func reportOn(ctx context.Context, store *runstore.Runs, info journal.Info) LiveReport {
	client, st, err := store.Dial(ctx, info, runstore.AnswerTime, nil)
	if err != nil {
		return silentReport(info, err)
	}
	defer client.Close()
	r, err := liveReportOf(info, st)
	if err != nil {
		return silentReport(info, err)
	}
	return r
}

func silentReport(info journal.Info, err error) LiveReport {
	r := LiveReport{Run: info.Run, PID: info.PID, CWD: info.CWD, Title: info.Title, Began: info.Began,
		Rehearsal: info.Rehearsal, Agents: []control.AgentStatus{}, Inbox: []supervisor.InboxItem{}, Problem: err.Error(),
		ForkedFrom: info.ForkedFrom}
	if errors.Is(err, control.ErrSilent) || errors.Is(err, context.DeadlineExceeded) {
		r.Problem = "does not answer"
	}
	return r
}

func liveReportOf(info journal.Info, st control.Status) (LiveReport, error) {
	waiting, err := inboxOf(st)
	r := LiveReport{
		Run: st.Run, PID: st.PID, CWD: st.CWD, Title: st.Title, Began: st.Began, Rehearsal: info.Rehearsal,
		Phase: st.Phase, Does: st.Does, Paused: st.Paused, Halted: st.Halted, Seq: st.Seq, CostUSD: st.Cost,
		Agents: append([]control.AgentStatus{}, st.Agents...),
		Inbox:  waiting, Subagents: st.Subagents, Most: st.MaxSubagents, ForkedFrom: info.ForkedFrom,
	}
	if st.Began.IsZero() { // its process has not begun the run yet
		r.Began, r.Title = info.Began, info.Title
	}
	return r, err
}

// working returns the number of busy agents.
func (r LiveReport) working() (n int) {
	for _, a := range r.Agents {
		if a.Status == string(supervisor.AgentBusy) {
			n++
		}
	}
	return n
}

func StatusCommand(io command.Env) *cli.Command {
	e := env{io}
	return &cli.Command{
		Name: "status", Usage: "show where a live run stands, and what waits for you", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the live run of this directory. What waits for you is printed in full, with the command that answers
it. --json prints one object: {"run", "pid", "cwd", "title", "began", "state", "does", "paused", "halted", "seq",
"cost_usd", "subagents", "max_subagents", "agents": [{"id", "name", "mode", "host", "make", "lacks", "status", "does",
"since", "session_id", "context_pct", "cost_usd", "attached", "fuse_usd", "fuse_spent_usd", "subagents",
"max_subagents"}], "inbox": [{"id", "kind", "agent", "text", "since", "choices", "request", "optional"}],
"forked_from": {"run", "at", "cost_usd"}}. The run's subagents are those that it has started, an agent's those at
work. does says a state in words. seq is the last event's. A kind is question, acceptance, permission, trust or
recovery.`),
		Flags:  []cli.Flag{command.JSONFlag(), settings.StateDirFlag()},
		Action: e.status,
	}
}

// status is `arbiter status`.
func (e env) status(c *cli.Context) error {
	l, err := runstore.Connect(c, c.Args().First(), nil)
	if err != nil {
		return err
	}
	defer l.Close()
	r, err := liveReportOf(l.Info, l.First)
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(r)
	}
	e.printStatus(r, settings.StateForCommand(l.Store.Root), time.Now())
	return nil
}

func (e env) printStatus(r LiveReport, state string, now time.Time) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(e.Stdout, "%-10s %s\n", name, sanitize.Line(fmt.Sprintf(format, args...), 400))
	}
	line("run", "%s (process %d)", r.Run, r.PID)
	line("directory", "%s", r.CWD)
	line("task", "%s", r.Title)
	usd := func(x float64) string { return eventtext.Dollars(x) + eventtext.Simulated(r.Rehearsal) }
	if text := runstore.ForkText(r.ForkedFrom); text != "" {
		line("forked", "%s", text)
	}
	line("state", "%s, %s, began %s ago", r.Does, usd(r.CostUSD), eventtext.Span(now.Sub(r.Began)))
	for _, a := range r.Agents {
		context, cost := eventtext.Percent(a.Context), usd(a.Cost)
		if a.ContextUnknown {
			context = "unknown"
		}
		if a.CostUnknown {
			cost += " and what is unknown"
		}
		text := fmt.Sprintf("%-8s %-16s %s for %s, context %s, %s", a.ID,
			eventtext.OfMake(eventtext.OnHost(a.Name, a.Host), a.Make), a.Does,
			eventtext.Span(max(now.Sub(a.Since), 0)), context, cost)
		if a.Fuse > 0 {
			text += ", " + eventtext.FuseSpent(a.FuseSpent, a.Fuse, r.Rehearsal) + " spent"
		}
		if a.Subagents > 0 {
			text += ", " + words.CountOf(a.Subagents, a.MaxSubagents, "subagent") + " at work"
		}
		if a.Attached != "" {
			text += ", in a terminal: " + a.Attached
		}
		line("agent", "%s", text)
		for _, what := range a.Lacks {
			line("", "  %s", what)
		}
	}
	if r.Subagents > 0 {
		line("subagents", "%s started", words.CountOf(r.Subagents, r.Most, "subagent"))
	}
	for _, i := range r.Inbox {
		line("waiting", "%s, for %s", i.ID, eventtext.Span(i.Age(now)))
		fmt.Fprintln(e.Stdout, indent(waitingText(i, command.ShortID(r.Run), state)))
	}
}

func WatchCommand(io command.Env) *cli.Command {
	e := env{io}
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
func (e env) watch(c *cli.Context) error {
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

func PsCommand(io command.Env) *cli.Command {
	e := env{io}
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
func (e env) ps(c *cli.Context) error {
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
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%d\t%s\t%s\t%s\t%s\n", command.ShortID(r.Run), r.Does, r.working(),
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
func (e env) sayKilled(store *runstore.Runs) {
	const most = 5
	all, _ := store.List() // without it, ps still lists the live runs
	killed := slices.DeleteFunc(all, func(i journal.Info) bool { return !i.Killed() })
	for _, i := range killed[:min(len(killed), most)] {
		fmt.Fprintf(e.Stderr, "Interrupted: run %s in %s (%s). To resume: %s --resume --session %[1]s\n",
			command.ShortID(i.Run), sanitize.Line(i.CWD, 60), sanitize.Line(i.Title, 60), command.Program())
	}
	if len(killed) > most {
		fmt.Fprintf(e.Stderr, "%d more were interrupted: arbiter sessions\n", len(killed)-most)
	}
}
