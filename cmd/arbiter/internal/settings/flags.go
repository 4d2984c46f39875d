package settings

import (
	"errors"
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
		Setting{Name: "task", Kind: KindText, usage: "the task as `TEXT`; - reads it from stdin, which then cannot answer " +
			"questions", Flagged: true, once: true, Env: "-"},
		Setting{Name: "task-from", Kind: KindText, usage: "read `ISSUE` (number or address) with gh as the task, as a " +
			"report from outside", Flagged: true, once: true, Env: "-"},
		Setting{Name: "cwd", Kind: KindText, usage: "the workspace `DIR` (default: the current directory)", Flagged: true,
			Env: "-"},
		Setting{Name: "json", Kind: KindBool, usage: "for scripts: JSON events on stdout, JSON commands on " +
			"stdin", Flagged: true, Env: "-"},
		Setting{Name: "plain", Kind: KindBool, usage: "lines of text instead of a screen, for screen readers and " +
			"simple terminals", Flagged: true, Env: "-"},
		Setting{Name: "detach", Kind: KindBool, usage: "start the run, print its id, and leave it running",
			Flagged: true, Env: "-"},
		Setting{Name: "no-input", Kind: KindBool, usage: "run without a human: do not read stdin", Flagged: true, Env: "-"},
		Setting{Name: "resume", Kind: KindBool, usage: "resume the latest run of this directory, whatever ended it",
			Flagged: true, Env: "-"},
		Setting{Name: "session", Kind: KindText, usage: "the `RUN` to resume, by its id or the first characters; " +
			"implies --resume", Flagged: true, Env: "-"},
		Setting{Name: "resume-or-begin", Kind: KindBool, usage: "for jobs that start again: resume the latest run of " +
			"this directory, or begin one; needs --json", Flagged: true, Env: "-"},
		Setting{Name: "share-workspace", Kind: KindBool, usage: "start even if another run works in this directory",
			Flagged: true, Env: "-"},
	),
	group("Claude",
		Setting{Name: "claude", Kind: KindText, usage: "`PATH` of the claude program (default: claude on PATH)"},
		Setting{Name: "model", Kind: KindText, usage: "`MODEL` of every agent, such as opus or a full id (default: Claude " +
			"Code's)"},
		Setting{Name: "arbiter-model", Kind: KindText, usage: "`MODEL` of the Arbiter (default: that of --model)"},
		Setting{Name: "env", Kind: KindList, usage: "environment variable for the agents, as `NAME=VALUE`"},
		Setting{Name: "arbiter-env", Kind: KindList, usage: "environment variable for the Arbiter and the decider " +
			"only, as `NAME=VALUE`, such as those of a gateway, Bedrock or Vertex; it comes before --env"},
	),
	group("Who decides",
		Setting{Name: "decider", Kind: KindText, Value: runconfig.DeciderSession, usage: Choice(deciders...) + "who " +
			"decides which agent works next and what follows. session: the Arbiter itself; stateless: a model that sees " +
			"only the input; hybrid: rules for clear cases, else stateless; rules: rules only"},
		Setting{Name: "decider-model", Kind: KindText, usage: "`MODEL` of a stateless or hybrid decider (default: a " +
			"small one of the provider: haiku, " + decider.AnthropicModel + " or " + decider.OpenAIModel + ")"},
		Setting{Name: "decider-provider", Kind: KindText, Value: runconfig.ProviderClaude,
			usage: Choice(Providers...) + "whom a stateless or hybrid decider asks. claude: Claude Code; openai: a " +
				"server of Chat Completions, also a local one; anthropic: a server of Messages. With a server, --decider is " +
				"stateless unless it is named"},
		Setting{Name: "decider-base-url", Kind: KindText, usage: "`URL` of the provider's server, such as " +
			"http://127.0.0.1:11434/v1 (default: api.openai.com or api.anthropic.com)"},
		Setting{Name: "decider-key-env", Kind: KindText, usage: "`NAME` of the environment variable that holds the " +
			"provider's API key (default: OPENAI_API_KEY or ANTHROPIC_API_KEY; with --decider-base-url, no key is " +
			"sent unless this is named)"},
		Setting{Name: "decider-max-tokens", Kind: kindInt, Value: 0, usage: fmt.Sprintf("upper limit of one answer of "+
			"the decider in `TOKENS` (0: %d, or Claude Code's own)", decider.DefaultMaxTokens)},
		Setting{Name: "decider-temperature", Kind: kindNumber, usage: "`TEMPERATURE` of the decider's model, with " +
			"openai or anthropic (default: the model's own)"},
		Setting{Name: "decider-effort", Kind: KindText, usage: Choice(efforts...) +
			"effort of the decider's model (default: the model's own)"},
		Setting{Name: "decider-timeout", Kind: KindDuration, Value: runconfig.DefaultDeciderTimeout,
			usage: "time limit for one answer of the decider"},
		Setting{Name: "decision-cache", Kind: KindBool, usage: "reuse a decider's answer to the same input, also from " +
			"other runs"},
	),
	group("Permissions",
		Setting{Name: "permissions", Kind: KindText, Value: "ask",
			usage: Choice("ask", "rules", "accept-edits", "allow-all") + "what happens to a tool call that no rule " +
				"covers. ask: you are asked; rules: it is denied; accept-edits: like ask, but edits in the workspace are " +
				"allowed; allow-all: it is allowed (needs --i-accept-the-risk)"},
		Setting{Name: "i-accept-the-risk", Kind: KindBool, usage: "confirm --permissions allow-all", Flagged: true, Env: "-"},
		Setting{Name: "allow", Kind: KindList, usage: "allow what `RULE` covers, such as 'Bash(git *)' or Edit"},
		Setting{Name: "ask", Kind: KindList, usage: "always ask about what `RULE` covers, even if Claude's settings or " +
			"--allow allow it"},
		Setting{Name: "deny", Kind: KindList, usage: "always deny what `RULE` covers"},
		Setting{Name: "permission-wait", Kind: KindDuration, Value: time.Duration(0),
			usage: "deny a permission request that nobody answers within this time (0: it waits for you)"},
	),
	group("Sandbox and trust",
		Setting{Name: "sandbox", Kind: KindText, Value: sandboxAuto, usage: Choice(SandboxOff, sandboxAuto, SandboxOn) +
			"run agents in bubblewrap (Linux): they write to the workspace only, and read no credentials. If it fails " +
			"its test, on refuses to run; auto runs without it, and reports unsandboxed"},
		Setting{Name: "network", Kind: KindText, Value: bridge.NetworkProxy, usage: Choice(networks...) + "what " +
			"sandboxed agents can reach. proxy: the API, the hosts of --allow-host, and what you permit; none: the API; " +
			"open: all that this computer reaches"},
		Setting{Name: "allow-host", Kind: KindList, usage: "`HOST` that sandboxed agents can reach, such as " +
			"packages.example.com, '*.example.com', example.com:8443, or 127.0.0.1:5432 of this computer"},
		Setting{Name: "sandbox-write", Kind: KindList, usage: "additional `PATH` that sandboxed agents may write to, such " +
			"as ~/.cache/go-build"},
		Setting{Name: "sandbox-hide", Kind: KindList, usage: "`PATH` that sandboxed agents cannot see"},
		Setting{Name: "pid-namespace", Kind: KindText, Value: string(proctree.ModeAuto),
			usage: Choice(string(proctree.ModeAuto), string(proctree.ModeAlways), string(proctree.ModeNever)) + "run " +
				"agents in their own PID namespace (Linux), so that none outlives arbiter. auto: if that needs no user " +
				"namespace, in which sudo does not work"},
		Setting{Name: "trust", Kind: KindBool, usage: "load this workspace's own settings, hooks, agents, CLAUDE.md and " +
			".arbiter (configuration, agents, prompts)", Flagged: true, Env: "-"},
	),
	group("Limits",
		Setting{Name: "max-cost", Kind: kindNumber, Value: 0.0, usage: "cost limit of the whole run in US `DOLLARS` (0: no " +
			"limit)"},
		Setting{Name: "max-cost-per-agent", Kind: kindNumber, Value: 0.0,
			usage: "cost limit of one Orchestrator in US `DOLLARS`; then it must hand off (0: no limit)"},
		Setting{Name: "fuse", Kind: kindNumber, Value: 0.0, usage: "what one summons may cost in US `DOLLARS`: at 80 % the " +
			"Orchestrator must hand off, at 100 % it is parked (0: a quarter of what is left of --max-cost)"},
		Setting{Name: "max-cost-per-day", Kind: kindNumber, Value: 0.0,
			usage: "cost limit of all runs of a day in US `DOLLARS`, without rehearsals (0: no limit)"},
		Setting{Name: "quota-reserve", Kind: kindNumber, Value: 0.0,
			usage: "leave `PERCENT` of each usage window of your plan: wait for its reset instead (0: use all)"},
		Setting{Name: "timeout", Kind: KindDuration, Value: time.Duration(0),
			usage: "time limit of the whole run, such as 90m (0: no limit)"},
		Setting{Name: "max-orchestrators", Kind: kindInt, Value: runconfig.DefaultMaxOrchestrators,
			usage: "how many Orchestrators may run at once"},
		Setting{Name: "max-iterations", Kind: kindInt, Value: runconfig.DefaultMaxIterations,
			usage: "how many Orchestrators one task may summon"},
		Setting{Name: "max-subagents", Kind: kindInt, Value: runconfig.DefaultMaxSubagents,
			usage: "how many subagents of one Orchestrator may work at once"},
		Setting{Name: "max-subagents-total", Kind: kindInt, Value: runconfig.DefaultMaxSubagentsTotal,
			usage: "how many subagents of all agents may start in the whole run"},
		Setting{Name: "max-subagents-per-hour", Kind: kindInt, Value: runconfig.DefaultMaxSubagentsPerHour,
			usage: "how many subagents of all agents may start within an hour"},
		Setting{Name: "max-failures", Kind: kindInt, Value: runconfig.DefaultMaxFailures,
			usage: "how many executions may fail in a row"},
		Setting{Name: "max-total-failures", Kind: kindInt, Value: 0, usage: "how many executions of one task may fail in " +
			"total (0: no limit, or four times --max-failures if only rules decide)"},
		Setting{Name: "max-exchanges", Kind: kindInt, Value: runconfig.DefaultMaxExchanges,
			usage: "how many messages agents may exchange without a human"},
	),
	group("Context windows and hand-offs",
		Setting{Name: "context-warn", Kind: kindNumber, Value: runconfig.DefaultContextWarn,
			usage: "warn an agent at `PERCENT` of its effective context window"},
		Setting{Name: "context-critical", Kind: kindNumber, Value: runconfig.DefaultContextCritical,
			usage: "tell an agent to hand off at `PERCENT` of its effective context window"},
		Setting{Name: "context-stop", Kind: kindNumber, Value: runconfig.DefaultContextStop,
			usage: "let an Orchestrator that was told to hand off only read and commit from `PERCENT` on (0: never)"},
		Setting{Name: "context-tokens", Kind: kindInt, Value: runconfig.DefaultContextTokens,
			usage: "upper limit of the effective context window in `TOKENS` (0: the model's own window)"},
		Setting{Name: "context-tokens-for", Kind: KindList, usage: "--context-tokens for one model, as `MODEL=TOKENS`; the " +
			"first characters of its name are enough"},
		Setting{Name: "check-timeout", Kind: KindDuration, Value: runconfig.DefaultCheckTimeout,
			usage: "time limit for one check of a hand-off document (0: run no checks)"},
	),
	group("Files",
		Setting{Name: "isolation", Kind: KindText, Value: runconfig.IsolationShared,
			usage: Choice(runconfig.IsolationShared, runconfig.IsolationWorktree, runconfig.IsolationClone) +
				"whether Orchestrators share the directory, or each has a Git worktree or clone, merged when its work " +
				"is done"},
	),
	group("Hosts",
		Setting{Name: "hosts", Kind: KindText, usage: "where Orchestrators may run: `LIST` of configured hosts, " +
			"pools and here, separated by commas (default: here; see arbiter hosts)", Flagged: true},
		Setting{Name: "lease", Kind: KindDuration, Value: runconfig.DefaultLease, usage: "how long agents on a host " +
			"continue without contact to Arbiter; work moves elsewhere only after that"},
	),
	group("Acceptance",
		Setting{Name: "accept", Kind: KindList, usage: "a `COMMAND` that must pass on the final files before the task is " +
			"complete; the Arbiter cannot change it"},
	),
	group("Memory",
		Setting{Name: "memory", Kind: KindText, Value: memoryOn, usage: Choice(memoryOn, MemoryOff) +
			"whether the Arbiter reads what earlier runs in this directory learned, and keeps what this one learns"},
	),
	group("Watching over agents",
		Setting{Name: "start-timeout", Kind: KindDuration, Value: bridge.DefaultStartTimeout,
			usage: "time limit for an agent's process to become ready"},
		Setting{Name: "max-wait", Kind: KindDuration, Value: runconfig.DefaultMaxWait,
			usage: "how long to wait for the end of a usage limit or an overload, and without a human for a host out of " +
				"reach (0: do not wait)"},
		Setting{Name: "watch-every", Kind: KindDuration, Value: runconfig.DefaultWatchEvery,
			usage: "how often to check each agent's activity, memory and output files"},
		Setting{Name: "quiet-after", Kind: KindDuration, Value: runconfig.DefaultQuietAfter,
			usage: "report a working agent without output, tool progress or API retry for this long (0: never)"},
		Setting{Name: "max-memory", Kind: kindInt, Value: 0, usage: "restart an agent whose processes use more than `MIB` " +
			"of memory (0: three quarters of the machine's memory)"},
		Setting{Name: "max-output", Kind: kindInt, Value: runconfig.DefaultMaxOutput >> 20,
			usage: "restart an agent whose tasks write more than `MIB` of output files (0: no limit)"},
		Setting{Name: "max-journal", Kind: kindInt, Value: journal.DefaultMaxBytes >> 20,
			usage: "end the run when a resume would have to read more than `MIB`: its state, and what happened since " +
				"that was saved"},
	),
	group("The screen",
		Setting{Name: "theme", Kind: KindText, Value: render.Auto, usage: Choice(render.ThemeNames()...) +
			"colours of the screen"},
		Setting{Name: "ascii", Kind: KindBool, usage: "draw with ASCII characters only (automatic if the locale is not " +
			"UTF-8)"},
		Setting{Name: "ritual", Kind: KindText, Value: RitualScene, usage: Choice(RitualFull, RitualScene, RitualOff) +
			"a title once a day and the agents as figures, the figures alone, or neither"},
		Setting{Name: "sound", Kind: KindText, Value: SoundOff, usage: Choice(SoundOff, SoundOn) +
			"a short sound when a run waits for you, and at its end: by afplay, pw-play, paplay, aplay, play or ffplay, " +
			"else the bell"},
		Setting{Name: "reduced-motion", Kind: KindBool, usage: "no animation: redraw only what changed"},
		Setting{Name: "no-mouse", Kind: KindBool, usage: "do not use the mouse"},
		Setting{Name: "on-hangup", Kind: KindText, Value: "leave",
			usage: "`leave|stop`: what becomes of the run when the terminal is gone"},
		Setting{Name: "notify", Kind: KindText, Value: "bell,desktop",
			usage: "how to notify you when a run waits for you: `WAYS` separated by commas, of bell, " +
				"desktop (OSC 777, 99 or 9), finished (when a run ends, too), ntfy:URL and webhook:URL " +
				"(a POST for each thing that waits, and at the end), or off"},
	),
	group("Rehearsals",
		Setting{Name: "rehearse", Kind: KindBool, usage: "run a scripted model in a scratch workspace: no login, no " +
			"network, no cost", Flagged: true, Env: "-"},
		Setting{Name: "scenario", Kind: KindText, usage: "the `SCENARIO` to rehearse: a name (see arbiter scenarios) or a " +
			"file; implies --rehearse", Flagged: true, Env: "-"},
		Setting{Name: "stand-in", Kind: KindBool, usage: "rehearse with the built-in stand-in instead of claude; implies " +
			"--rehearse", Flagged: true, Env: "-"},
	),
	group("Files and help",
		Setting{Name: "state-dir", Kind: KindText, usage: "`DIR` that holds the runs (default: $XDG_STATE_HOME/arbiter, or " +
			"~/.local/state/arbiter)"},
		Setting{Name: "config", Kind: KindText, usage: "configuration `FILE` to read instead of your own", Flagged: true},
		Setting{Name: "debug", Kind: KindBool, usage: "log every event"},
	),
)

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
