package main

import "github.com/urfave/cli/v2"

import "github.com/arbiter-cli/arbiter/cmd/arbiter/internal/liveruns"

// liveCommands are those on a live run, from any terminal. What they print as JSON is safe for a terminal; attach
// shows a terminal's output as it is.
func (e env) liveCommands() []*cli.Command {
	tells := env{e.WithSafeOutput()}
	return []*cli.Command{
		liveruns.PsCommand(tells.Env), liveruns.StatusCommand(tells.Env), liveruns.WatchCommand(e.Env),
		liveruns.SendCommand(tells.Env), liveruns.AllowCommand(tells.Env),
		liveruns.DenyCommand(tells.Env), liveruns.ChooseCommand(tells.Env), liveruns.StopCommand(tells.Env),
		e.attachCommand(), e.haltCommand(),
		e.mcpCommand(), e.acpCommand(),
		e.webCommand(),
	}
}
