package main

import "github.com/urfave/cli/v2"

// liveCommands are those on a live run, from any terminal. What they print as JSON is safe for a terminal; attach
// shows a terminal's output as it is.
func (e env) liveCommands() []*cli.Command {
	tells := env{e.WithSafeOutput()}
	return []*cli.Command{
		tells.psCommand(), tells.statusCommand(), e.watchCommand(), tells.sendCommand(), tells.allowCommand(),
		tells.denyCommand(), tells.chooseCommand(), tells.stopCommand(), e.attachCommand(), e.haltCommand(),
		e.mcpCommand(), e.acpCommand(),
		e.webCommand(),
	}
}
