package subcommands

// This part of the package has the commands about the data of a workspace that belongs to no run: trust,
// grants, memory and agent files.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

func AgentsCommand(io command.Env) *cli.Command {
	e := workspaceEnv{io}
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

func (e workspaceEnv) listAgents(c *cli.Context) error {
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
	if c.String("session") != "" {
		if err := addPerformance(c, r.Agents); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(r)
	}
	return e.printAgents(r, c.String("session") != "")
}

// addPerformance adds how each agent did in the run in --session.
func addPerformance(c *cli.Context, list []agentLine) error {
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := runstore.Find(store.Store, c.String("session"))
	if err != nil {
		return err
	}
	s, _, err := runstore.LastState(store, info.Run)
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	for i := range list {
		list[i].Performance = s.Task.History.Performance(list[i].Name)
	}
	return nil
}

func (e workspaceEnv) printAgents(r agentsReport, performed bool) error {
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	head := "NAME\tSOURCE\tMODEL\tTOOLS\t"
	if performed {
		head += "SUCCESS\t"
	}
	fmt.Fprintln(w, head+"WHEN TO USE")
	for _, a := range r.Agents {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", sanitize.Line(a.Name, 64), sourceText(a.Source),
			sanitize.Line(cmp.Or(a.Model, "inherit"), 30), sanitize.Line(toolsText(a), 40))
		if performed {
			fmt.Fprintf(w, "%s\t", performanceText(a.Performance))
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

func performanceText(p *decider.DecisionPerformance) string {
	if p == nil {
		return "-"
	}
	return strconv.FormatFloat(p.SuccessRate, 'f', -1, 64) + " %"
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

func (e workspaceEnv) showAgent(c *cli.Context) error {
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
		return json.NewEncoder(e.Stdout).Encode(line)
	}
	e.printAgent(line)
	for _, s := range found.Shadowed {
		if s.Agent.Name == a.Name {
			fmt.Fprintln(e.Stderr, sanitize.Line("It hides the one of "+s.Agent.Source+".", 400))
		}
	}
	return nil
}

func (e workspaceEnv) printAgent(a agentLine) {
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
func (e workspaceEnv) checkAgents(c *cli.Context) error {
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
		if err := json.NewEncoder(e.Stdout).Encode(append([]agents.Problem{}, problems...)); err != nil {
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
