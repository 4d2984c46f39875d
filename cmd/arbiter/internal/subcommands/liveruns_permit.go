package subcommands

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const PermitArgs = "[RUN] [REQUEST|all]"

func permitFlags(scope, rule string, more ...cli.Flag) []cli.Flag {
	return append(more, &cli.StringFlag{Name: "for", Value: contract.ScopeOnce, Usage: scope},
		&cli.StringFlag{Name: "rule", Usage: rule}, command.JSONFlag(), settings.StateDirFlag())
}

func AllowCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
	return &cli.Command{
		Name: bridge.Allow, Usage: "allow what an agent of a live run asks for", ArgsUsage: PermitArgs,
		Description: strings.TrimSpace(`
REQUEST is an id that arbiter status shows, or its beginning; all answers every request that is open now. Without RUN it
is the live run of this directory. On a terminal, REQUEST may be left out if only one is open: it is shown, and you are
asked, as with all. --for run and --for always allow the same action again, or what --rule says.

  arbiter allow perm-4be1
  arbiter allow perm-4be1 --for run --rule 'Bash(go test *)'
  arbiter allow all

Exit code 1: you said no, or the connection was lost: it may be answered, or not.`),
		Flags: permitFlags("`once|run|always`: this once, for the whole run, or in later runs of the workspace, too",
			"with --for run or always: the permission `RULE` to allow; it must cover the request",
			&cli.StringFlag{Name: "message", Usage: "the answer `TEXT` to what an MCP server asks: a value, or JSON"}),
		Action: func(c *cli.Context) error { return e.permit(c, bridge.Allow) },
	}
}

func DenyCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
	return &cli.Command{
		Name: bridge.Deny, Usage: "deny what an agent of a live run asks for", ArgsUsage: PermitArgs,
		Description: strings.TrimSpace(`
REQUEST and RUN are as for arbiter allow. --for run denies the same action, or what --rule says, for the rest of the run.
To deny something in later runs, give them --deny.

  arbiter deny --message "Use the staging database."
  arbiter deny perm-4be1 --for run

Exit code 1: the connection was lost: it may be answered, or not.`),
		Flags: permitFlags("`once|run`: this once, or for the whole run",
			"with --for run: the permission `RULE` to deny",
			&cli.StringFlag{Name: "message", Usage: "say `TEXT` to the agent"}),
		Action: func(c *cli.Context) error { return e.permit(c, bridge.Deny) },
	}
}

// checkPermit rejects flags that do not go together.
func checkPermit(c *cli.Context, behavior string) error {
	scopes := []string{contract.ScopeOnce, contract.ScopeRun, contract.ScopeAlways}
	scope := c.String("for")
	if err := oneOf("for", scope, scopes...); err != nil {
		return err
	}
	switch {
	case c.NArg() > 2:
		return command.Usagef("%s: give at most one RUN and one REQUEST, or all", behavior)
	case slices.Contains(c.Args().Slice(), ""):
		return command.Usagef("%s: an argument is empty", behavior)
	case behavior == bridge.Deny && scope == contract.ScopeAlways:
		return command.Usagef("deny --for always: a denial ends with its run; start later runs with --deny RULE")
	case c.String("rule") != "" && scope == contract.ScopeOnce:
		return command.Usagef("--rule needs --for run or always")
	}
	return nil
}
