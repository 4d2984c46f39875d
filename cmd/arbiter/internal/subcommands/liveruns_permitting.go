package subcommands

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// AllRequests stands for every open permission request.
const AllRequests = "all"

// PermitAnswer is the output for one answer with allow --json and deny --json.
type PermitAnswer struct {
	Request  string `json:"request"`
	Accepted bool   `json:"accepted"`
	Message  string `json:"message"`
}

// permit is `arbiter allow` and `arbiter deny`.
func (e env) permit(c *cli.Context, behavior string) error {
	if err := checkPermit(c, behavior); err != nil {
		return err
	}
	l, request, err := connectForRequest(c)
	if err != nil {
		return err
	}
	defer l.Close()
	list, err := openRequests(l, request)
	if err != nil {
		return err
	}
	if behavior == bridge.Allow && (request == "" || request == AllRequests) && len(list) > 0 {
		if err := e.showFirst(c, list, request == ""); err != nil {
			return err
		}
	}
	answers := []PermitAnswer{}
	var failed error
	for _, i := range list {
		r := *i.Request
		a, err := answerRequest(l, c, behavior, r)
		if err != nil {
			return err
		}
		answers = append(answers, a)
		if !a.Accepted && request != AllRequests || !a.Accepted && stillAsked(l, c.Context, r.Request) {
			failed = command.Usagef("run %s: %s", command.ShortID(l.Info.Run), a.Message)
		} else if !c.Bool("json") {
			fmt.Fprintf(e.Stderr, "Run %s: %s\n", command.ShortID(l.Info.Run), sanitize.Line(a.Message, 300))
		}
	}
	if c.Bool("json") {
		err = json.NewEncoder(e.Stdout).Encode(struct {
			Run     string         `json:"run"`
			Answers []PermitAnswer `json:"answers"`
		}{l.Info.Run, answers})
	} else if len(list) == 0 {
		fmt.Fprintf(e.Stderr, "No permission request is open in run %s.\n", command.ShortID(l.Info.Run))
	}
	if failed != nil {
		return failed
	}
	return err
}

// showFirst shows requests that the command does not name, and asks whether they are allowed: what was not seen is not
// allowed. Without a terminal that needs the id of a single request, or the word all.
func (e env) showFirst(c *cli.Context, list []supervisor.InboxItem, only bool) error {
	texts := ""
	for _, i := range list {
		texts += sanitize.Line(i.ID, 80) + ":\n" + indent(itemText(i)) + "\n"
	}
	fmt.Fprint(e.Stderr, texts)
	yes, asked := e.Confirm("Allow this?")
	switch {
	case !asked && only:
		return command.Usagef("cannot ask: stdin is not a terminal; allow it with its id: arbiter allow %s",
			sanitize.Line(list[0].ID, 80))
	case asked && !yes:
		return &command.Error{Code: contract.ExitFailed, Text: "nothing was allowed"}
	}
	return nil
}

// connectForRequest connects to the run that the arguments name. A single argument is a RUN if a live run has that
// id.
func connectForRequest(c *cli.Context) (l *runstore.Connection, request string, err error) {
	store, err := runstore.Open(c)
	if err != nil {
		return nil, "", err
	}
	run, request := c.Args().Get(0), c.Args().Get(1)
	if c.NArg() == 1 {
		live, err := store.Live("")
		if err != nil {
			store.Close()
			return nil, "", err
		}
		if !slices.ContainsFunc(live, func(i journal.Info) bool { return strings.HasPrefix(i.Run, run) }) {
			run, request = "", run
		}
	}
	l, err = runstore.ConnectIn(c, store, run, nil)
	return l, request, err
}

// openRequests returns the open permission requests that named selects: by id or a prefix of it, all of them, or
// the only one.
func openRequests(l *runstore.Connection, named string) ([]supervisor.InboxItem, error) {
	items, err := inboxOf(l.First)
	if err != nil {
		return nil, command.Environmentf("%v", err)
	}
	var open, found []supervisor.InboxItem
	var ids []string
	for _, i := range items {
		if i.Kind != supervisor.InboxPermission {
			continue
		}
		open, ids = append(open, i), append(ids, sanitize.Line(i.ID, 80))
		if i.ID == named {
			return open[len(open)-1:], nil
		}
		if strings.HasPrefix(i.ID, named) || strings.HasPrefix(i.ID, "perm-"+named) {
			found = append(found, i)
		}
	}
	run := command.ShortID(l.Info.Run)
	switch {
	case named == AllRequests:
		return open, nil
	case len(found) == 1:
		return found, nil
	case len(open) == 0 && named == "":
		return nil, command.Usagef("no permission request is open in run %s", run)
	case len(open) == 0:
		return nil, command.Usagef("no permission request %q is open in run %s, nor any other", named, run)
	case len(found) == 0:
		return nil, command.Usagef("no permission request %q is open in run %s: use one of %s", named, run,
			strings.Join(ids, ", "))
	case named == "":
		return nil, command.Usagef("several permission requests are open in run %s: name one of %s, or all", run,
			strings.Join(ids, ", "))
	}
	return nil, command.Usagef("%q fits several permission requests of run %s: %s", named, run, strings.Join(ids, ", "))
}

func answerRequest(l *runstore.Connection, c *cli.Context, behavior string,
	r contract.PermissionRequest) (PermitAnswer, error) {
	done, err := send(l, c.Context, contract.Permit{
		Request: r.Request, Behavior: behavior, Action: r.Action, Scope: c.String("for"), Rule: c.String("rule"),
		Message: c.String("message"), // of a denial, or to an MCP server
	})
	return PermitAnswer{r.Request, done.Accepted, done.Message}, err
}

// stillAsked reports whether a request that our answer did not settle is still open. Another client or a rule may
// have settled it.
func stillAsked(l *runstore.Connection, ctx context.Context, request string) bool {
	st, err := l.Status(ctx)
	return err != nil || slices.ContainsFunc(st.Inbox, func(i control.InboxItem) bool { return i.ID == request })
}

const PermitArgs = "[RUN] [REQUEST|all]"

func permitFlags(scope, rule string, more ...cli.Flag) []cli.Flag {
	return append(more, &cli.StringFlag{Name: "for", Value: contract.ScopeOnce, Usage: scope},
		&cli.StringFlag{Name: "rule", Usage: rule}, command.JSONFlag(), settings.StateDirFlag())
}

func AllowCommand(io command.Env) *cli.Command {
	e := env{io}
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
	e := env{io}
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
