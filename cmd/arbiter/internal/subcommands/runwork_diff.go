package subcommands

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxDiff bounds the output of `arbiter diff`.
const maxDiff = 256 << 20

var orchestratorName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^orch-([0-9]+)$`)
})

func (e workEnv) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "print what a run changed", ArgsUsage: "[RUN] [AGENT]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. AGENT (orch-1) is an Orchestrator that worked in a directory
of its own; what others did shows in the run's changes only.

Exit codes: 0 printed; 1 there is no snapshot; 2 bad usage, no such run; 5 Git or the state directory cannot be
read.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.BoolFlag{Name: "stat", Usage: "only count lines, for each file"},
			&cli.BoolFlag{Name: "name-only", Usage: "only name the files"},
			&cli.BoolFlag{Name: "json", Usage: "list the files as JSON, with the Git objects of their contents"},
		},
		Action: e.diff,
	}
}

func (e workEnv) diff(c *cli.Context) error {
	run, agent := c.Args().Get(0), c.Args().Get(1)
	if c.NArg() == 1 && orchestratorName().MatchString(run) {
		run, agent = "", run
	}
	name := orchestratorName().FindStringSubmatch(agent)
	switch {
	case c.NArg() > 2:
		return command.Usagef("diff: give at most one RUN and one AGENT")
	case c.Bool("stat") && c.Bool("name-only"), c.Bool("json") && (c.Bool("stat") || c.Bool("name-only")):
		return command.Usagef("--stat, --name-only and --json exclude each other: use one of them")
	case agent != "" && name == nil:
		return command.Usagef("diff: there is no agent %q with files: use one such as orch-1", agent)
	}
	r, info, err := e.openWork(c, run)
	if err != nil {
		return err
	}
	span, ok := workspaces.Span{}, true
	if agent == "" {
		span, err = r.Work(c.Context)
	} else {
		number, _ := strconv.Atoi(name[1])
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
	return printFiles(e.Stdout, string(text))
}
