package subcommands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/memory"
	"github.com/arbiter-cli/arbiter/internal/report"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// This part of the package has the commands about the results of a run: show, undo and land its changes,
// report on it, and sum up the costs of runs.

// maxDiff bounds the output of `arbiter diff`.
const maxDiff = 256 << 20

func (e Env) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "print what a run changed", ArgsUsage: "[RUN] [AGENT]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. AGENT (orch-1) is an Orchestrator that worked in a directory
of its own.

Exit code 1: there is no snapshot.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.BoolFlag{Name: "stat", Usage: "only count lines, for each file"},
			&cli.BoolFlag{Name: "name-only", Usage: "only name the files"},
			&cli.BoolFlag{Name: "json", Usage: "list the files as JSON, with the Git objects of their contents"},
		},
		Action: runstore.InRuns(e.diff),
	}
}

func (e Env) diff(c *cli.Context, store *runstore.Runs) error {
	run, agent := c.Args().Get(0), c.Args().Get(1)
	if _, err := runstore.Orchestrator(run); err == nil && c.NArg() == 1 {
		run, agent = "", run
	}
	number, unnamed := runstore.Orchestrator(agent)
	switch {
	case c.NArg() > 2:
		return command.Usagef("diff: give at most one RUN and one AGENT")
	case c.Bool("stat") && c.Bool("name-only"), c.Bool("json") && (c.Bool("stat") || c.Bool("name-only")):
		return command.Usagef("--stat, --name-only and --json exclude each other: use one of them")
	case agent != "" && unnamed != nil:
		return command.Usagef("diff: there is no agent %q with files: use one such as orch-1", agent)
	}
	r, info, err := e.openWork(c, store, run)
	if err != nil {
		return err
	}
	span, ok := workspaces.Span{}, true
	if agent == "" {
		span, err = r.Work(c.Context)
	} else {
		span, ok, err = r.WorkOf(c.Context, number)
	}
	if err != nil {
		return WorkError(info, err)
	}
	if !ok {
		return command.Usagef("%s had no directory of its own in run %s: leave out AGENT to see all changes", agent,
			command.ShortID(info.Run))
	}
	if c.Bool("stat") || c.Bool("name-only") || c.Bool("json") {
		return e.listChanges(c, r, span)
	}
	text, cut, err := r.Diff(c.Context, span.From, span.To, workspaces.DiffOptions{Max: maxDiff})
	if err != nil {
		return WorkError(info, err)
	}
	if cut {
		fmt.Fprintf(e.Stderr, "The rest is left out: there is more than %s.\n", words.Size(maxDiff))
	}
	w, diff := command.Raw(e.Stdout), string(text)
	if command.OnTerminal(w) { // elsewhere, text of files is printed unchanged
		diff = sanitize.Text(diff)
	}
	_, err = io.WriteString(w, diff)
	return err
}

// listChanges prints the files of a diff: their names, or the number of changed lines of each.
func (e Env) listChanges(c *cli.Context, r *workspaces.Repo, span workspaces.Span) error {
	changes, err := r.Changes(c.Context, span.From, span.To)
	if err != nil {
		return command.Environmentf("list changes: %v", err)
	}
	if c.Bool("json") {
		type file struct { // a deleted one has no object
			workspaces.Change
			Object string `json:"object,omitempty"` // of the contents at the end of the run
		}
		list := make([]file, 0, len(changes))
		for _, c := range changes {
			list = append(list, file{c, c.To.ID})
		}
		return e.PrintJSON(list)
	}
	if c.Bool("name-only") {
		for _, change := range changes {
			fmt.Fprintln(e.Stdout, FileName(change.Path))
		}
		return nil
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 1, ' ', 0)
	added, deleted := 0, 0
	for _, change := range changes {
		added, deleted = added+change.Added, deleted+change.Deleted
		lines := fmt.Sprintf("+%d\t-%d", change.Added, change.Deleted)
		if change.Binary {
			lines = "binary\t"
		}
		name := FileName(change.Path)
		if change.Old != "" {
			name = FileName(change.Old) + " → " + name
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", change.Status, lines, name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%s, +%d -%d\n", words.Count(len(changes), "file"), added, deleted)
	return err
}

// Environment variables with files of GitHub Actions: the summary of a step, and its outputs.
const (
	StepSummary = "GITHUB_STEP_SUMMARY"
	StepOutput  = "GITHUB_OUTPUT"
)

func (e Env) reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "report what a run was asked, did, changed and proved", ArgsUsage: "[RUN|-]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. With - the events are read from stdin, as arbiter --json prints
them. See docs/reports.md for the formats.

  arbiter report --format html --output report.html
  arbiter --json --task "…" | arbiter report - --format junit --output report.xml

Exit code 0, however the run ended; 2: also if stdin has no events.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.StringFlag{Name: "format", Value: string(report.Markdown),
				Usage: "`markdown|html|json|junit|github`: output format"},
			&cli.StringFlag{Name: "output", Usage: "write to `FILE`, as a whole or not at all", TakesFile: true},
		},
		Action: e.report,
	}
}

func (e Env) report(c *cli.Context) error {
	format := report.Format(c.String("format"))
	switch {
	case !slices.Contains(report.Formats(), format):
		return command.Usagef("--format %s: use markdown, html, json, junit or github", format)
	case c.IsSet("output") && strings.TrimSpace(c.String("output")) == "":
		return command.Usagef("--output is empty: name a file")
	}
	var r *report.Report
	var err error
	if c.Args().First() == "-" {
		r, err = e.reportOfStream(c.Context)
	} else {
		r, err = e.reportOfRun(c)
	}
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := report.Write(&text, r, format); err != nil {
		return err
	}
	if format == report.GitHub {
		if err := writeGitHub(r); err != nil {
			return err
		}
	}
	file := c.String("output")
	if file == "" || file == "-" {
		_, err := e.Stdout.Write(contract.AppendSafe(nil, text.Bytes()))
		return err
	}
	if err := command.WriteOutput(file, text.Bytes()); err != nil {
		return command.Environmentf("write %s: %v", file, command.WithoutPath(err))
	}
	return nil
}

// writeGitHub appends to the files of the running step.
func writeGitHub(r *report.Report) error {
	for name, text := range map[string]func() string{StepSummary: r.StepSummary, StepOutput: r.Outputs} {
		file := os.Getenv(name)
		if file == "" {
			continue
		}
		if err := command.AppendTo(file, []byte(text())); err != nil {
			return command.Environmentf("%s: write %s: %v", name, file, command.WithoutPath(err))
		}
	}
	return nil
}

// reportOfRun makes the report of a run in the state directory.
func (e Env) reportOfRun(c *cli.Context) (*report.Report, error) {
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	r, health, err := runstore.PastReport(c.Context, store, info)
	if err != nil {
		return nil, command.Environmentf("report of run %s: %v", command.ShortID(info.Run), err)
	}
	runstore.PrintDamage(e.Stderr, health)
	if n := len(supervisor.AuditDamage(health)); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("The record of the run is damaged in %s: events are missing.",
			words.Count(n, "place")))
	}
	return r, nil
}

// reportOfStream makes a report from the events on stdin.
func (e Env) reportOfStream(ctx context.Context) (*report.Report, error) {
	collector := report.NewCollector(settings.SecretMasker(nil))
	lines := jsonl.NewLineReader(e.Stdin, 0)
	taken, torn, ended := 0, false, false
	for n := 1; !ended && ctx.Err() == nil; n++ {
		next, err := lines.Next()
		if ended = errors.Is(err, io.EOF); ended {
			next, _ = lines.Splitter.Flush()
		} else if err != nil {
			return nil, command.Environmentf("read stdin: %v", err)
		}
		line := next.Data
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSpace(line)
		switch {
		case next.Oversize:
			return nil, command.Usagef("report -: line %d is too long for an event", n)
		case len(line) == 0:
			continue
		}
		err = collector.TakeLine(line)
		if torn = err != nil && ended && taken > 0; torn {
			break // its writer was killed
		}
		if err != nil {
			return nil, command.Usagef("report -: line %d is not an event of arbiter --json: %v", n, err)
		}
		taken++
	}
	if taken == 0 {
		return nil, command.Usagef("report -: there are no events on stdin; arbiter --json prints them")
	}
	r := collector.Report(runstore.Interrupted)
	r.NoChanges("not known: the events contain no changes")
	if torn {
		r.Notes = append(r.Notes, "The events end in the middle of a line.")
	}
	return r, ctx.Err()
}

// RevertChange reverts one change of a run that no process plays.
func RevertChange(ctx context.Context, r *workspaces.Repo, info journal.Info, c contract.Revert) error {
	if branch, err := r.Commit(ctx, r.Branch(workspaces.Main)); err == nil && branch.ID != "" {
		return command.Failedf("%s was not reverted: the agents of run %s worked in directories of their own, so your files "+
			"are as they were", FileName(c.Path), command.ShortID(info.Run))
	}
	err := runstore.RevertFiles(ctx, r, input.Revert{Path: c.Path, Seen: c.Seen, Hunk: c.Hunk})
	switch kept, ok := errors.AsType[*workspaces.RefusedError](err); {
	case ok:
		return command.Failedf("%s was not reverted: %s", FileName(c.Path), kept.Reason)
	case errors.Is(err, workspaces.ErrNoSnapshot):
		return WorkError(info, err)
	case err != nil:
		return command.Environmentf("revert %s: %v", FileName(c.Path), err)
	}
	return nil
}

func (e Env) undoCommand() *cli.Command {
	return &cli.Command{
		Name: "undo", Usage: "revert what a run changed, except files that were modified since", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. Files become what they were when the run began; commits,
branches and the index stay as they are. What the run made is kept in refs/arbiter. If the work was landed, undo names
the commit and the git revert that undoes it.

Exit code 1: there is no snapshot, or the one file of --file was kept.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be done"},
			&cli.StringFlag{Name: "file", Usage: "revert only this file, a `PATH` from the top of the work tree"},
		},
		Action: runstore.InRuns(e.undo),
	}
}

// revertWords describes what reverting does to a file: done, and in a dry run.
var revertWords = map[workspaces.Status][2]string{
	workspaces.Added:    {"restored", "would restore"},
	workspaces.Modified: {"reverted", "would revert"},
	workspaces.Retyped:  {"reverted", "would revert"},
	workspaces.Deleted:  {"removed", "would remove"},
}

func (e Env) undo(c *cli.Context, store *runstore.Runs) error {
	if c.IsSet("file") && c.String("file") == "" { // probably an unset variable: do not undo everything
		return command.Usagef("--file is empty: name a file, or leave it out to revert all")
	}
	r, info, err := e.openWork(c, store, c.Args().First())
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
	if err := e.sayLanded(c.Context, r, info); err != nil {
		return command.Environmentf("undo run %s: %v", command.ShortID(info.Run), err)
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

func (e Env) usageCommand() *cli.Command {
	return &cli.Command{
		Name: "usage", Usage: "sum up what runs have cost, by day, run, agent or model",
		Description: strings.TrimSpace(`
Sums up all runs in the state directory, live ones too, without rehearsals and deleted runs. A turn counts when it has
ended: arbiter status adds what turns under way have cost so far. Costs are those that Claude Code states; tokens include
those of subagents. Days are those of the local time zone. --json prints an array of objects: day, run, agent or model,
turns, cost_usd, usage and, if a turn has cost more and nobody knows how much, cost_unknown.

--forecast prints what one step of each mode will cost in this workspace, as the median of its last 20 runs. With --json,
an array of the fields of the forecast event.

  arbiter usage --by run
  arbiter usage --by model --json
  arbiter usage --forecast`),
		Flags: []cli.Flag{
			settings.StateDirFlag(), command.JSONFlag(),
			&cli.StringFlag{Name: "by", Value: string(report.SpendingDay), Usage: "`day|run|agent|model`: what to sum up by"},
			&cli.BoolFlag{Name: "forecast", Usage: "what a step of each mode will cost in this workspace"},
			settings.FlagOf("cwd"),
		},
		Action: e.usage,
	}
}

func (e Env) usage(c *cli.Context) error {
	by := report.SpendingBy(c.String("by"))
	switch {
	case c.Bool("forecast") && c.IsSet("by"):
		return command.Usagef("--forecast and --by exclude each other")
	case c.Bool("forecast"):
		return inMemory(e.forecast)(c)
	case !slices.Contains(report.SpendingWays, by):
		return command.Usagef("--by %s: use day, run, agent or model", by)
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	all, err := e.spending(c.Context, store)
	if err != nil {
		return err
	}
	rows, total := report.GroupSpending(by, all)
	if !c.Bool("json") && len(rows) > 0 {
		total.Day = "total"
		rows = append(rows, total)
	}
	return command.PrintList(e.Env, c.Bool("json"), rows, "No run has cost anything yet. Rehearsals do not count.",
		strings.ToUpper(string(by))+"\tCOST\tTURNS\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITTEN", func(r report.Row) string {
			name := r.Day + r.Model
			if r.Run != "" {
				name = strings.TrimSpace(command.ShortID(r.Run) + " " + r.Agent)
			}
			return fmt.Sprintf("%s\t%s\t%d\t%s\t%s\t%s\t%s", sanitize.Line(name, 60),
				eventtext.Costs(eventtext.Dollars(r.CostUSD), false, r.Unknown),
				r.Turns, words.Tokens(r.Usage.Input), words.Tokens(r.Usage.Output), words.Tokens(r.Usage.CacheRead),
				words.Tokens(r.Usage.CacheCreation))
		})
}

// forecast prints what a step of each mode will cost in a workspace.
func (e Env) forecast(c *cli.Context, store *memory.Store, place string) error {
	m, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	modes, list := memory.Forecasts(m.Outcomes), []contract.Forecast{}
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		list = append(list, modes[name])
	}
	return command.PrintList(e.Env, c.Bool("json"), list, "No forecast: no run in "+sanitize.Line(place, 200)+
		" has finished a step yet. Rehearsals do not count.", "MODE\tCOST OF A STEP\tTOKENS\tMINUTES\tRUNS",
		func(f contract.Forecast) string {
			return fmt.Sprintf("%s\t%s\t%s\t%.1f\t%d", sanitize.Line(f.Mode, 60), eventtext.Dollars(f.USD),
				words.Tokens(f.Tokens), f.Minutes, f.From)
		})
}

// spending returns what all runs have cost. It reports a run that cannot be read completely.
func (e Env) spending(ctx context.Context, store *runstore.Runs) (all []report.Row, err error) {
	list, err := store.List()
	if err != nil {
		return nil, command.StateDirProblem(err)
	}
	for _, info := range list {
		if info.Empty || info.Rehearsal {
			continue
		}
		s, err := store.Spent(ctx, info, nil)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(e.Stderr, "arbiter: run %s is not counted completely: %v\n", command.ShortID(info.Run),
				sanitize.Line(err.Error(), 300))
		}
		for _, row := range s.Rows {
			row.Run = info.Run
			all = append(all, row)
		}
	}
	return all, nil
}

// WorkCommands returns the commands about the changes of a run.
func (e Env) WorkCommands() []*cli.Command {
	return []*cli.Command{e.reportCommand(), e.usageCommand(), e.diffCommand(), e.undoCommand(), e.landCommand(),
		e.verifyCommand()}
}

// maxWarning bounds a warning about the repository, in bytes.
const maxWarning = 4000

// openWork finds a run (without a name, the last one in this directory), and opens the files that it worked on. It
// warns of what an agent may have planted there.
func (e Env) openWork(c *cli.Context, store *runstore.Runs, name string) (*workspaces.Repo, journal.Info, error) {
	info, err := runstore.NamedOrLatest(c, store, name)
	if err != nil {
		return nil, info, err
	}
	r, err := OpenWork(c.Context, store, info)
	if err != nil {
		return nil, info, err
	}
	if err := warnOf(c.Context, e.Stderr, r); err != nil {
		return nil, info, command.Environmentf("%s: %v", runstore.WorkDir(info), err)
	}
	return r, info, nil
}

// OpenWork opens the files that a run worked on.
func OpenWork(ctx context.Context, store *runstore.Runs, info journal.Info) (*workspaces.Repo, error) {
	r, err := runstore.PastWork(ctx, store.Root, info)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, command.Environmentf("the directory of run %s: %v", command.ShortID(info.Run), command.WithoutPath(err))
	case err == workspaces.ErrNoGit && info.Rehearsal:
		return nil, command.Environmentf("run %s is a rehearsal without Git: what it wrote is in %s",
			command.ShortID(info.Run), runstore.WorkDir(info))
	case err == workspaces.ErrNoGit || errors.Is(err, workspaces.ErrNoCommit): // what can be done helps later runs
		return nil, command.Environmentf("%s: %v; what run %s changed is not recorded", runstore.WorkDir(info), err,
			command.ShortID(info.Run))
	case err != nil:
		return nil, command.Environmentf("%s: %v", runstore.WorkDir(info), err)
	}
	return r, nil
}

// warnOf warns of what an agent may have planted in a repository, and of what Arbiter leaves out there.
func warnOf(ctx context.Context, stderr io.Writer, r *workspaces.Repo) error {
	planted, err := r.Planted(ctx)
	for _, text := range []string{planted, r.Notice()} {
		if text != "" {
			fmt.Fprintf(stderr, "arbiter: %s\n", sanitize.Line(text, maxWarning))
		}
	}
	return err
}

// WorkError explains why there is nothing to compare.
func WorkError(info journal.Info, err error) error {
	if errors.Is(err, workspaces.ErrNoSnapshot) {
		return command.Failedf("run %s has no snapshot in %s: it worked without Git, or the references below refs/arbiter "+
			"were removed",
			command.ShortID(info.Run), info.CWD)
	}
	return command.Environmentf("run %s: %v", command.ShortID(info.Run), err)
}

// FileName returns a path as one printable line.
func FileName(path string) string {
	return sanitize.Line(path, 0)
}

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
		Action: runstore.InRuns(func(c *cli.Context, store *runstore.Runs) error {
			if c.NArg() < 2 {
				return command.Usagef("compare: name two or more RUNs; arbiter sessions lists the runs")
			}
			return CompareRuns(c.Context, io, store, c.Args().Slice(), c.Bool("json"))
		}),
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
		return io.PrintJSON(all)
	}
	return report.WriteComparison(io.Stdout, all)
}
