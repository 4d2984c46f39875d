package subcommands

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// PinnedVersion is the CLI version to install if another one lacks a required ability.
const PinnedVersion = "2.1.329"

// DoctorCommand is `arbiter doctor`.
func DoctorCommand(io command.Env) *cli.Command {
	e := doctorEnv{io}
	return &cli.Command{
		Name: "doctor", Usage: "check whether a run can start here, and say how to fix it if not",
		Description: strings.TrimSpace(`
Checks claude and its login, the environment, the configuration, directories, the terminal, system
limits, the sandbox and leftovers of earlier runs. Then it runs two short sessions of claude
against a scripted model, in a scratch directory with a private home and a dummy key, to see
whether claude can do what arbiter needs. That takes some seconds, no network and no money.

It changes nothing, except that it creates the state directory if there is none. Each finding is
ok, a note, a warning or a failure; a line with an arrow is a command that helps. --json prints one
object: {"arbiter", "state", "counts", "findings": [{"area", "name", "state", "found", "fix"}]},
where a state is ok, note, warn or fail.

Exit codes: 0 a run can start here, with or without warnings; 2 usage; 5 a run cannot start; 130
SIGINT; 143 SIGTERM or SIGHUP.`),
		Flags: append([]cli.Flag{
			command.JSONFlag(),
			&cli.BoolFlag{Name: "no-trial", Aliases: []string{"offline"}, Usage: "run no session of claude"},
			&cli.DurationFlag{Name: "trial-timeout", Value: host.DefaultTimeout, Usage: "time limit for the sessions"},
		}, lookingFlags()...),
		Action: e.doctor,
	}
}

// lookingFlags returns the flags for settings that say where to look.
func lookingFlags() []cli.Flag {
	var flags []cli.Flag
	for _, s := range settings.Table {
		switch s.Name {
		case "cwd", "claude", "trust", "sandbox", "sandbox-write", "sandbox-hide", "network", "allow-host", "pid-namespace",
			"state-dir", "config":
			flags = append(flags, s.Flag())
		}
	}
	return flags
}

func (e doctorEnv) doctor(c *cli.Context) error {
	if c.Duration("trial-timeout") <= 0 {
		return command.Usagef("--trial-timeout %s: must be greater than 0", c.Duration("trial-timeout"))
	}
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	l := inspection{c: c}
	findings := host.Examine(l.around(ctx))
	if !c.Bool("no-trial") && l.found.Path != "" {
		findings = append(findings, l.trial(ctx)...)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	report := host.NewReport(command.Version(), findings)
	if err := e.printReport(report, c.Bool("json")); err != nil {
		return err
	}
	if report.State == host.DoctorFail {
		return &command.Error{Code: contract.ExitEnvironment}
	}
	return nil
}

func (e doctorEnv) printReport(r host.DoctorReport, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(e.WithSafeOutput().Stdout)
		enc.SetEscapeHTML(false) // for commands to type
		return enc.Encode(r)
	}
	return r.Print(e.Stdout, host.DoctorStyle{ASCII: !command.SpeaksUTF8(os.Getenv), Colour: coloured(e.Stdout)})
}

// coloured reports whether output to w may have colours.
func coloured(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// doctorEnv has the standard streams, and the commands of this package as methods.
type doctorEnv struct{ command.Env }
