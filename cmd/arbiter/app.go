// Command arbiter drives a hierarchy of Claude Code sessions through one task,
// however long. See `arbiter --help` and README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/acp"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	_ "github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient" // answers `arbiter hook` before main
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/rehearsal/fakecli"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// longError is how many bytes are shown of the beginning, and of the end, of a long error.
const longError = 1000

// Main runs the program and returns its exit code. On a panic it prints a line that says so and returns
// ExitBug; it never prints a bare stack.
func Main() (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(command.Stderr{W: os.Stderr}, "arbiter: bug in arbiter: %v\n%s\n", p, debug.Stack())
			code = int(contract.ExitBug)
		}
	}()
	return run(os.Args, os.Stdin, os.Stdout, os.Stderr)
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 2 && args[1] == sandbox.ProbeCommand {
		if err := sandbox.RunProbe(stdin, stdout); err != nil {
			fmt.Fprintln(stderr, "arbiter: canary:", err)
			return 1
		}
		return 0
	}
	if len(args) > 2 && args[1] == sandbox.EntryCommand {
		fmt.Fprintln(stderr, "arbiter:", sandbox.Enter(args[2:]))
		return 126
	}
	if len(args) == 3 && args[1] == acp.RelayCommand {
		if err := acp.Relay(args[2], stdin, stdout); err != nil {
			fmt.Fprintln(stderr, "arbiter:", err)
			return int(contract.ExitFailed)
		}
		return 0
	}
	if sandbox.IsScratch(args) {
		fmt.Fprintln(stderr, "arbiter: scratch copy:", sandbox.RunScratch(args))
		return 1
	}
	if len(args) > 1 && args[1] == host.StandInCommand {
		// The remaining arguments are Claude's, not arbiter's: do not parse or change its flags.
		return fakecli.Main(args[2:], stdin, stdout, stderr)
	}
	stderr = command.Stderr{W: stderr}
	output := &command.Output{W: stdout}
	e := env{command.Env{Stdin: stdin, Stdout: output, Stderr: stderr}}
	if len(args) > 1 && args[1] == command.Ask {
		return subcommands.Complete(e.Env, e.app, args[2:])
	}
	crashpoint.Role("arbiter")
	journal.CrashPoint = crashpoint.Here
	if len(args) == 2 && args[1] == "--version" {
		args = []string{args[0], "version"}
	}
	app := e.app()
	line := command.ReadLine(app, args[min(1, len(args)):])
	err := e.runLine(app, line)
	exit, known := errors.AsType[*command.Error](err)
	if err == nil || known && exit.Text == "" { // the code alone says nothing of what was not printed
		err = cmp.Or(output.Problem(), err)
	}
	if err == nil {
		return int(contract.ExitComplete)
	}
	if exit, known = errors.AsType[*command.Error](err); !known {
		exit = command.Usagef("%v", err) // urfave/cli rejects it
		if _, file := errors.AsType[*os.PathError](err); file {
			exit.Code = contract.ExitEnvironment
		}
	}
	if exit.Text != "" {
		text := strings.ReplaceAll(exit.Text, "\n", "; ") // joined errors have several lines
		text = sanitize.Line(sanitize.Redact(line.Advice(text)), 0)
		if len(text) > 2*longError { // the reason is at the end
			text = strings.ToValidUTF8(text[:longError], "") + " … " + words.Tail(text, longError)
		}
		fmt.Fprintln(stderr, "arbiter: "+text)
		if exit.Code == contract.ExitUsage {
			fmt.Fprintln(stderr, "Try: "+line.Command.HelpName+" --help")
		}
	}
	return int(exit.Code)
}

// runLine runs a command, or prints its help. Help wins over mistakes on the line.
func (e env) runLine(app *cli.App, line *command.Line) error {
	switch {
	case !line.Help && line.Swallowed != nil:
		return command.Usagef("%s needs a value, and %s is a flag; if it is meant as the value, write %[1]s=%[2]s",
			line.Swallowed[0], line.Swallowed[1])
	case !line.Help:
		app.After = func(c *cli.Context) error { // the configuration may say where runs are; other commands do not read it
			if dir, err := command.StatePath(c.String("state-dir")); err == nil && settings.StateForCommand(dir) != "" {
				line.Given["state-dir"] = dir
			}
			return nil
		}
		return app.RunContext(context.Background(), line.Ordered())
	case line.HelpWord && len(line.Args) > 0:
		return command.NoSuchCommand(line.Command, line.Args[0])
	}
	command.Help(e.Stdout, line.Command, preface)
	return nil
}

func (e env) app() *cli.App {
	app := &cli.App{
		Name:  "arbiter",
		Usage: "run one long task with several Claude Code sessions",
		UsageText: "arbiter [flags] [REQUIREMENTS.md]\narbiter --resume [--session RUN]\narbiter --json [flags] " +
			"[--task TEXT] [REQUIREMENTS.md]\narbiter COMMAND [flags]",
		Description: strings.TrimSpace(`
Arbiter runs several Claude Code sessions on one task. One session, the Arbiter, talks to you,
plans and decides; it never edits a file. It starts numbered sessions, the Orchestrators, that do
the work. Before an Orchestrator's context is full, it hands its work over to a successor.

Without --json and --plain, arbiter shows a full screen: type what you want, and a run starts.
--plain prints the same as lines of text. --json writes one event per line to stdout and reads
one command per line from stdin (see arbiter schema events and arbiter schema commands). Data
goes to stdout, messages for people go to stderr.

A run is a process of its own. Ctrl+D leaves the screen and the run running (exit code 0); arbiter in
the same directory shows it again. If you stop the run, arbiter exits with its code: 130 if it was
still running. Without a run it exits with 0, or with what prevented one (2, 5).`),
		ArgsUsage:   "[REQUIREMENTS.md]",
		Version:     command.Version(),
		HideVersion: true,
		HideHelp:    true, // runLine prints it
		Flags:       settings.Flags(),
		Action: func(c *cli.Context) error {
			s, err := settings.ReadSettings(c)
			if err != nil {
				return err
			}
			return e.begin(c.Context, s)
		},
		Commands:                  e.commands(),
		DisableSliceFlagSeparator: true,
		Reader:                    e.Stdin,
		Writer:                    e.Stdout,
		ErrWriter:                 e.Stderr,
		ExitErrHandler:            func(*cli.Context, error) {}, // the default one calls os.Exit
		OnUsageError:              settings.UsageProblem,
	}
	return app
}

func (e env) commands() []*cli.Command {
	sub := subcommands.Env{Env: e.Env}
	list := slices.Concat(e.sessionCommands(), sub.WorkCommands(), []*cli.Command{
		sub.PsCommand(), sub.StatusCommand(), sub.WatchCommand(), sub.InboxCommand(), sub.SendCommand(),
		sub.AllowCommand(), sub.DenyCommand(), sub.ChooseCommand(), sub.StopCommand(),
		subcommands.AttachCommand(e.Env, e.app), sub.HaltCommand(), e.mcpCommand(), e.acpCommand(), e.webCommand(),
		e.forkCommand(), subcommands.CompareCommand(e.Env), sub.AgentsCommand(), sub.TrustCommand(),
		sub.GrantsCommand(), sub.MemoryCommand(), host.HostsCommand(e.Env), sub.DecideCommand(),
		sub.DoctorCommand(), e.demoCommand(),
		{
			Name: "scenarios", Usage: "list the scenarios of --rehearse, or print one", ArgsUsage: "[SCENARIO]",
			Action: e.scenarios,
		},
		{
			Name: "schema", Usage: "print a JSON Schema, or the task machine",
			ArgsUsage: "events|commands|config|bridge|machine", Action: e.schema,
			Subcommands: []*cli.Command{{
				Name: "machine", Usage: "print the task machine as a table or a graph",
				Flags: []cli.Flag{&cli.StringFlag{Name: "format", Value: "json",
					Usage: "`json|mermaid|dot`: output format"}},
				Action: e.schemaMachine,
			}},
		},
		{
			Name: "version", Usage: "print the versions of arbiter and of claude",
			Flags:  []cli.Flag{command.JSONFlag(), settings.FlagOf("claude")},
			Action: e.version,
		},
		subcommands.CompletionCommand(e.Env), e.manCommand(), sub.HookCommand(), host.HostCommand(e.Env),
		{
			Name: "bridge", Usage: "serve the JSON-RPC bridge on stdin and stdout",
			Description: "Arbiter starts this process itself. The bridge owns every Claude session that it starts, " +
				"and ends\nall of them when its stdin ends. See arbiter schema bridge for the protocol.",
			Flags: []cli.Flag{&cli.BoolFlag{Name: "debug", Usage: "log more to stderr"},
				&cli.BoolFlag{Name: "remote", Usage: "serve a client on another machine: under a lock and a lease"}},
			Action: e.bridge,
		},
	})
	for _, c := range list {
		for _, c := range append([]*cli.Command{c}, c.Subcommands...) {
			c.OnUsageError, c.Before, c.HideHelp = settings.UsageProblem, command.CheckArguments, true
		}
	}
	return list
}

// begin begins or resumes a run in the frontend that was chosen.
func (e env) begin(ctx context.Context, s settings.Choices) error {
	switch {
	case s.Options.Task == "" && s.NoInput && !s.Resume:
		return command.Usagef("there is no task: with --no-input, give --task or a requirements file")
	case s.Detach:
		return e.detach(ctx, s)
	case s.JSON:
		return host.Headless(e.Env, s)
	case s.Plain:
		return e.plain(s)
	}
	return e.screenCommand(s)
}

// env is the environment of a set of commands: what they read and write.
type env struct{ command.Env }

func main() { os.Exit(Main()) }
