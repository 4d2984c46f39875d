package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// loginFlag is the flag that an editor adds to the command so that its user can log in.
const loginFlag = "login"

func (e env) acpCommand() *cli.Command {
	return &cli.Command{
		Name: "acp", Usage: "serve runs to an editor: an agent of the Agent Client Protocol on stdin and stdout",
		ArgsUsage: "[-- RUN_FLAG…]",
		Description: strings.TrimSpace(`
An editor starts this command. Each of its sessions is a run: the first prompt is the task, later ones answer questions
or tell the Arbiter something. What follows -- are flags for each run that is begun. See docs/acp.md.

  arbiter acp -- --max-cost 5 --isolation worktree

With --login the exit code is that of claude auth login.`),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: loginFlag, Usage: "run claude auth login in this terminal instead"},
			settings.StateDirFlag(),
		},
		Action: e.acp,
	}
}

// acp is `arbiter acp`.
func (e env) acp(c *cli.Context) error {
	args := c.Args().Slice()
	login := c.Bool(loginFlag)
	if n := len(args); n > 0 && args[n-1] == "--"+loginFlag { // an editor adds it at the end
		args, login = args[:n-1], true
	}
	here, err := os.Getwd()
	if err != nil {
		return command.Environmentf("working directory: %v", err)
	}
	port, err := e.openRunPort(c)
	if err != nil {
		return err
	}
	chosen, err := port.choices(here, "", args) // wrong flags are found now, not at the first prompt
	if err != nil {
		return err
	}
	if login {
		return e.claudeLogin(c.Context, chosen.Claude)
	}
	command.OutliveReaders()
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	err = clients.ServeACP(ctx, e.Stdin, e.Stdout, clients.ACPConfig{
		Runs: port, State: settings.StateForCommand(port.stateDir), Args: args, Version: command.Version(),
		Login:      []string{"--" + loginFlag},
		AcceptRisk: slices.Contains(args, "--i-accept-the-risk"),
		Mode: func(dir string) (string, error) {
			c, err := port.choices(dir, "", args)
			return c.Options.Permissions, err
		},
		Log: slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if ctx.Err() != nil {
		return command.BySignal(ctx, "")
	}
	return err
}

// claudeLogin has the user log in to Claude in this terminal.
func (e env) claudeLogin(ctx context.Context, claude string) error {
	cmd := exec.CommandContext(ctx, cmp.Or(claude, "claude"), "auth", "login")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, command.Raw(e.Stdout), e.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return &command.Error{Code: contract.Exit(exit.ExitCode()), Text: "claude auth login failed"}
	}
	if err != nil {
		return command.Environmentf("claude auth login: %v; name the program with --claude", err)
	}
	return nil
}
