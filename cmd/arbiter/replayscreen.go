package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// replayScreenFlags are the flags for the look of a playback's screen.
func replayScreenFlags() []cli.Flag {
	return []cli.Flag{settings.FlagOf("theme"), settings.FlagOf("ascii"), settings.FlagOf("reduced-motion"),
		settings.FlagOf("no-mouse")}
}

// replayScreen plays a run again on the full screen.
func (e env) replayScreen(c *cli.Context) error {
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	defer store.Close()
	log, err := store.OpenEventLog(info.Run)
	if err != nil {
		return err
	}
	defer log.Close()
	if problem := noScreen(); problem != "" {
		return command.Usagef("cannot show the screen: %s; leave out --screen to print the events", problem)
	}
	look := settings.ScreenSettings{Theme: c.String("theme"), ASCII: c.Bool("ascii") || !command.SpeaksUTF8(os.Getenv),
		Still: c.Bool("reduced-motion"), Mouse: !c.Bool("no-mouse"), OnHangup: settings.HangupLeave}
	if _, err := render.NewTheme(look.Theme, render.TrueColor); err != nil {
		return command.Usagef("--theme %q: %v", look.Theme, err)
	}
	h := clients.NewScreen(e.Env, settings.Choices{Place: info.CWD, StateDir: store.Root, Screen: look,
		Config: settings.UserConfig(c.String("config"))})
	f, err := tui.New(tui.Options{
		Host: replayHost{h, view.NewPlayer(info.Run, log)}, Theme: look.Theme, ASCII: look.ASCII, Still: look.Still,
		Mouse: look.Mouse, Around: render.Surroundings{ColorFGBG: os.Getenv("COLORFGBG")}, Begin: &tui.Begin{},
		Painting: painting,
	})
	if err != nil {
		return command.Environmentf("%v; leave out --screen to print the events", err)
	}
	return h.Show(f)
}

// errPlayback is the answer to requests that only a live run can fulfil.
var errPlayback = errors.New("this is a playback: nothing runs")

// replayHost is the program around the screen of a playback: it looks for no CLI, starts nothing, and writes
// nothing.
type replayHost struct {
	*clients.ScreenHost
	player *view.Player
}

func (h replayHost) Inspect(context.Context) tui.Findings {
	return tui.Findings{Claude: "not needed", CWD: h.Choices().Place, Trusted: true, State: h.State()}
}

func (h replayHost) Begin(context.Context, tui.Begin, runloop.Sink) (tui.Run, error) {
	return replayRun{h.player, make(chan struct{})}, nil
}

// Trust, Edit, Login, Attach, Open, OpenSettings, Inputs, Remember and Documents implement tui.Host.
func (h replayHost) Trust(context.Context) error              { return errPlayback }
func (h replayHost) Edit(string) (string, error)              { return "", errPlayback }
func (h replayHost) Login() error                             { return errPlayback }
func (h replayHost) Attach(string) error                      { return errPlayback }
func (h replayHost) Open(string, string, int) error           { return errPlayback }
func (h replayHost) OpenSettings() error                      { return errPlayback }
func (h replayHost) Inputs() []string                         { return nil }
func (h replayHost) Remember(string)                          {}
func (h replayHost) Documents(context.Context) []tui.Document { return nil }

// replayRun is a finished run that can be viewed, but takes no commands.
type replayRun struct {
	player *view.Player
	done   chan struct{} // never closed: the user leaves a playback
}

var _ tui.Playback = replayRun{}

// Player implements tui.Playback.
func (r replayRun) Player() *view.Player { return r.player }

// ID, Snapshot and Changed implement tui.Run.
func (r replayRun) ID() string                  { return r.player.ID() }
func (r replayRun) Snapshot() *supervisor.State { return r.player.Snapshot() }
func (r replayRun) Changed() <-chan struct{}    { return r.player.Changed() }

// Silent, Put, Stop, Leave, Halt, Done and Outcome implement tui.Run; they do nothing.
func (r replayRun) Put(context.Context, contract.Command) bool { return false }
func (r replayRun) Silent() (none time.Time)                   { return none }
func (r replayRun) Stop()                                      {}
func (r replayRun) Leave()                                     {}
func (r replayRun) Halt() string                               { return "Nothing runs." }
func (r replayRun) Done() <-chan struct{}                      { return r.done }
func (r replayRun) Outcome() tui.Outcome                       { return tui.Outcome{} }

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
		return subcommands.Env{Env: e.Env}.ReplayDecisions(c)
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
	if !(pace >= 0) {
		return command.Usagef("--pace %g: must not be negative", pace)
	}
	if c.Bool("screen") {
		return e.replayScreen(c)
	}
	return subcommands.PrintEvents(e.Env, c)
}
