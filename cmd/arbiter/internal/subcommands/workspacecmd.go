package subcommands

// This part of the package has the commands about the data of a workspace that belongs to no run: trust,
// grants, memory and agent files.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/memory"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func (e Env) AgentsCommand() *cli.Command {
	places := func(more ...cli.Flag) []cli.Flag {
		return append([]cli.Flag{
			command.JSONFlag(),
			settings.FlagOf("cwd"),
			&cli.BoolFlag{Name: "trust", Usage: "read this workspace's own agents too"},
		}, more...)
	}
	ls := places(&cli.StringFlag{Name: "session", Usage: "add figures of how each agent did in `RUN`"},
		settings.StateDirFlag())
	return &cli.Command{
		Name: "agents", Usage: "list, show or check agent files",
		Description: strings.TrimSpace(`
An agent file tells an Orchestrator what it is for. It is a Markdown file with front matter, in the
format of Claude Code's own agents:

  ---
  name: migrator
  description: Use to change the schema of the database.
  tools: Read, Edit(db/**), Bash(go run ./migrate *)    # or disallowedTools; default: all tools
  model: opus                                           # or sonnet, haiku, inherit, a full id
  effort: high                                          # low, medium, high, xhigh, max
  make: claude                                          # or another that you have configured
  maxTurns: 40      # at this limit, and the next two, the agent must hand off
  maxCost: 2.50     # US dollars
  timeout: 45m
  ---
  What the agent has to do, and how.

If several agents have the same name, arbiter uses the first of: .arbiter/agents and .claude/agents
of the workspace, from the working directory up to the root of the repository (only with --trust),
agents in your arbiter configuration, agents in your Claude Code configuration, built-in agents.`),
		Flags:  ls,
		Action: e.listAgents,
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the agents, and what is wrong with their files", Flags: ls, Action: e.listAgents},
			{Name: "show", Usage: "show one agent", ArgsUsage: "NAME", Flags: places(), Action: e.showAgent},
			{
				Name: "check", Usage: "check agent files: the given ones, or all", ArgsUsage: "[FILE…]",
				Description: "Prints each problem on its own line, as file:line: field: text. Exits with 2 if a file " +
					"cannot be used; warnings do not count.",
				Flags: places(), Action: e.checkAgents,
			},
		},
	}
}

// agentLine is one agent in the output of `agents ls --json`, and the output of `agents show --json`.
type agentLine struct {
	Name            string                       `json:"name"`
	Source          string                       `json:"source"`
	Description     string                       `json:"description"`
	Tools           []string                     `json:"tools,omitempty"` // empty: all
	DisallowedTools []string                     `json:"disallowed_tools,omitempty"`
	Model           string                       `json:"model,omitempty"`
	Effort          string                       `json:"effort,omitempty"`
	MaxTurns        int                          `json:"max_turns,omitempty"`
	MaxCostUSD      float64                      `json:"max_cost_usd,omitempty"`
	TimeoutMS       int64                        `json:"timeout_ms,omitempty"`
	Prompt          string                       `json:"prompt,omitempty"`
	Performance     *decider.DecisionPerformance `json:"performance,omitempty"`
}

type shadowedLine struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	By     string `json:"by"`
}

// agentsReport is the output of `agents ls --json`.
type agentsReport struct {
	Agents    []agentLine      `json:"agents"`
	Shadowed  []shadowedLine   `json:"shadowed"`
	Problems  []agents.Problem `json:"problems"`
	Untrusted []string         `json:"untrusted"` // files that need --trust
}

func agentLineOf(a agents.Agent) agentLine {
	return agentLine{
		Name: a.Name, Source: a.Source, Description: a.Description, Tools: a.Tools, DisallowedTools: a.DisallowedTools,
		Model: a.Model, Effort: a.Effort, MaxTurns: a.Limits.MaxTurns, MaxCostUSD: a.Limits.MaxCostUSD,
		TimeoutMS: a.Limits.Timeout.Milliseconds(),
	}
}

// findAgents finds the agents for a run that is started in the workspace.
func findAgents(c *cli.Context) (agents.Found, error) {
	cwd, err := command.Workspace(c)
	if err != nil {
		return agents.Found{}, err
	}
	t, err := settings.TrustOf(c, cwd)
	if err != nil {
		return agents.Found{}, err
	}
	return agents.Discover(agents.UserPlaces(cwd, t.Trusted, os.Getenv)), nil
}

func (e Env) listAgents(c *cli.Context) error {
	found, err := findAgents(c)
	if err != nil {
		return err
	}
	r := agentsReport{Agents: []agentLine{}, Shadowed: []shadowedLine{},
		Problems: append([]agents.Problem{}, found.Problems...), Untrusted: append([]string{}, found.Untrusted...)}
	for _, a := range found.Agents {
		r.Agents = append(r.Agents, agentLineOf(a))
	}
	for _, s := range found.Shadowed {
		r.Shadowed = append(r.Shadowed, shadowedLine{s.Agent.Name, s.Agent.Source, s.By})
	}
	if session := c.String("session"); session != "" { // how each agent did in that run
		state, err := command.StateDir(c.String("state-dir"))
		if err != nil {
			return err
		}
		store, info, err := runstore.FindIn(state, session)
		if err != nil {
			return err
		}
		defer store.Close()
		s, _, err := runstore.LastState(store, info.Run)
		if err != nil {
			return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
		}
		for i := range r.Agents {
			r.Agents[i].Performance = s.Task.History.Performance(r.Agents[i].Name)
		}
	}
	if c.Bool("json") {
		return e.PrintJSON(r)
	}
	return e.printAgents(r, c.String("session") != "")
}

func (e Env) printAgents(r agentsReport, performed bool) error {
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	head := "NAME\tSOURCE\tMODEL\tTOOLS\t"
	if performed {
		head += "SUCCESS\t"
	}
	fmt.Fprintln(w, head+"WHEN TO USE")
	for _, a := range r.Agents {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", sanitize.Line(a.Name, 64), sourceText(a.Source),
			sanitize.Line(cmp.Or(a.Model, "inherit"), 30), sanitize.Line(toolsText(a), 40))
		if performed && a.Performance == nil {
			fmt.Fprint(w, "-\t")
		} else if performed {
			fmt.Fprintf(w, "%s %%\t", strconv.FormatFloat(a.Performance.SuccessRate, 'f', -1, 64))
		}
		fmt.Fprintln(w, sanitize.Line(a.Description, 100))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range r.Shadowed {
		fmt.Fprintf(e.Stdout, "shadowed: %s of %s, by %s\n", sanitize.Line(s.Name, 64), sanitize.Line(s.Source, 400),
			sanitize.Line(s.By, 400))
	}
	for _, file := range r.Untrusted {
		fmt.Fprintf(e.Stdout, "not loaded: %s needs --trust\n", sanitize.Line(file, 400))
	}
	printProblems(e.Stderr, r.Problems)
	return nil
}

// sourceText shortens a path and keeps its end, because many paths have the same beginning.
func sourceText(source string) string {
	const most = 50
	if home := os.Getenv("HOME"); home != "" {
		if rest, ok := strings.CutPrefix(source, home+"/"); ok {
			source = "~/" + rest
		}
	}
	runes := []rune(sanitize.Line(source, 4096))
	if len(runes) > most {
		runes = append([]rune{'…'}, runes[len(runes)-most:]...)
	}
	return string(runes)
}

func toolsText(a agentLine) string {
	text := "all"
	if a.Tools != nil {
		text = strings.Join(a.Tools, ", ")
	}
	if a.DisallowedTools != nil {
		text += " but " + strings.Join(a.DisallowedTools, ", ")
	}
	return text
}

// printProblems prints one problem per line, like a compiler.
func printProblems(w io.Writer, list []agents.Problem) {
	for _, p := range list {
		if p.Warning {
			p.Text = "warning: " + p.Text
		}
		fmt.Fprintln(w, sanitize.Line(p.Error(), 1000))
	}
}

func (e Env) showAgent(c *cli.Context) error {
	if c.NArg() != 1 {
		return command.Usagef("agents show: give one NAME; arbiter agents lists the names")
	}
	found, err := findAgents(c)
	if err != nil {
		return err
	}
	a, ok := agents.Lookup(found.Agents, c.Args().First())
	if !ok {
		return command.Usagef("there is no agent %q: use one of %s", c.Args().First(),
			strings.Join(agents.Names(found.Agents), ", "))
	}
	line := agentLineOf(a)
	line.Prompt = a.Prompt
	if c.Bool("json") {
		return e.PrintJSON(line)
	}
	e.printAgent(line)
	for _, s := range found.Shadowed {
		if s.Agent.Name == a.Name {
			fmt.Fprintln(e.Stderr, sanitize.Line("It hides the one of "+s.Agent.Source+".", 400))
		}
	}
	return nil
}

func (e Env) printAgent(a agentLine) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(e.Stdout, "%-10s %s\n", name, sanitize.Line(value, 2000))
		}
	}
	line("name", a.Name)
	line("source", a.Source)
	line("use", a.Description)
	line("tools", toolsText(a))
	line("model", cmp.Or(a.Model, "inherit"))
	line("effort", a.Effort)
	if a.MaxTurns > 0 {
		line("turns", fmt.Sprintf("at most %d", a.MaxTurns))
	}
	if a.MaxCostUSD > 0 {
		line("cost", fmt.Sprintf("at most $%.2f", a.MaxCostUSD))
	}
	if a.TimeoutMS > 0 {
		line("time", "at most "+(time.Duration(a.TimeoutMS)*time.Millisecond).String())
	}
	fmt.Fprintf(e.Stdout, "\n%s\n", sanitize.Text(a.Prompt))
}

// checkAgents exits with 2 if a file cannot be used.
func (e Env) checkAgents(c *cli.Context) error {
	var problems []agents.Problem
	if c.NArg() == 0 {
		found, err := findAgents(c)
		if err != nil {
			return err
		}
		problems = found.Problems
		for _, file := range found.Untrusted {
			problems = append(problems, agents.Problem{File: file, Text: "not looked at: needs --trust", Warning: true})
		}
	}
	for _, file := range c.Args().Slice() {
		problems = append(problems, agents.CheckFile(file)...)
	}
	if c.Bool("json") {
		if err := e.PrintJSON(append([]agents.Problem{}, problems...)); err != nil {
			return err
		}
	} else {
		printProblems(e.Stdout, problems)
	}
	if agents.Broken(problems) {
		return &command.Error{Code: contract.ExitUsage}
	}
	return nil
}

// EditedText is a text after editing, with the path of its file.
type EditedText struct{ Text, path string }

// Remove removes the file. Without this call it remains.
func (t EditedText) Remove() { os.RemoveAll(filepath.Dir(t.path)) }

// EditText puts a text into a private file with that name, edits the file, and reads it again. If that fails, the file
// is removed.
func EditText(name, text string, edit func(path string) error) (t EditedText, err error) {
	dir, err := os.MkdirTemp("", "arbiter-edit-")
	if err != nil {
		return t, err
	}
	t.path = filepath.Join(dir, name)
	if err = os.WriteFile(t.path, []byte(text), 0o600); err == nil {
		err = edit(t.path)
	}
	var raw []byte
	if err == nil {
		if raw, err = command.ReadFile(t.path, command.MaxSource); err != nil {
			err = fmt.Errorf("read what the editor left: %w", err)
		}
	}
	if err != nil {
		t.Remove()
	}
	t.Text = string(raw)
	return t, err
}

// editLessons runs $VISUAL, or else $EDITOR, or else vi.
func editLessons(ctx context.Context, path string) error {
	if cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")) == "" && !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New("no editor: there is no terminal for vi; set VISUAL or EDITOR to a program that needs none")
	}
	interrupted := make(chan os.Signal, 1) // Ctrl+C is for the editor
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	return RunEditor(ctx, path)
}

// EditorName returns $VISUAL, or else $EDITOR, or else vi.
func EditorName() string { return cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi") }

// RunEditor runs the user's editor in the terminal.
func RunEditor(ctx context.Context, args ...string) error {
	editor := EditorName()
	// The editor stays in our process group, so that its Ctrl+Z suspends both.
	cmd := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", editorScript(editor), "editor"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w of the editor (%s)", err, editor)
	}
	return nil
}

// editorScript returns a shell script that runs an editor on the arguments. A shell is needed because the variable
// may contain arguments and quotes. If possible, the shell execs the editor. Otherwise it must survive a Ctrl+C
// that is meant for the editor.
func editorScript(editor string) string {
	if strings.ContainsAny(editor, "=;&|<>()$`\n") {
		return "trap : INT; " + editor + ` "$@"`
	}
	return "exec " + editor + ` "$@"`
}

func (e Env) GrantsCommand() *cli.Command {
	list := []cli.Flag{settings.FlagOf("cwd"), settings.StateDirFlag(), command.JSONFlag()}
	const codes = `Exit code 1: some entries are not trusted, so they allow nothing.`
	return &cli.Command{
		Name: "grants", Usage: "list or remove what a workspace always allows",
		Description: "A grant is your answer \"always\" to a permission request: a rule, or one exact action. Every " +
			"later\n" +
			"run in the workspace uses it, unless a --deny or --ask rule covers the same action.\n\n" +
			"  arbiter grants\n  arbiter grants rm 2\n  arbiter grants rm 'Bash(git *)'\n\n" + codes,
		Flags:  list,
		Action: inGrants(e.listGrants),
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the grants with their numbers", Flags: list, Action: inGrants(e.listGrants)},
			{
				Name: "rm", Usage: "remove grants by number or rule", ArgsUsage: "NUMBER|RULE…",
				Description: "A live run keeps the grants that it started with.\n\n" + codes,
				Flags: []cli.Flag{settings.FlagOf("cwd"), settings.StateDirFlag(),
					&cli.BoolFlag{Name: "all", Usage: "remove all grants, the invalid ones too"}},
				Action: inGrants(e.removeGrants),
			},
		},
	}
}

// inGrants returns an action of a command about the permanent grants of a workspace.
func inGrants(do func(c *cli.Context, store *trust.GrantStore, place string) error) cli.ActionFunc {
	return inStore(trust.OpenGrants, do)
}

// inMemory returns an action of a command about what runs in a workspace have learned.
func inMemory(do func(c *cli.Context, store *memory.Store, place string) error) cli.ActionFunc {
	open := func(dir, place string) (*memory.Store, error) {
		return memory.Open(dir, place, settings.SecretMasker(nil))
	}
	return inStore(open, do)
}

// inStore returns an action of a command about a workspace's store in the state directory.
func inStore[S io.Closer](
	open func(dir, place string) (S, error), do func(c *cli.Context, store S, place string) error,
) cli.ActionFunc {
	return func(c *cli.Context) error {
		place, err := command.Workspace(c)
		if err != nil {
			return err
		}
		dir, err := command.StateDir(c.String("state-dir"))
		if err != nil {
			return err
		}
		store, err := open(dir, place)
		if err != nil {
			return command.StateDirProblem(err)
		}
		defer store.Close()
		return do(c, store, place)
	}
}

type GrantLine struct {
	Number int `json:"number"`
	trust.Grant
}

// GrantsReport is the output of `grants --json`.
type GrantsReport struct {
	CWD      string      `json:"cwd"`
	File     string      `json:"file"`
	Grants   []GrantLine `json:"grants"`
	Problems []string    `json:"problems"`
}

func (e Env) listGrants(c *cli.Context, store *trust.GrantStore, place string) error {
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
		r.Grants = append(r.Grants, GrantLine{i + 1, g})
	}
	for _, p := range problems {
		r.Problems = append(r.Problems, p.String())
	}
	var failed error
	if len(problems) > 0 {
		failed = command.Failedf("%d entries of %s are not trusted (arbiter grants rm --all removes them with the rest)",
			len(problems), store.Path())
	}
	if c.Bool("json") {
		return cmp.Or(e.PrintJSON(r), failed)
	}
	fmt.Fprintln(e.Stdout, "Workspace "+sanitize.Line(r.CWD, 400))
	for _, g := range r.Grants {
		origin := "" // the run in whose audit the request is
		if g.Run != "" {
			origin = fmt.Sprintf(", in run %s (arbiter logs %[1]s --audit%s shows what was asked)",
				sanitize.Line(command.ShortID(g.Run), 40), sanitize.Line(settings.StateForCommand(state), 0))
		}
		fmt.Fprintf(e.Stdout, "%3d  %s\n     since %s%s\n", g.Number, g.Text(), g.At.Local().Format("2006-01-02 15:04"),
			origin)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(e.Stdout, "  ✗  "+sanitize.Line(p, 400))
	}
	if len(r.Grants) == 0 {
		fmt.Fprintln(e.Stdout, "Nothing is always allowed here.")
	}
	return failed
}

func (g GrantLine) Text() string {
	if g.Rule != "" {
		return sanitize.Line(g.Rule, 400)
	}
	return fmt.Sprintf("one exact action of %s, sha256 %s", sanitize.Line(g.Tool, 60), g.Action)
}

func (e Env) removeGrants(c *cli.Context, store *trust.GrantStore, _ string) error {
	if all := c.Bool("all"); all == (c.NArg() > 0) {
		return command.Usagef("grants rm: give numbers or rules as arbiter grants lists them, or --all")
	}
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
		fmt.Fprintln(e.Stdout, "Removed: "+GrantLine{Grant: g}.Text())
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

func (e Env) MemoryCommand() *cli.Command {
	place := []cli.Flag{settings.FlagOf("cwd"), settings.StateDirFlag()}
	list := append(slices.Clone(place), command.JSONFlag())
	return &cli.Command{
		Name: "memory", Usage: "list, edit or remove what earlier runs in a workspace have learned",
		Description: "Lessons are what runs have reported. They are kept in the state directory, at most 50 for a " +
			"workspace,\n" +
			"masked like logs.\n\n  arbiter memory\n  arbiter memory edit\n  arbiter memory rm 2",
		Flags:  list,
		Action: inMemory(e.listMemory),
		Subcommands: []*cli.Command{
			{Name: "ls", Usage: "list the lessons with their numbers", Flags: list, Action: inMemory(e.listMemory)},
			{
				Name: "edit", Usage: "edit the lessons in $VISUAL or $EDITOR", ArgsUsage: "[FILE]",
				Description: "With FILE, the editor opens that text: the one that an earlier edit was refused for.\n\n" +
					"Exit code 1: the edited text is wrong, or the editor failed.",
				Flags: place, Action: inMemory(e.editMemory),
			},
			{
				Name: "rm", Usage: "remove lessons by number", ArgsUsage: "NUMBER…",
				Flags: append(slices.Clone(place), &cli.BoolFlag{
					Name: "all", Usage: "forget everything, also the outcomes of runs, and a file that cannot be read",
				}),
				Action: inMemory(e.removeMemory),
			},
		},
	}
}

// MemoryReport is the output of `memory --json`.
type MemoryReport struct {
	CWD      string           `json:"cwd"`
	File     string           `json:"file"`
	Lessons  []memory.Lesson  `json:"lessons"`
	Outcomes []memory.Outcome `json:"outcomes"`
}

func (e Env) listMemory(c *cli.Context, store *memory.Store, place string) error {
	m, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if c.Bool("json") {
		r := MemoryReport{place, store.Path(), append([]memory.Lesson{}, m.Lessons...), append([]memory.Outcome{},
			m.Outcomes...)}
		return e.PrintJSON(r)
	}
	fmt.Fprintln(e.Stdout, "Workspace "+sanitize.Line(place, 400))
	for i, l := range m.Lessons {
		from := "written by a human"
		if l.Run != "" {
			from = "run " + command.ShortID(l.Run)
		}
		fmt.Fprintf(e.Stdout, "%3d  %s\n     %s, %s\n", i+1, l.Text, l.Date.Local().Format(time.DateOnly), from)
		if l.Evidence != "" {
			fmt.Fprintf(e.Stdout, "     evidence: %s\n", l.Evidence)
		}
	}
	if len(m.Lessons) == 0 {
		fmt.Fprintln(e.Stdout, "No run has reported a lesson here.")
	}
	if n := len(m.Outcomes); n > 0 {
		fmt.Fprintf(e.Stdout, "The outcomes of %s are kept, too.\n", words.Count(n, "run"))
	}
	return nil
}

func (e Env) removeMemory(c *cli.Context, store *memory.Store, _ string) error {
	all := c.Bool("all")
	if all == (c.NArg() > 0) {
		return command.Usagef("memory rm: give numbers as arbiter memory lists them, or --all")
	}
	if all {
		if err := store.Clear(); err != nil {
			return command.Environmentf("%v", err)
		}
		fmt.Fprintln(e.Stdout, "Everything is forgotten.")
		return nil
	}
	m, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	unwanted := map[int]bool{}
	for _, word := range c.Args().Slice() {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(m.Lessons) {
			return command.Usagef("there is no lesson %q: %s", word, listed("arbiter memory", "lesson", len(m.Lessons)))
		}
		unwanted[n-1] = true
	}
	var kept []memory.Lesson
	removed := ""
	for i, l := range m.Lessons {
		if unwanted[i] {
			removed += "Removed: " + l.Text + "\n"
		} else {
			kept = append(kept, l)
		}
	}
	if err := store.Replace(m.Lessons, kept); err != nil {
		return command.Environmentf("%v", err)
	}
	fmt.Fprint(e.Stdout, removed)
	return nil
}

// editMemory lets the human edit the lessons. If the text is refused, it stays in a file that the error names.
func (e Env) editMemory(c *cli.Context, store *memory.Store, _ string) error {
	m, err := store.Load()
	if err != nil {
		return command.Environmentf("%v", err)
	}
	before := memory.Text(m.Lessons)
	if file := c.Args().First(); file != "" {
		raw, err := command.ReadFile(file, command.MaxSource)
		if err != nil {
			return command.Usagef("memory edit: read %s: %v", file, command.WithoutPath(err))
		}
		before = string(raw)
	}
	edited, err := EditText("memory.txt", before, func(path string) error { return editLessons(c.Context, path) })
	if err != nil {
		return command.Failedf("%v; nothing was changed", err)
	}
	kept := fmt.Sprintf("nothing was changed, your text is in %s (arbiter memory edit %[1]s opens it again)",
		words.Quote(edited.path))
	lessons, err := memory.Parse(edited.Text, time.Now())
	if err != nil {
		return command.Failedf("%v; %s", err, kept)
	}
	if strings.TrimSpace(edited.Text) == strings.TrimSpace(memory.Text(m.Lessons)) {
		edited.Remove()
		fmt.Fprintln(e.Stderr, "Nothing was changed.")
		return nil
	}
	if err := store.Replace(m.Lessons, lessons); err != nil {
		return command.Environmentf("%v; %s", err, kept)
	}
	edited.Remove()
	fmt.Fprintf(e.Stderr, "%s kept.\n", words.Count(len(lessons), "lesson"))
	return nil
}

func (e Env) TrustCommand() *cli.Command {
	return &cli.Command{
		Name: "trust", Usage: "list what in a workspace can run code, and trust it",
		Description: strings.TrimSpace(`
Lists settings, hooks, helpers, variables, permissions, MCP servers, plugins, agents, skills, commands, arbiter's own
configuration and prompts, and the scripts that these name, each with a hash. You trust exactly what is listed. After
any change arbiter asks again, and starts agents without all of it until you answer. It finds scripts by the words of a
command, not what a script starts in turn. CLAUDE.md and other texts for agents are listed, and not part of the hash.

The answer is kept in the state directory: --state-dir, $ARBITER_STATE_DIR or the default one, not that of a
configuration file.

Exit code 1: not trusted: you answered no, or --show found no trust or a change; 2: also without a terminal to ask
on and without --yes.`),
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
	trust.Listing
	Trusted  bool           `json:"trusted"`  // in its current form
	Recorded bool           `json:"recorded"` // it was trusted before
	Changes  []trust.Change `json:"changes"`  // since then
	Problem  string         `json:"problem,omitempty"`
}

func (e Env) trust(c *cli.Context) error {
	if c.Bool("json") && !c.Bool("show") || c.Bool("revoke") && (c.Bool("show") || c.Bool("yes")) ||
		c.Bool("show") && c.Bool("yes") {
		return command.Usagef("trust: --show, --revoke and --yes exclude each other, and --json needs --show")
	}
	place, err := command.Workspace(c)
	if err != nil {
		return err
	}
	if c.Bool("revoke") {
		store, err := settings.OpenTrust(c.String("state-dir"))
		was := false
		if err == nil {
			was, err = store.Revoke(place)
		}
		switch {
		case err != nil:
			return command.Environmentf("%v", err)
		case was:
			fmt.Fprintln(e.Stdout, "This workspace is no longer trusted.")
		default:
			fmt.Fprintln(e.Stdout, "This workspace was not trusted.")
		}
		return nil
	}
	t, err := settings.TrustIn(place, c.String("state-dir"), false)
	if err != nil {
		return err
	}
	if t.Listing.CWD == "" {
		return command.Environmentf("%s", t.Problem)
	}
	if c.Bool("json") {
		r := trustReport{Listing: t.Listing, Trusted: t.Trusted, Recorded: t.Recorded, Problem: t.Problem,
			Changes: append([]trust.Change{}, t.Changed...)}
		r.Items = append([]trust.Item{}, r.Items...)
		if err := e.PrintJSON(r); err != nil {
			return err
		}
	} else {
		e.listTrust(t)
	}
	switch {
	case c.Bool("show") && !t.Trusted:
		return &command.Error{Code: contract.ExitFailed}
	case c.Bool("show"), t.Trusted:
		return nil
	}
	if !c.Bool("yes") {
		switch yes, asked := e.Confirm("Load all of this, and let it run?"); {
		case !asked:
			return command.Usagef("cannot ask: stdin is not a terminal; add --yes to trust what is listed")
		case !yes:
			return command.Failedf("not trusted")
		}
	}
	by := "arbiter trust"
	if c.Bool("yes") {
		by += " --yes"
	}
	if err := t.Record(place, by); err != nil {
		return err
	}
	fmt.Fprintln(e.Stdout, "Trusted, as it is now.")
	return nil
}

// listTrust prints the settings, file by file. Their texts are not trusted, and are sanitized.
func (e Env) listTrust(t settings.TrustState) {
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
	var lines []string
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
		add(i, t.Change(i))
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
