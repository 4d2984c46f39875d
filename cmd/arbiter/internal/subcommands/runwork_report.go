package subcommands

// This part of the package has the commands about the results of a run: show, undo and land its changes,
// report on it, and sum up the costs of runs.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Environment variables with files of GitHub Actions: the summary of a step, and its outputs.
const (
	StepSummary = "GITHUB_STEP_SUMMARY"
	StepOutput  = "GITHUB_OUTPUT"
)

func (e workEnv) reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "report what a run was asked, did, changed and proved", ArgsUsage: "[RUN|-]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. With - the events are read from stdin, as arbiter --json prints
them. Secrets are masked as in logs, and texts of agents cannot break out of the format.

  arbiter report --format html --output report.html
  arbiter --json --task "…" | arbiter report - --format junit --output report.xml

Format github prints workflow commands (::error …), appends the report to the file that GITHUB_STEP_SUMMARY names,
and the outputs run, status, exit-code, cost-usd, branch and head to the one that GITHUB_OUTPUT names.

Exit codes: 0 printed, however the run ended; 2 bad usage, no such run, or stdin has no events; 5 FILE cannot
be written, or the state directory cannot be read.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.StringFlag{Name: "format", Value: string(report.Markdown),
				Usage: "`markdown|html|json|junit|github`: output format"},
			&cli.StringFlag{Name: "output", Usage: "write to `FILE`, as a whole or not at all", TakesFile: true},
		},
		Action: e.report,
	}
}

func (e workEnv) report(c *cli.Context) error {
	format := report.Format(c.String("format"))
	switch {
	case c.NArg() > 1:
		return command.Usagef("report: give at most one RUN")
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
		_, err := e.Stdout.Write(text.Bytes())
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
func (e workEnv) reportOfRun(c *cli.Context) (*report.Report, error) {
	store, err := runstore.Open(c)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	info, err := NamedOrLatest(store, c.Args().First())
	if err != nil {
		return nil, err
	}
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
func (e workEnv) reportOfStream(ctx context.Context) (*report.Report, error) {
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
