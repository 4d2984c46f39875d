package subcommands

import (
	"encoding/json"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func StopCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
	return &cli.Command{
		Name: "stop", Usage: "end a live run in order, so that it can be resumed", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Ends the run as SIGTERM does, waits for its end, and prints how it ended and how to resume it. The
run's own process ends with exit code 143. Without RUN it is the live run of this directory. To stop
all agents but keep the run, use arbiter halt.

Exit code 1: the connection was lost before it reported how; 130, 143: a signal ended the wait, the run still
ends. If arbiter does not answer (5), arbiter halt still ends its agents.`),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "now", Usage: "do not let running turns end"},
			command.JSONFlag(), settings.StateDirFlag()},
		Action: e.stop,
	}
}

// stop is `arbiter stop`.
func (e liveEnv) stop(c *cli.Context) error {
	ctx, done := command.Interruptible(c.Context, false)
	defer done()
	l, err := runstore.Connect(c, c.Args().First(), nil)
	if err != nil {
		return err
	}
	defer l.Close()
	end, err := endRun(l, ctx, c.Bool("now"))
	run := command.ShortID(l.Info.Run)
	switch {
	case ctx.Err() != nil:
		return command.BySignal(ctx, "run "+run+" is being stopped; arbiter ps shows whether it is still live")
	case err != nil:
		return runstore.NotConnected(l.Info, err)
	case end == nil:
		return &command.Error{Code: contract.ExitFailed, Text: "run " + run + " has ended, and did not report how"}
	}
	s := Stopped{Run: l.Info.Run, Exit: end.Exit, Text: end.Text}
	if info, err := l.Store.Find(l.Info.Run); err == nil && runstore.LineOf(info).Resumable && info.Unfinished {
		s.Resume = settings.ResumeLine("", l.Info.Run, l.Store.Root)
	}
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(s)
	}
	e.printStopped(s, end.Unfinished)
	return nil
}
