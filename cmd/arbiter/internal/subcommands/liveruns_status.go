package subcommands

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func StatusCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
	return &cli.Command{
		Name: "status", Usage: "show where a live run stands, and what waits for you", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the live run of this directory. What waits for you is printed in full, with the command that answers
it. --json prints one object: {"run", "pid", "cwd", "title", "began", "state", "paused", "halted", "seq", "cost_usd",
"subagents", "max_subagents", "agents": [{"id", "name", "mode", "host", "make", "lacks", "status", "since",
"session_id", "context_pct", "cost_usd", "attached", "fuse_usd", "fuse_spent_usd", "subagents", "max_subagents"}],
"inbox": [{"id", "kind", "agent", "text", "since", "choices", "request", "optional"}], "forked_from": {"run", "at",
"cost_usd"}}. The run's subagents are those that it has started, an agent's those at work. seq is the last event's. A
kind is question, acceptance, permission, trust or recovery.`),
		Flags:  []cli.Flag{command.JSONFlag(), settings.StateDirFlag()},
		Action: e.status,
	}
}

// status is `arbiter status`.
func (e liveEnv) status(c *cli.Context) error {
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

func (e liveEnv) printStatus(r LiveReport, state string, now time.Time) {
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
	line("state", "%s, %s, began %s ago", r.stands(), usd(r.CostUSD), eventtext.Span(now.Sub(r.Began)))
	for _, a := range r.Agents {
		context, cost := eventtext.Percent(a.ContextPct), usd(a.CostUSD)
		if a.ContextUnknown {
			context = "unknown"
		}
		if a.CostUnknown {
			cost += " and what is unknown"
		}
		text := fmt.Sprintf("%-8s %-16s %s for %s, context %s, %s", a.ID,
			eventtext.OfMake(eventtext.OnHost(a.Name, a.Host), a.Make), a.Status,
			eventtext.Span(max(now.Sub(a.Since), 0)), context, cost)
		if a.FuseUSD > 0 {
			text += ", " + eventtext.FuseSpent(a.FuseSpent, a.FuseUSD, r.Rehearsal) + " spent"
		}
		if a.Subagents > 0 {
			text += ", " + words.CountOf(a.Subagents, a.Most, "subagent") + " at work"
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
