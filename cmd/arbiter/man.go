package main

import (
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// preface is the text of `arbiter --help` and of the manual page besides flags and commands.
var preface = command.Words{
	Exits: exitCodes(),
	Signals: []command.Entry{
		{Term: "SIGINT, SIGTERM, SIGHUP",
			Text: "The first signal ends the run in order, the second quickly, the third at once. --resume continues " +
				"the run. Arbiter ignores a signal that it was started to ignore, as nohup does with SIGHUP."},
		{Term: "SIGQUIT",
			Text: "With the screen and with --plain, it stops every agent at once, like arbiter halt. With --json, " +
				"it ends arbiter at once, and the bridge ends the agents."},
	},
	Environment: []command.Entry{
		{Term: "ARBITER_…",
			Text: "Settings, under the name that the help gives with each flag. Flags win over variables, and " +
				"variables over configuration files. Repeatable flags have no variable."},
		{Term: "XDG_STATE_HOME, XDG_CONFIG_HOME, HOME", Text: "Where arbiter keeps runs and configuration; see FILES."},
		{Term: "CLAUDE_CONFIG_DIR",
			Text: "Where Claude Code keeps its login, settings and transcripts, instead of ~/.claude."},
		{Term: "VISUAL, EDITOR", Text: "The editor that Ctrl+G and arbiter memory edit open (default: vi)."},
		{Term: "TERM, COLORTERM, COLORFGBG, NO_COLOR",
			Text: "What the terminal can show, and its background. NO_COLOR turns colours off."},
		{Term: "LC_ALL, LC_CTYPE, LANG", Text: "If they do not name UTF-8, arbiter draws the screen in ASCII."},
	},
	Files: []command.Entry{
		{Term: "$XDG_STATE_HOME/arbiter, else ~/.local/state/arbiter",
			Text: "The state directory: runs with their journals and logs, trusted workspaces, and grants. Only you " +
				"can read it."},
		{Term: "$XDG_CONFIG_HOME/arbiter/config.yaml, else ~/.config/arbiter/config.yaml",
			Text: "Settings; arbiter schema config lists them. On macOS: ~/Library/Application Support/arbiter."},
		{Term: "agents/*.md and prompts/*.md beside config.yaml",
			Text: "Your own agents, and prompt templates that replace the built-in ones."},
		{Term: ".arbiter/config.yaml, .arbiter/agents/*.md, .arbiter/prompts/*.md",
			Text: "The same for one workspace, if you trust it."},
	},
	Examples: []command.Entry{
		{Term: "arbiter REQUIREMENTS.md", Text: "Start a run with the requirements in a file."},
		{Term: "arbiter --json --rehearse --task \"Anything\"",
			Text: "Rehearse with a scripted model: no login, no network, no cost."},
		{Term: "arbiter --json --allow Bash --allow 'Edit(**)' --task \"Say hi in hello.txt\"",
			Text: "Run without a screen; allow edits and all shell commands."},
		{Term: "arbiter --resume", Text: "Resume the latest run of this directory."},
		{Term: "arbiter sessions", Text: "List all runs."},
	},
	More: []string{
		"arbiter COMMAND --help explains one command; arbiter man | man -l - shows the manual.",
		"arbiter completion --help explains shell completion.",
	},
}

// exitCodes returns the exit codes as the contract describes them.
func exitCodes() (list []command.Entry) {
	for _, m := range contract.Exits() {
		text := m.Word
		if m.When != "" {
			text += ": " + strings.ReplaceAll(m.When, "`", "")
		}
		list = append(list, command.Entry{Term: strconv.Itoa(int(m.Exit)), Text: text})
	}
	return list
}

func (e env) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page",
		Description: "The page is for man, groff or mandoc.\n\n  arbiter man | man -l -\n  arbiter man > " +
			"~/.local/share/man/man1/arbiter.1",
		Action: func(c *cli.Context) error {
			return command.Roff(e.Stdout, c.App, preface, command.Version())
		},
	}
}
