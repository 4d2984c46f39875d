package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// nearOnly are the variables that lead to the user's own machine. Agents on another host do not get them, since
// they give access to its keys, screens and connections.
var nearOnly = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_ASKPASS",
	"GPG_AGENT_INFO", "GPG_TTY", "KRB5CCNAME", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
	"TRACEPARENT", "TRACESTATE", proctree.EnvRun, proctree.EnvBridge, proctree.EnvAgent, proctree.EnvLock}

// keepBridge is `arbiter bridge --remote` as it is started on a host: the process that starts and keeps the
// bridge.
func (e env) keepBridge(c *cli.Context, log *slog.Logger) error {
	state, err := command.StateDir("")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return command.Environmentf("cannot find arbiter's own program: %v", err)
	}
	args := []string{"bridge", "--remote"}
	if c.Bool("debug") {
		args = append(args, "--debug")
	}
	near := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(nearOnly, name)
	})
	code, err := host.KeepBridge(c.Context, os.Stdin, os.Stdout, host.KeeperOptions{Program: self, Args: args, Env: near,
		Locks: filepath.Join(state, "hosts"), Mode: proctree.ModeAuto, Log: log})
	switch {
	case err != nil:
		return command.Failedf("%v", err)
	case code != 0:
		return &command.Error{Code: contract.ExitFailed}
	}
	return nil
}

// keptMachine describes this machine to clients of a bridge that has a keeper.
func keptMachine(kept *host.KeptBridge, isolation proctree.Isolation) (*host.RemoteMachine, error) {
	state, err := command.StatePath("")
	if err != nil {
		return nil, err
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, command.Environmentf("there is no home directory: set HOME")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return &host.RemoteMachine{Data: filepath.Join(data, "arbiter", "hosts"), Own: settings.OwnConfiguration(),
		Hide: command.Private(state), Namespace: isolation.String(), Ended: kept.Ended}, nil
}
