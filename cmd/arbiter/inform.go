package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/acp"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/evidence"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

func (e env) version(c *cli.Context) error {
	out := map[string]any{
		"version": command.Version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		"contract": contract.Version, "bridge": bridge.ProtocolVersion,
	}
	path := cmp.Or(c.String("claude"), "claude")
	ctx, cancel := context.WithTimeout(c.Context, 20*time.Second)
	defer cancel()
	info, err := claude.NewLauncher("").Detect(ctx, bridge.ClaudeSpec{Path: path})
	if err == nil {
		out["claude"], out["claude_path"] = info.Version, info.Path
	}
	if c.Bool("json") {
		return e.PrintJSON(out)
	}
	fmt.Fprintf(e.Stdout, "arbiter %s (%s, %s/%s)\n", command.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if err != nil {
		fmt.Fprintf(e.Stdout, "claude: %s\n", sanitize.Line(sanitize.Redact(err.Error()), 1000))
	} else {
		fmt.Fprintf(e.Stdout, "claude %s (%s)\n", sanitize.Line(info.Version, 100), sanitize.Line(info.Path, 400))
	}
	return nil
}

func (e env) schema(c *cli.Context) error {
	print := map[string]func() ([]byte, error){
		"events":   func() ([]byte, error) { return contract.EventsSchema(), nil },
		"commands": func() ([]byte, error) { return contract.CommandsSchema(), nil },
		"bridge":   func() ([]byte, error) { return bridge.Schema, nil },
		"config":   settings.ConfigSchema,
	}[c.Args().First()]
	if c.NArg() != 1 {
		return command.Usagef("schema: give one of events, commands, config, bridge, machine")
	}
	if print == nil {
		return command.Usagef("schema: there is no schema %q: use one of events, commands, config, bridge, machine",
			c.Args().First())
	}
	raw, err := print()
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(raw), "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.Stdout, indented.String())
	return err
}

// schemaMachine prints the state machine's table that the engine itself uses.
func (e env) schemaMachine(c *cli.Context) error {
	print := map[string]func() string{"json": func() string { return string(machine.JSON()) },
		"mermaid": machine.Mermaid, "dot": machine.DOT}[c.String("format")]
	if print == nil {
		return command.Usagef("--format %q: use json, mermaid or dot", c.String("format"))
	}
	_, err := io.WriteString(e.Stdout, print())
	return err
}

func (e env) scenarios(c *cli.Context) error {
	switch c.NArg() {
	case 0:
		for _, name := range rehearsal.BuiltinNames() {
			s, err := rehearsal.Builtin(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(e.Stdout, "%-12s %s\n", name, s.Title)
		}
		return nil
	case 1:
		src, err := rehearsal.BuiltinSource(c.Args().First())
		if err != nil {
			return command.Usagef("%v", err)
		}
		_, err = e.Stdout.Write(src)
		return err
	}
	return command.Usagef("scenarios: give at most one SCENARIO")
}

// agentLauncher starts agents of all makes: Claude, unless a configuration names another.
type agentLauncher struct {
	*claude.Launcher
	makes acp.Launcher
}

func (l agentLauncher) Launch(ctx context.Context, of bridge.Owner, spec bridge.ClaudeSpec, p bridge.SpawnParams,
	host bridge.Host) (bridge.Agent, error) {
	if p.Config.Make != nil {
		return l.makes.Launch(ctx, of, p, host)
	}
	return l.Launcher.Launch(ctx, of, spec, p, host)
}

// bridge serves one client on stdin and stdout. When the client is gone, it ends everything it started.
func (e env) bridge(c *cli.Context) error {
	crashpoint.Role("bridge")
	// This comes first: the namespace is entered with no other files open, and the lock must not reach a child.
	isolation, err := proctree.EnterNamespace()
	if err != nil {
		return command.Failedf("%v", err)
	}
	holdErr := proctree.HoldInheritedLock()
	level := slog.LevelInfo
	if c.Bool("debug") {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: level}))
	if holdErr != nil {
		log.Warn("hold inherited lock failed", "error", holdErr)
	}
	kept, err := host.Kept()
	switch {
	case err != nil:
		return command.Failedf("%v", err)
	case kept == nil && c.Bool("remote"):
		return e.keepBridge(c, log)
	}
	log.Debug("process isolation", "namespace", isolation.String())
	if release, err := proctree.BecomeSubreaper(); err != nil {
		log.Warn("become subreaper failed", "error", err) // orphans are then found only by their environment
	} else {
		defer release()
	}
	launcher := agentLauncher{Launcher: claude.NewLauncher("")}
	if self, err := os.Executable(); err == nil {
		launcher.Launcher.Self(self)
		launcher.makes.Self = self
	}
	options := bridge.ServerOptions{Version: command.Version(), Logger: log, Evidence: evidence.New()}
	ctx, pipe := c.Context, bridge.Stdio()
	if kept != nil {
		machine, err := keptMachine(kept, isolation)
		if err != nil {
			return err
		}
		options.Machine, options.Renewed, pipe = machine, kept.Renewed, kept.Pipe(pipe)
		var done func()
		ctx, done = kept.Under(ctx)
		defer done()
	}
	err = bridge.NewServer(launcher, options).Serve(ctx, pipe)
	if _, ok := errors.AsType[*bridge.UnstoppedError](err); ok {
		return command.Failedf("%v", err)
	}
	return nil
}
