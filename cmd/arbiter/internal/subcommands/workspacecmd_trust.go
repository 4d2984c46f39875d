package subcommands

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

func TrustCommand(io command.Env) *cli.Command {
	e := workspaceEnv{io}
	return &cli.Command{
		Name: "trust", Usage: "list what in a workspace can run code, and trust it",
		Description: strings.TrimSpace(`
Lists settings, hooks, helpers, variables, permissions, MCP servers, plugins, agents, skills,
commands, arbiter's own configuration and prompts, and the scripts that these name, each with a
hash. You trust exactly what is listed. After any change arbiter asks again, and starts agents
without all of it until you answer. Arbiter finds scripts by the words of a command; it does not
see what a script starts in turn. It lists CLAUDE.md and other texts for agents, but does not
include them in the hash.

Arbiter keeps the answer in the state directory: --state-dir, $ARBITER_STATE_DIR or the default
one. It ignores state-dir of configuration files here.

Exit codes: 0 trusted, or revoked; 1 not trusted: you answered no, or --show found no trust or a
change; 2 usage, or no terminal to ask on without --yes; 5 the workspace or the state directory
cannot be read or written.`),
		Flags: []cli.Flag{
			settings.FlagOf("cwd"), settings.StateDirFlag(),
			&cli.BoolFlag{Name: "yes", Usage: "trust what is listed, without asking"},
			&cli.BoolFlag{Name: "show", Usage: "list only, and report whether it is trusted"},
			&cli.BoolFlag{Name: "json", Usage: "with --show: print one JSON object"},
			&cli.BoolFlag{Name: "revoke", Usage: "remove the trust of this workspace"},
		},
		Action: e.trust,
	}
}

// trustReport is the output of `trust --show --json`.
type trustReport struct {
	CWD      string         `json:"cwd"`
	Root     string         `json:"root"`
	Hash     string         `json:"hash"`
	Trusted  bool           `json:"trusted"`  // in its current form
	Recorded bool           `json:"recorded"` // it was trusted before
	Items    []trust.Item   `json:"items"`
	Changes  []trust.Change `json:"changes"` // since then
	Problem  string         `json:"problem,omitempty"`
}

func (e workspaceEnv) trust(c *cli.Context) error {
	if c.Bool("json") && !c.Bool("show") || c.Bool("revoke") && (c.Bool("show") || c.Bool("yes")) ||
		c.Bool("show") && c.Bool("yes") {
		return command.Usagef("trust: --show, --revoke and --yes exclude each other, and --json needs --show")
	}
	place, err := command.Workspace(c)
	if err != nil {
		return err
	}
	if c.Bool("revoke") {
		return e.revoke(c.String("state-dir"), place)
	}
	t, err := settings.TrustIn(place, c.String("state-dir"), false)
	if err != nil {
		return err
	}
	if t.Listing.CWD == "" {
		return command.Environmentf("%s", t.Problem)
	}
	if c.Bool("json") {
		return e.trustJSON(t)
	}
	e.listTrust(t)
	switch {
	case c.Bool("show") && !t.Trusted:
		return &command.Error{Code: contract.ExitFailed}
	case c.Bool("show"), t.Trusted:
		return nil
	}
	if !c.Bool("yes") {
		if err := e.confirmTrust(); err != nil {
			return err
		}
	}
	return e.recordTrust(c, place, t)
}

// recordTrust records trust in what was listed, if that is unchanged.
func (e workspaceEnv) recordTrust(c *cli.Context, place string, t settings.TrustState) error {
	t.Trusted = true
	if err := t.Unchanged(place); err != nil {
		return err
	}
	store, err := settings.OpenTrust(c.String("state-dir"))
	if err != nil {
		return command.Environmentf("%v", err)
	}
	by := "arbiter trust"
	if c.Bool("yes") {
		by += " --yes"
	}
	if err := store.Trust(place, t.Listing, by, time.Now()); err != nil {
		return command.Environmentf("%v", err)
	}
	fmt.Fprintln(e.Stdout, "Trusted, as it is now.")
	return nil
}

func (e workspaceEnv) revoke(state, place string) error {
	store, err := settings.OpenTrust(state)
	if err != nil {
		return command.Environmentf("%v", err)
	}
	was, err := store.Revoke(place)
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if !was {
		fmt.Fprintln(e.Stdout, "This workspace was not trusted.")
		return nil
	}
	fmt.Fprintln(e.Stdout, "This workspace is no longer trusted.")
	return nil
}

func (e workspaceEnv) trustJSON(t settings.TrustState) error {
	r := trustReport{
		CWD: t.Listing.CWD, Root: t.Listing.Root, Hash: t.Listing.Hash, Trusted: t.Trusted, Recorded: t.Recorded,
		Problem: t.Problem, Items: append([]trust.Item{}, t.Listing.Items...),
		Changes: append([]trust.Change{}, t.Changed...),
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Stdout, command.Escaped(string(raw)))
	if !t.Trusted {
		return &command.Error{Code: contract.ExitFailed}
	}
	return nil
}

// listTrust prints the settings, file by file. Their texts are not trusted, and are sanitized.
func (e workspaceEnv) listTrust(t settings.TrustState) {
	fmt.Fprintln(e.Stdout, "Workspace "+sanitize.Line(t.Listing.Root, 400))
	for _, line := range trustLines(t) {
		fmt.Fprintln(e.Stdout, line)
	}
	switch {
	case t.Problem != "":
		fmt.Fprintln(e.Stdout, "Not trusted: "+sanitize.Line(t.Problem, 400))
	case t.Trusted:
		fmt.Fprintln(e.Stdout, "Trusted, as it is now.")
	case t.Recorded:
		fmt.Fprintln(e.Stdout, "Not trusted: it was trusted once, and has changed since.")
	default:
		fmt.Fprintln(e.Stdout, "Not trusted.")
	}
}

// trustLines returns one line per item, marked with its change since the workspace was trusted.
func trustLines(t settings.TrustState) []string {
	type key struct{ kind, file, name string }
	how := map[key]string{}
	var lines []string
	for _, c := range t.Changed {
		how[key{c.Item.Kind, c.Item.File, c.Item.Name}] = c.How
	}
	file := ""
	add := func(i trust.Item, mark string) {
		if i.File != file {
			file = i.File
			lines = append(lines, "  "+sanitize.Line(file, 300))
		}
		text := sanitize.Line(i.Kind, 40)
		if i.Name != "" {
			text += " " + sanitize.Line(i.Name, 120)
		}
		if text += ": " + sanitize.Line(i.What, 300); mark != "" {
			text = strings.ToUpper(mark) + " " + text
		}
		lines = append(lines, "    "+text)
	}
	for _, i := range t.Listing.Items {
		add(i, how[key{i.Kind, i.File, i.Name}])
	}
	for _, c := range t.Changed {
		if c.How == trust.Removed {
			add(c.Item, c.How)
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "  contains nothing that could run code or redirect an agent")
	}
	return lines
}

// confirmTrust asks for confirmation on the terminal.
func (e workspaceEnv) confirmTrust() error {
	in, ok := e.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return command.Usagef("cannot ask: stdin is not a terminal; add --yes to trust what is listed")
	}
	fmt.Fprint(e.Stdout, "Load all of this, and let it run? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(e.Stdout)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &command.Error{Code: contract.ExitFailed, Text: "not trusted"}
}

// workspaceEnv has the standard streams, and the commands of this package as methods.
type workspaceEnv struct{ command.Env }
