package main

import (
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
)

// demoCommand plays the main job on the rehearsal model. All that it needs is in the program.
func (e env) demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "play a small job on a scripted model: no login, no network, no cost",
		Description: "Two Orchestrators add an export to a small program, in two minutes. One asks you a question, one " +
			"for a\npermission. It drives Claude Code if that is installed, otherwise a built-in stand-in, in a scratch " +
			"directory\nwith a private home. Costs are simulated. Without a terminal it is played at once, and prints " +
			"events as\narbiter --json does.",
		Action: func(c *cli.Context) error {
			values := map[string]string{"scenario": "demo",
				"task": "Add a CSV export to invoice.sh, and prove it with tests"}
			if noScreen() != "" && !c.Bool("plain") && !c.Bool("detach") {
				values["json"], values["no-input"] = "true", "true"
			}
			if err := setFlags(c, values); err != nil {
				return err
			}
			s, err := settings.ReadSettings(c)
			if err != nil {
				return err
			}
			return e.begin(c.Context, s)
		},
	}
}
