package subcommands

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func ChooseCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
	return &cli.Command{
		Name: "choose", Usage: "choose how a live run continues", ArgsUsage: "[RUN] OPTION",
		Description: strings.TrimSpace(`
Takes one of the options that arbiter status shows: after a failure, such as retry, or about trust in
a workspace that has changed. Without RUN it is the live run of this directory.

Exit code 1: the connection was lost: it may be chosen, or not.`),
		Flags: []cli.Flag{command.JSONFlag(), settings.StateDirFlag()}, Action: e.choose,
	}
}

// choose is `arbiter choose`.
func (e liveEnv) choose(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 || len(args) > 2 || args[len(args)-1] == "" {
		return command.Usagef("choose: give one OPTION, optionally after a RUN; arbiter status shows the options")
	}
	run := ""
	if len(args) == 2 {
		run = args[0]
	}
	l, err := runstore.Connect(c, run, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	return e.sendCommand(c.Context, l, contract.Choose{Option: args[len(args)-1]}, c.Bool("json"))
}
