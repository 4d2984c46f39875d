package main

import (
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
)

func (e env) replayCommand() *cli.Command {
	return &cli.Command{
		Name: "replay", Usage: "print a run's events again, play them on the screen, or repeat its decisions",
		ArgsUsage: "[RUN]",
		Description: "Prints every event of a run (default: the last one of this directory), from its event log,\n" +
			"without the pieces of text that were streamed.\n" +
			"No agent starts and nothing is sent.\n\n" +
			"--screen plays the run on the full screen, at its own pace, without Claude Code: Space pauses, + and -\n" +
			"change the speed, the arrow keys jump, q leaves. Nothing is written to the run.\n\n" +
			"--decisions asks a decider again for each recorded input and prints the decisions that differ: a\n" +
			"regression test for prompts and models. An agent that the Arbiter started with its tool counts as\n" +
			"SELECT_MODE. Turns that no other decider could decide are skipped and counted: those without a\n" +
			"decision, messages to the human, and the Arbiter's own renewal. The decider is stateless by default;\n" +
			"session cannot be asked.\n\n" +
			"Exit code 1, with --decisions: a decision differs or failed; 2: also if there is no decision to compare.",
		Flags: append(append([]cli.Flag{
			&cli.BoolFlag{Name: "screen", Usage: "play the run on the full screen"},
			&cli.Float64Flag{Name: "pace", Usage: "print events `N` times as fast as they came (0: all at once)"},
			&cli.BoolFlag{Name: "decisions", Usage: "repeat the decisions, and print those that differ"},
			&cli.StringFlag{Name: "only", Usage: "with --decisions: repeat only decisions `N,N`, counted from 1"},
			&cli.BoolFlag{Name: "json",
				Usage: "with --decisions: print one JSON object per decision, and a last one with totals"},
		}, replayScreenFlags()...), subcommands.DecideFlags()...),
		Action: e.replay,
	}
}

// replay is `arbiter replay`. It checks the flags, and runs one of the three kinds of replay.
func (e env) replay(c *cli.Context) error {
	if c.Bool("decisions") && c.Bool("screen") {
		return command.Usagef("replay: use either --screen or --decisions")
	}
	if c.Bool("decisions") {
		return subcommands.ReplayDecisions(e.Env, c)
	}
	if c.Bool("json") || c.IsSet("only") {
		return command.Usagef("replay: --json and --only need --decisions; without it, replay always prints JSON lines")
	}
	pace := c.Float64("pace")
	if c.Bool("screen") && pace > 0 {
		return command.Usagef("replay: --pace is for printed events; the keys + and - change the pace of the screen")
	}
	if c.NArg() > 1 {
		return command.Usagef("replay: give at most one RUN; arbiter sessions lists the runs")
	}
	if pace < 0 {
		return command.Usagef("--pace %g: must not be negative", pace)
	}
	if c.Bool("screen") {
		return e.replayScreen(c)
	}
	return subcommands.PrintEvents(e.Env, c)
}
