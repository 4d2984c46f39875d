package subcommands

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/hooks"
)

// HookCommand is `arbiter hook` for people. [hookclient.Answer] answers events without it.
func HookCommand(io command.Env) *cli.Command {
	e := env{io}
	return &cli.Command{
		Name: hookclient.Command, Usage: "answer the hooks of a session that you opened yourself",
		Description: strings.TrimSpace(`
Claude Code calls this command for each hook of a session that you opened yourself. It reads the
event from stdin, asks the running arbiter and prints the answer. It never fails and never takes
longer than 2 s: without an answer the session continues as if there were no hook.

  claude --resume ID --settings "$(arbiter hook --settings)"`),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "socket", Usage: "`PATH` of the running arbiter's socket",
				EnvVars: []string{hookclient.PathEnv}},
			&cli.BoolFlag{Name: "settings", Usage: "print the Claude Code settings that call this command"},
			&cli.StringFlag{Name: "session",
				Usage: "with --settings: the `RUN` (default: the live run of this directory)"},
			&cli.BoolFlag{Name: "debug", Usage: "print to stderr why there was no answer"},
			settings.StateDirFlag(),
		},
		Action: e.hookSettings,
	}
}

// hookSettings prints the JSON for `claude --settings`.
func (e env) hookSettings(c *cli.Context) error {
	socket, err := hookSocketOf(c)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("unix", socket, hookclient.Deadline)
	if err != nil {
		return command.Usagef("no arbiter answers hooks at %s: %v", socket, err)
	}
	conn.Close()
	self, err := os.Executable()
	if err != nil {
		return command.Environmentf("cannot find arbiter's own program: %v", err)
	}
	_, err = fmt.Fprintln(e.Stdout, string(hooks.Settings(hookclient.CommandLine(self, socket))))
	return err
}

// hookSocketOf returns the socket to use: the one in --socket, or else the one of the run that is named or that
// runs in this directory.
func hookSocketOf(c *cli.Context) (string, error) {
	if socket := c.String("socket"); socket != "" {
		abs, err := filepath.Abs(socket)
		if err != nil {
			return "", command.Environmentf("socket: %v", err)
		}
		return abs, nil
	}
	store, err := runstore.Open(c)
	if err != nil {
		return "", err
	}
	defer store.Close()
	info, err := runstore.FindLive(store, c.String("session"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(store.Dir(info.Run), host.HookSocketName)
	if target, err := os.Readlink(path); err == nil {
		path = target // the path in the run's directory is too long
	}
	return path, nil
}
