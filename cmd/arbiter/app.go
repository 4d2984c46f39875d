package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hooksocket"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/manual"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Main runs the program and returns its exit code. A panic becomes a line that
// says so and ExitBug, never a bare stack.
func Main() (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderrWriter{os.Stderr}, "arbiter: bug in arbiter: %v\n%s\n", p, debug.Stack())
			code = int(contract.ExitBug)
		}
	}()
	return run(os.Args, os.Stdin, os.Stdout, os.Stderr)
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[1] == sandbox.ProbeCommand {
		return sandboxProbe(stdin, stdout, stderr)
	}
	if sandbox.IsToolShell(args) {
		return toolShell(args[1], stderr)
	}
	if len(args) > 1 && args[1] == standInCommand {
		// Its arguments are Claude's, not ours: no flag of it may be touched.
		return standIn(args[2:], stdin, stdout, stderr)
	}
	if len(args) > 1 && args[1] == hooksocket.Command && hooksocket.Answers(args[2:]) {
		// Before anything that takes time: a session waits for it at every call.
		return hooksocket.Answer(args[2:], stdin, stdout, stderr)
	}
	stderr = stderrWriter{stderr}
	e := env{stdin: stdin, stdout: stdout, stderr: stderr}
	if len(args) > 1 && args[1] == manual.Ask {
		return e.complete(args[2:])
	}
	crashpoint.Role("arbiter")
	journal.CrashPoint = crashpoint.Here
	app := e.app()
	about, asked, err := helps(app, args[min(1, len(args)):])
	if asked && err == nil {
		manual.Help(stdout, about, preface)
		return int(contract.ExitComplete)
	}
	if len(args) == 2 && args[1] == "--version" {
		args = []string{args[0], "version"}
	}
	if err == nil {
		err = app.RunContext(context.Background(), flagsFirst(args, app))
	}
	if err == nil {
		return int(contract.ExitComplete)
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		// What urfave/cli refuses is how it was called.
		exit = usagef("%s", err.Error())
	}
	if exit.text != "" {
		fmt.Fprintln(stderr, "arbiter: "+sanitize.Line(sanitize.Redact(exit.text), 2000))
		if exit.code == contract.ExitUsage {
			fmt.Fprintln(stderr, "Try: "+manual.At(app, args[1:]).Name()+" --help")
		}
	}
	return int(exit.code)
}

// env is what the commands read and write.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// exitError ends the program with a code. An empty text says nothing more: it
// was said already.
type exitError struct {
	code contract.Exit
	text string
}

func (e *exitError) Error() string { return e.text }

func usagef(format string, args ...any) *exitError {
	return &exitError{code: contract.ExitUsage, text: fmt.Sprintf(format, args...)}
}

func environmentf(format string, args ...any) *exitError {
	return &exitError{code: contract.ExitEnvironment, text: fmt.Sprintf(format, args...)}
}

func (e env) app() *cli.App {
	app := &cli.App{
		Name:      "arbiter",
		Usage:     "a hierarchy of Claude Code sessions that outlives the context window",
		UsageText: "arbiter [flags] [REQUIREMENTS.md]\narbiter --resume [--session RUN]\narbiter --json [flags] [--task TEXT] [REQUIREMENTS.md]\narbiter COMMAND [flags]",
		Description: strings.TrimSpace(`
The Arbiter, a Claude session that holds the vision and never edits a file, directs numbered
Orchestrators, Claude sessions that do the work and are replaced before their context rots.

Without --json it is a full-screen oracle: speak, and a run begins. --plain is the same in
lines of prose. --json writes one event a line on stdout and reads one command a line on stdin
(arbiter schema events, arbiter schema commands). Data on stdout, prose on stderr.

A screen that is left ends with the exit code of the last run played on it: 130 if that was
still going on. With none: 0, or what kept it from beginning (2, 5).`),
		ArgsUsage:                 "[REQUIREMENTS.md]",
		Version:                   version(),
		HideVersion:               true,
		HideHelp:                  true, // helps sees to it
		Flags:                     cliFlags(),
		Action:                    e.main,
		Commands:                  e.commands(),
		DisableSliceFlagSeparator: true,
		Reader:                    e.stdin,
		Writer:                    e.stdout,
		ErrWriter:                 e.stderr,
		ExitErrHandler:            func(*cli.Context, error) {}, // the default one calls os.Exit
		OnUsageError:              usageProblem,
	}
	return app
}

func (e env) commands() []*cli.Command {
	tells := e.withSafeOutput()
	list := slices.Concat(tells.sessionCommands(), tells.workCommands(), e.controlCommands(), []*cli.Command{
		tells.agentsCommand(), tells.trustCommand(), tells.grantsCommand(), tells.decideCommand(),
		e.doctorCommand(),
		{
			Name: "scenarios", Usage: "list what --rehearse can play, or print one", ArgsUsage: "[SCENARIO]",
			Action: tells.scenarios,
		},
		{
			Name: "schema", Usage: "print a JSON Schema, or the task machine", ArgsUsage: "events|commands|config|bridge|machine",
			Action: e.schema,
			Subcommands: []*cli.Command{{
				Name: "machine", Usage: "print the table of the task machine, or its graph",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "format", Value: "json", Usage: "`json|mermaid|dot`: how it is written"}},
				Action: e.schemaMachine,
			}},
		},
		{
			Name: "version", Usage: "print the version, and that of the claude found",
			Flags:  []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "as one JSON object"}, flagOf("claude")},
			Action: tells.version,
		},
		e.completionCommand(), e.manCommand(), e.hookCommandSpec(),
		{
			Name: "bridge", Usage: "serve the JSON-RPC bridge on stdin and stdout",
			Description: "One process a host; it owns every Claude session it starts, and ends them all when its\nstdin ends. `arbiter schema bridge` documents the protocol.",
			Flags:       []cli.Flag{&cli.BoolFlag{Name: "debug", Usage: "log more, on stderr"}},
			Action:      e.bridge,
		},
	})
	for _, c := range list {
		for _, c := range append([]*cli.Command{c}, c.Subcommands...) {
			c.OnUsageError, c.HideHelp = usageProblem, true
		}
	}
	return list
}

// main is arbiter without a command.
func (e env) main(c *cli.Context) error {
	s, err := readSettings(c)
	if err != nil {
		return err
	}
	switch {
	case s.JSON:
		return e.headless(s)
	case s.Plain:
		return e.plain(s)
	}
	return e.screenCommand(s)
}
