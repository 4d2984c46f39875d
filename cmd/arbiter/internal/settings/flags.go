package settings

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// kind is the type of a setting's value.
type kind string

const (
	KindText     kind = "string"
	KindList     kind = "array"
	KindBool     kind = "boolean"
	kindInt      kind = "integer"
	kindNumber   kind = "number"
	KindDuration kind = "duration"
)

// Article returns the kind with an article and, if useful, an example.
func (k kind) Article() string {
	switch k {
	case kindInt:
		return "a whole number"
	case KindBool:
		return "true or false"
	case KindDuration:
		return "a number with a unit, such as 90s, 15m or 2h"
	}
	return "a " + string(k)
}

// Setting is a flag, an environment variable and a key of the configuration file, all from this table.
type Setting struct {
	Name    string
	Kind    kind
	usage   string // with the placeholder in backquotes, see [manual]; none for a switch
	Value   any    // default
	Env     string // "-": there is no variable ARBITER_<NAME>
	Flagged bool   // on the command line only, never from a file
	once    bool   // giving it twice is an error; for other flags the last one counts
	Group   string // heading in the help
}

var Table = slices.Concat(
	group("The run",
		text("task", "", "the task as `TEXT`; - reads it from stdin, which then cannot answer "+
			"questions").onLine().justOnce(),
		text("task-from", "", "read `ISSUE` (number or address) with gh as the task, as a report from "+
			"outside").onLine().justOnce(),
		text("cwd", "", "the workspace `DIR` (default: the current directory)").onLine(),
		toggle("json", "for scripts: JSON events on stdout, JSON commands on stdin").onLine(),
		toggle("plain", "lines of text instead of a screen, for screen readers and simple terminals").onLine(),
		toggle("detach", "start the run, print its id, and leave it running").onLine(),
		toggle("no-input", "run without a human: do not read stdin").onLine(),
		toggle("resume", "resume the latest run of this directory, whatever ended it").onLine(),
		text("session", "", "the `RUN` to resume, by its id or the first characters; implies --resume").onLine(),
		toggle("resume-or-begin", "for jobs that start again: resume the latest run of this directory, or begin one; "+
			"needs --json").onLine(),
		toggle("share-workspace", "start even if another run works in this directory").onLine(),
	),
	group("Claude",
		text("claude", "", "`PATH` of the claude program (default: claude on PATH)"),
		text("model", "", "`MODEL` of every agent, such as opus or a full id (default: Claude Code's)"),
		text("arbiter-model", "", "`MODEL` of the Arbiter (default: that of --model)"),
		list("env", "environment variable for the agents, as `NAME=VALUE`"),
		list("arbiter-env", "environment variable for the Arbiter and the decider only, as `NAME=VALUE`, such as "+
			"those of a gateway, Bedrock or Vertex; it comes before --env"),
	),
	group("Who decides",
		text("decider", runconfig.DeciderSession, Choice(deciders...)+"who decides which agent works next and what "+
			"follows. session: the Arbiter itself; stateless: a model that sees only the input; hybrid: rules for "+
			"clear cases, else stateless; rules: rules only"),
		text("decider-model", "", "`MODEL` of a stateless or hybrid decider (default: a small one of the provider: "+
			"haiku, "+decider.AnthropicModel+" or "+decider.OpenAIModel+")"),
		text("decider-provider", runconfig.ProviderClaude, Choice(Providers...)+"whom a stateless or hybrid decider "+
			"asks. claude: Claude Code; openai: a server of Chat Completions, also a local one; anthropic: a server "+
			"of Messages. With a server, --decider is stateless unless it is named"),
		text("decider-base-url", "", "`URL` of the provider's server, such as http://127.0.0.1:11434/v1 (default: "+
			"api.openai.com or api.anthropic.com)"),
		text("decider-key-env", "", "`NAME` of the environment variable that holds the provider's API key (default: "+
			"OPENAI_API_KEY or ANTHROPIC_API_KEY; with --decider-base-url, no key is sent unless this is named)"),
		integer("decider-max-tokens", 0, fmt.Sprintf("upper limit of one answer of the decider in `TOKENS` (0: %d, or "+
			"Claude Code's own)", decider.DefaultMaxTokens)),
		number("decider-temperature", nil, "`TEMPERATURE` of the decider's model, with openai or anthropic (default: "+
			"the model's own)"),
		text("decider-effort", "", Choice(efforts...)+"effort of the decider's model (default: the model's own)"),
		duration("decider-timeout", runconfig.DefaultDeciderTimeout, "time limit for one answer of the decider"),
		toggle("decision-cache", "reuse a decider's answer to the same input, also from other runs"),
	),
	group("Permissions",
		text("permissions", "ask", Choice("ask", "rules", "accept-edits", "allow-all")+"what happens to a tool call "+
			"that no rule covers. ask: you are asked; rules: it is denied; accept-edits: like ask, but edits in the "+
			"workspace are allowed; allow-all: it is allowed (needs --i-accept-the-risk)"),
		toggle("i-accept-the-risk", "confirm --permissions allow-all").onLine(),
		list("allow", "allow what `RULE` covers, such as 'Bash(git *)' or Edit"),
		list("ask", "always ask about what `RULE` covers, even if Claude's settings or --allow allow it"),
		list("deny", "always deny what `RULE` covers"),
		duration("permission-wait", 0, "deny a permission request that nobody answers within this time (0: it waits "+
			"for you)"),
	),
	group("Sandbox and trust",
		text("sandbox", sandboxAuto, Choice(SandboxOff, sandboxAuto, SandboxOn)+"run agents in bubblewrap (Linux): "+
			"they write to the workspace only, and read no credentials. If it fails its test, on refuses to run; auto "+
			"runs without it, and reports unsandboxed"),
		text("network", bridge.NetworkProxy, Choice(networks...)+"what sandboxed agents can reach. proxy: the API, "+
			"the hosts of --allow-host, and what you permit; none: the API; open: all that this computer reaches"),
		list("allow-host", "`HOST` that sandboxed agents can reach, such as packages.example.com, '*.example.com', "+
			"example.com:8443, or 127.0.0.1:5432 of this computer"),
		list("sandbox-write", "additional `PATH` that sandboxed agents may write to, such as ~/.cache/go-build"),
		list("sandbox-hide", "`PATH` that sandboxed agents cannot see"),
		text("pid-namespace", string(proctree.ModeAuto),
			Choice(string(proctree.ModeAuto), string(proctree.ModeAlways), string(proctree.ModeNever))+"run agents in "+
				"their own PID namespace (Linux), so that none outlives arbiter. auto: if that needs no user namespace, "+
				"in which sudo does not work"),
		toggle("trust", "load this workspace's own settings, hooks, agents, CLAUDE.md and .arbiter (configuration, "+
			"agents, prompts)").onLine(),
	),
	group("Limits",
		number("max-cost", 0.0, "cost limit of the whole run in US `DOLLARS` (0: no limit)"),
		number("max-cost-per-agent", 0.0, "cost limit of one Orchestrator in US `DOLLARS`; then it must hand off (0: "+
			"no limit)"),
		number("fuse", 0.0, "what one summons may cost in US `DOLLARS`: at 80 % the Orchestrator must hand off, at "+
			"100 % it is parked (0: a quarter of what is left of --max-cost)"),
		number("max-cost-per-day", 0.0, "cost limit of all runs of a day in US `DOLLARS`, without rehearsals (0: no "+
			"limit)"),
		number("quota-reserve", 0.0, "leave `PERCENT` of each usage window of your plan: wait for its reset instead "+
			"(0: use all)"),
		duration("timeout", 0, "time limit of the whole run, such as 90m (0: no limit)"),
		integer("max-orchestrators", runconfig.DefaultMaxOrchestrators, "how many Orchestrators may run at once"),
		integer("max-iterations", runconfig.DefaultMaxIterations, "how many Orchestrators one task may summon"),
		integer("max-subagents", runconfig.DefaultMaxSubagents, "how many subagents of one Orchestrator may work at "+
			"once"),
		integer("max-subagents-total", runconfig.DefaultMaxSubagentsTotal, "how many subagents of all agents may "+
			"start in the whole run"),
		integer("max-subagents-per-hour", runconfig.DefaultMaxSubagentsPerHour, "how many subagents of all agents may "+
			"start within an hour"),
		integer("max-failures", runconfig.DefaultMaxFailures, "how many executions may fail in a row"),
		integer("max-total-failures", 0, "how many executions of one task may fail in total (0: no limit, or four "+
			"times --max-failures if only rules decide)"),
		integer("max-exchanges", runconfig.DefaultMaxExchanges, "how many messages agents may exchange without a "+
			"human"),
	),
	group("Context windows and hand-offs",
		number("context-warn", runconfig.DefaultContextWarn, "warn an agent at `PERCENT` of its effective context "+
			"window"),
		number("context-critical", runconfig.DefaultContextCritical, "tell an agent to hand off at `PERCENT` of its "+
			"effective context window"),
		number("context-stop", runconfig.DefaultContextStop, "let an Orchestrator that was told to hand off only read "+
			"and commit from `PERCENT` on (0: never)"),
		integer("context-tokens", runconfig.DefaultContextTokens, "upper limit of the effective context window in "+
			"`TOKENS` (0: the model's own window)"),
		list("context-tokens-for", "--context-tokens for one model, as `MODEL=TOKENS`; the first characters of its "+
			"name are enough"),
		duration("check-timeout", runconfig.DefaultCheckTimeout, "time limit for one check of a hand-off document (0: "+
			"run no checks)"),
	),
	group("Files",
		text("isolation", runconfig.IsolationShared,
			Choice(runconfig.IsolationShared, runconfig.IsolationWorktree, runconfig.IsolationClone)+"whether "+
				"Orchestrators share the directory, or each has a Git worktree or clone, merged when its work is done"),
	),
	group("Hosts",
		text("hosts", "", "where Orchestrators may run: `LIST` of configured hosts, pools and here, separated by "+
			"commas (default: here; see arbiter hosts)").noFile(),
		duration("lease", runconfig.DefaultLease, "how long agents on a host continue without contact to Arbiter; "+
			"work moves elsewhere only after that"),
	),
	group("Acceptance",
		list("accept", "a `COMMAND` that must pass on the final files before the task is complete; the Arbiter cannot "+
			"change it"),
	),
	group("Memory",
		text("memory", memoryOn, Choice(memoryOn, MemoryOff)+"whether the Arbiter reads what earlier runs in this "+
			"directory learned, and keeps what this one learns"),
	),
	group("Watching over agents",
		duration("start-timeout", bridge.DefaultStartTimeout, "time limit for an agent's process to become ready"),
		duration("max-wait", runconfig.DefaultMaxWait, "how long to wait for the end of a usage limit or an overload, "+
			"and without a human for a host out of reach (0: do not wait)"),
		duration("watch-every", runconfig.DefaultWatchEvery, "how often to check each agent's activity, memory and "+
			"output files"),
		duration("quiet-after", runconfig.DefaultQuietAfter, "report a working agent without output, tool progress or "+
			"API retry for this long (0: never)"),
		integer("max-memory", 0, "restart an agent whose processes use more than `MIB` of memory (0: three quarters "+
			"of the machine's memory)"),
		integer("max-output", runconfig.DefaultMaxOutput>>20, "restart an agent whose tasks write more than `MIB` "+
			"of output files (0: no limit)"),
		integer("max-journal", journal.DefaultMaxBytes>>20, "end the run when a resume would have to read more than "+
			"`MIB`: its state, and what happened since that was saved"),
	),
	group("The screen",
		text("theme", render.Auto, Choice(render.ThemeNames()...)+"colours of the screen"),
		toggle("ascii", "draw with ASCII characters only (automatic if the locale is not UTF-8)"),
		text("ritual", RitualScene, Choice(RitualFull, RitualScene, RitualOff)+"a title once a day and the agents as "+
			"figures, the figures alone, or neither"),
		text("sound", SoundOff, Choice(SoundOff, SoundOn)+"a short sound when a run waits for you, and at its end: by "+
			"afplay, pw-play, paplay, aplay, play or ffplay, else the bell"),
		toggle("reduced-motion", "no animation: redraw only what changed"),
		toggle("no-mouse", "do not use the mouse"),
		text("on-hangup", "leave", "`leave|stop`: what becomes of the run when the terminal is gone"),
		text("notify", "bell,desktop", "how to notify you when a run waits for you: `WAYS` separated by commas, of "+
			"bell, desktop (OSC 777, 99 or 9), finished (when a run ends, too), ntfy:URL and webhook:URL (a POST for "+
			"each thing that waits, and at the end), or off"),
	),
	group("Rehearsals",
		toggle("rehearse", "run a scripted model in a scratch workspace: no login, no network, no cost").onLine(),
		text("scenario", "", "the `SCENARIO` to rehearse: a name (see arbiter scenarios) or a file; implies "+
			"--rehearse").onLine(),
		toggle("stand-in", "rehearse with the built-in stand-in instead of claude; implies --rehearse").onLine(),
	),
	group("Files and help",
		text("state-dir", "", "`DIR` that holds the runs (default: $XDG_STATE_HOME/arbiter, or "+
			"~/.local/state/arbiter)"),
		text("config", "", "configuration `FILE` to read instead of your own").noFile(),
		toggle("debug", "log every event"),
	),
)

// The rows of the table, by the kind of their values.

func text(name, value, usage string) Setting {
	s := Setting{Name: name, Kind: KindText, usage: usage}
	if value != "" {
		s.Value = value
	}
	return s
}

func list(name, usage string) Setting { return Setting{Name: name, Kind: KindList, usage: usage} }

func toggle(name, usage string) Setting { return Setting{Name: name, Kind: KindBool, usage: usage} }

func integer(name string, value int, usage string) Setting {
	return Setting{Name: name, Kind: kindInt, Value: value, usage: usage}
}

// number makes a row whose default may be nil: that of the model.
func number(name string, value any, usage string) Setting {
	return Setting{Name: name, Kind: kindNumber, Value: value, usage: usage}
}

func duration(name string, value time.Duration, usage string) Setting {
	return Setting{Name: name, Kind: KindDuration, Value: value, usage: usage}
}

// noFile makes it a setting that no file has, and onLine one that no variable has either.
func (s Setting) noFile() Setting {
	s.Flagged = true
	return s
}

func (s Setting) onLine() Setting {
	s.Flagged, s.Env = true, "-"
	return s
}

func (s Setting) justOnce() Setting {
	s.once = true
	return s
}

func group(heading string, list ...Setting) []Setting {
	for i := range list {
		list[i].Group = heading
	}
	return list
}

// Choice returns the beginning of a usage, for a setting with a fixed set of values.
func Choice(words ...string) string { return "`" + strings.Join(words, "|") + "`: " }

// EnvName returns the environment variable of a setting. A list has none: a rule may contain any separator.
func EnvName(s Setting) []string {
	if s.Env == "-" || s.Kind == KindList {
		return nil
	}
	return []string{"ARBITER_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))}
}

// Flags returns the flags of all settings, or only those with some names.
func Flags(names ...string) (flags []cli.Flag) {
	for _, s := range Table {
		if len(names) == 0 || slices.Contains(names, s.Name) {
			flags = append(flags, s.Flag())
		}
	}
	return flags
}

func (s Setting) Flag() cli.Flag {
	switch s.Kind {
	case KindBool:
		return &cli.BoolFlag{Name: s.Name, Usage: s.usage, Category: s.Group, EnvVars: EnvName(s)}
	case kindInt:
		return &cli.IntFlag{Name: s.Name, Usage: s.usage, Category: s.Group, EnvVars: EnvName(s), Value: s.Value.(int)}
	case kindNumber:
		f := &cli.Float64Flag{Name: s.Name, Usage: s.usage, Category: s.Group, EnvVars: EnvName(s)}
		if s.Value != nil {
			f.Value = s.Value.(float64)
		} else {
			f.DefaultText = "the model's own"
		}
		return f
	case KindDuration:
		return &cli.DurationFlag{Name: s.Name, Usage: s.usage, Category: s.Group, EnvVars: EnvName(s),
			Value: s.Value.(time.Duration)}
	case KindList:
		// A rule may contain a comma, so the app's separator is off, and the flag is repeated.
		return &cli.StringSliceFlag{Name: s.Name, Usage: s.usage, Category: s.Group}
	case KindText:
		if s.once {
			return &cli.GenericFlag{Name: s.Name, Usage: s.usage, Category: s.Group, Value: &onceText{}}
		}
		f := &cli.StringFlag{Name: s.Name, Usage: s.usage, Category: s.Group, EnvVars: EnvName(s)}
		if s.Value != nil {
			f.Value = s.Value.(string)
		}
		return f
	}
	panic(fmt.Sprintf("flag %s has no kind", s.Name))
}

// Parse returns the value that a text stands for.
func (s Setting) Parse(text string) (any, error) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	if err := errors.Join(s.Flag().Apply(set), set.Set(s.Name, text)); err != nil {
		return nil, err
	}
	return set.Lookup(s.Name).Value.(flag.Getter).Get(), nil
}

// onceText is the value of a flag that may be given only once, because a second value would silently replace the
// first.
type onceText struct {
	text string
	set  bool
}

func (v *onceText) Set(text string) error {
	if v.set {
		return errGivenTwice
	}
	v.text, v.set = text, true
	return nil
}

func (v *onceText) String() string { return v.text }

var errGivenTwice = errors.New("given twice")

// FlagOf returns the flag of a setting for a separate command, without a heading.
func FlagOf(name string) cli.Flag {
	s, _ := Named(name)
	s.Group = ""
	return s.Flag()
}

// Named finds a setting by its name.
func Named(name string) (s Setting, ok bool) {
	i := slices.IndexFunc(Table, func(s Setting) bool { return s.Name == name })
	if i >= 0 {
		s = Table[i]
	}
	return s, i >= 0
}

// Texts returns the values of a setting in the form of a flag.
func (s Setting) Texts(c *cli.Context) []string {
	if s.Kind == KindList {
		return slices.Clone(c.StringSlice(s.Name))
	}
	if v := c.Value(s.Name); v != nil {
		return []string{fmt.Sprint(v)}
	}
	return nil
}

// givenFlags returns the flags of a command line, for [Choices.Line]. Call it before a configuration file is
// applied.
func givenFlags(c *cli.Context) []string {
	var args []string
	origin := givenOrigins(c)
	for _, s := range Table {
		if !strings.HasPrefix(origin[s.Name], "--") || s.Flagged && s.Name != "config" && s.Name != "cwd" {
			continue
		}
		for _, text := range s.Texts(c) {
			args = append(args, "--"+s.Name+"="+text)
		}
	}
	return args
}
