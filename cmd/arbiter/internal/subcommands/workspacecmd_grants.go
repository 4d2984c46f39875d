package subcommands

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func GrantsCommand(io command.Env) *cli.Command {
	e := workspaceEnv{io}
	list := []cli.Flag{settings.FlagOf("cwd"), settings.StateDirFlag(), &cli.BoolFlag{Name: "json",
		Usage: "print one JSON object"}}
	const codes = `Exit codes: 0 listed, or removed; 1 some entries are not trusted, so they allow nothing; 2 bad usage,
or no such entry; 5 the workspace or the file cannot be read or written.`
	return &cli.Command{
		Name: "grants", Usage: "list or remove what a workspace always allows",
		Description: "A grant is your answer \"always\" to a permission request: a rule, or one exact action. Every " +
			"later\n" +
			"run in the workspace uses it, unless a --deny or --ask rule covers the same action.\n\n" +
			"  arbiter grants\n  arbiter grants rm 2\n  arbiter grants rm 'Bash(git *)'\n\n" + codes,
		Flags:  list,
		Action: e.listGrants,
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the grants with their numbers", Flags: list, Action: e.listGrants},
			{
				Name: "rm", Usage: "remove grants by number or rule", ArgsUsage: "NUMBER|RULE…",
				Description: "A live run keeps the grants that it started with.\n\n" + codes,
				Flags: []cli.Flag{settings.FlagOf("cwd"), settings.StateDirFlag(),
					&cli.BoolFlag{Name: "all", Usage: "remove all grants, the invalid ones too"}},
				Action: e.removeGrants,
			},
		},
	}
}

// grantsOf opens the permanent grants of a workspace. The caller closes the store.
func grantsOf(c *cli.Context) (*trust.GrantStore, string, error) {
	return storeOf(c, trust.OpenGrants)
}

// storeOf opens a workspace's store in the state directory. The caller closes the store.
func storeOf[S any](c *cli.Context, open func(dir, place string) (S, error)) (store S, place string, err error) {
	place, err = command.Workspace(c)
	if err != nil {
		return store, "", err
	}
	dir, err := command.StateDir(c.String("state-dir"))
	if err != nil {
		return store, "", err
	}
	store, err = open(dir, place)
	if err != nil {
		return store, "", command.StateDirProblem(err)
	}
	return store, place, nil
}

type GrantLine struct {
	Number int       `json:"number"`
	Rule   string    `json:"rule,omitempty"`
	Tool   string    `json:"tool,omitempty"`   // for an exact action
	Action string    `json:"action,omitempty"` // its SHA-256
	Run    string    `json:"run,omitempty"`    // in which it was granted
	At     time.Time `json:"at"`
}

// GrantsReport is the output of `grants --json`.
type GrantsReport struct {
	CWD      string      `json:"cwd"`
	File     string      `json:"file"`
	Grants   []GrantLine `json:"grants"`
	Problems []string    `json:"problems"`
}

func (e workspaceEnv) listGrants(c *cli.Context) error {
	store, place, err := grantsOf(c)
	if err != nil {
		return err
	}
	defer store.Close()
	state, err := command.StatePath(c.String("state-dir"))
	if err != nil {
		return err
	}
	kept, problems, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	r := GrantsReport{CWD: place, File: store.Path(), Grants: []GrantLine{}, Problems: []string{}}
	for i, g := range kept {
		r.Grants = append(r.Grants, GrantLine{i + 1, g.Rule, g.Tool, g.Action, g.Run, g.At})
	}
	for _, p := range problems {
		r.Problems = append(r.Problems, p.String())
	}
	if c.Bool("json") {
		raw, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, command.Escaped(string(raw)))
	} else {
		e.printGrants(r, settings.StateForCommand(state))
	}
	if len(problems) > 0 {
		return &command.Error{Code: contract.ExitFailed,
			Text: fmt.Sprintf("%d entries of %s are not trusted (arbiter grants rm --all removes them with the rest)",
				len(problems), store.Path())}
	}
	return nil
}

// printGrants prints the grants. named is the flag for their state directory.
func (e workspaceEnv) printGrants(r GrantsReport, named string) {
	fmt.Fprintln(e.Stdout, "Workspace "+sanitize.Line(r.CWD, 400))
	for _, g := range r.Grants {
		fmt.Fprintf(e.Stdout, "%3d  %s\n     since %s%s\n", g.Number, g.Text(), g.At.Local().Format("2006-01-02 15:04"),
			g.origin(named))
	}
	for _, p := range r.Problems {
		fmt.Fprintln(e.Stdout, "  ✗  "+sanitize.Line(p, 400))
	}
	if len(r.Grants) == 0 {
		fmt.Fprintln(e.Stdout, "Nothing is always allowed here.")
	}
}

func (g GrantLine) Text() string {
	if g.Rule != "" {
		return sanitize.Line(g.Rule, 400)
	}
	return fmt.Sprintf("one exact action of %s, sha256 %s", sanitize.Line(g.Tool, 60), g.Action)
}

// origin names the run in whose audit the request is.
func (g GrantLine) origin(named string) string {
	if g.Run == "" {
		return ""
	}
	run := sanitize.Line(command.ShortID(g.Run), 40)
	return fmt.Sprintf(", in run %s (arbiter logs %[1]s --audit%s shows what was asked)", run, sanitize.Line(named, 0))
}

func (e workspaceEnv) removeGrants(c *cli.Context) error {
	if all := c.Bool("all"); all == (c.NArg() > 0) {
		return command.Usagef("grants rm: give numbers or rules as arbiter grants lists them, or --all")
	}
	store, _, err := grantsOf(c)
	if err != nil {
		return err
	}
	defer store.Close()
	if c.Bool("all") {
		n, err := store.Clear()
		if err != nil {
			return command.Environmentf("%v", err)
		}
		fmt.Fprintf(e.Stdout, "Removed: %d.\n", n)
		return nil
	}
	kept, _, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	var chosen []trust.Grant
	for _, word := range c.Args().Slice() { // find all before removing one, because removing changes numbers
		g, err := chosenGrant(kept, word)
		if err != nil {
			return err
		}
		chosen = append(chosen, g)
	}
	for _, g := range chosen {
		if _, err := store.Remove(g); err != nil {
			return command.Environmentf("%v", err)
		}
		fmt.Fprintln(e.Stdout, "Removed: "+GrantLine{Rule: g.Rule, Tool: g.Tool, Action: g.Action}.Text())
	}
	return nil
}

// listed says which numbers a command lists.
func listed(by, what string, n int) string {
	if n == 0 {
		return "this workspace has none"
	}
	return by + " lists " + words.Count(n, what)
}

// chosenGrant returns the grant that a word names.
func chosenGrant(kept []trust.Grant, word string) (trust.Grant, error) {
	if n, err := strconv.Atoi(word); err == nil {
		if n < 1 || n > len(kept) {
			return trust.Grant{}, command.Usagef("there is no grant %d: %s", n, listed("arbiter grants", "grant", len(kept)))
		}
		return kept[n-1], nil
	}
	for _, g := range kept {
		if word = strings.TrimSpace(word); word != "" && (g.Rule == word || g.Action == word) {
			return g, nil
		}
	}
	return trust.Grant{}, command.Usagef("there is no grant %q: arbiter grants lists the grants", word)
}
