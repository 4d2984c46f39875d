package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

func (e env) mcpCommand() *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "serve runs to an MCP client, such as Claude Code, on stdin and stdout",
		ArgsUsage: "[-- RUN_FLAG…]",
		Description: strings.TrimSpace(`
A model that has these tools can start runs, wait for them and answer their questions. What follows -- are flags for
each run that is started. Runs continue when the server ends; the next server finds them. Runs work in the current
directory and below, unless --allow-dir names others. Permission requests and trust are yours to answer: in a form of
the client, or with arbiter allow, deny and choose. See docs/mcp.md.

  claude mcp add arbiter -- arbiter mcp -- --max-cost 5

Exit code 1: the connection was lost.`),
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "allow-dir", Usage: "runs may also work in `DIR` and below; repeatable",
				TakesFile: true},
			&cli.BoolFlag{Name: "model-answers-permissions",
				Usage: "let the model that calls the tools answer permission requests"},
			settings.StateDirFlag(),
		},
		Action: e.mcp,
	}
}

// mcp is `arbiter mcp`.
func (e env) mcp(c *cli.Context) error {
	here, err := os.Getwd()
	if err != nil {
		return command.Environmentf("working directory: %v", err)
	}
	dirs := c.StringSlice("allow-dir")
	if here != string(filepath.Separator) { // started there by a desktop program: it would allow all
		dirs = append([]string{here}, dirs...)
	}
	if len(dirs) == 0 {
		return command.Usagef("the server was started in %s: name the directories for runs with --allow-dir DIR", here)
	}
	port, err := e.openRunPort(c)
	if err != nil {
		return err
	}
	// Wrong flags are found now, not only when a model starts its first run.
	if _, err := port.choices(dirs[0], "", c.Args().Slice()); err != nil {
		return err
	}
	state := settings.StateForCommand(port.stateDir)
	s, err := clients.NewMCP(clients.MCPOptions{
		Runs: port, Args: c.Args().Slice(), Dirs: dirs,
		ModelAnswers: c.Bool("model-answers-permissions"), Version: command.Version(),
		Line: func(ev contract.Event) string { return ev.ID + ": " + eventtext.Line(ev, nil) },
		Full: func(ev contract.Event) string {
			text, _ := eventtext.Text(history.Entry{Event: ev}, nil)
			return strings.TrimSpace(sanitize.Text(text))
		},
		Typed: func(name, run string, args ...string) string {
			return strings.Join(append([]string{"arbiter", name, command.ShortID(run)}, args...), " ") + state
		},
	})
	if err != nil {
		return command.Usagef("--allow-dir: %v", err)
	}
	command.OutliveReaders()
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	err = s.Serve(ctx, clients.MCPLines(e.Stdin, e.Stdout))
	switch {
	case ctx.Err() != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return command.Failedf("the connection to the MCP client is lost: %s", err.Error())
	}
	return nil
}
