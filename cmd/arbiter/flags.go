package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/supervisor/decider/modelapi"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// kind is the type of a setting's value.
type kind string

const (
	kindText     kind = "string"
	kindList     kind = "array"
	kindBool     kind = "boolean"
	kindInt      kind = "integer"
	kindNumber   kind = "number"
	kindDuration kind = "duration"
)

// article is the kind with an article and, where it helps, an example.
func (k kind) article() string {
	switch k {
	case kindInt:
		return "a whole number"
	case kindBool:
		return "true or false"
	case kindDuration:
		return "a number with a unit, such as 90s, 15m or 2h"
	}
	return "a " + string(k)
}

// setting is one knob: a flag, an environment variable and a key of the
// configuration file, all from this one table.
type setting struct {
	name    string
	kind    kind
	usage   string // what it takes in backquotes, see [manual]; nothing for a switch
	value   any    // default
	env     string // besides ARBITER_<NAME>; "-" for none
	flagged bool   // on the command line only, never from a file
	once    bool   // a second one is refused; of other flags the last one counts
	group   string // heading of the help
}

var settings = slices.Concat(
	group("The run",
		setting{name: "task", kind: kindText, usage: "the task as `TEXT`; - reads it from stdin, which then cannot answer " +
			"questions", flagged: true, once: true, env: "-"},
		setting{name: "cwd", kind: kindText, usage: "the workspace `DIR` (default: the current directory)", flagged: true,
			env: "-"},
		setting{name: "json", kind: kindBool, usage: "for scripts: write JSON events to stdout and read JSON commands from " +
			"stdin, one per line", flagged: true, env: "-"},
		setting{name: "plain", kind: kindBool, usage: "print lines of text instead of a screen, for screen readers and " +
			"simple terminals", flagged: true, env: "-"},
		setting{name: "detach", kind: kindBool, usage: "start the run, print its id, and leave it running",
			flagged: true, env: "-"},
		setting{name: "no-input", kind: kindBool, usage: "run without a human: do not read stdin", flagged: true, env: "-"},
		setting{name: "resume", kind: kindBool, usage: "resume the latest run of this directory, whatever ended it",
			flagged: true, env: "-"},
		setting{name: "session", kind: kindText, usage: "the `RUN` to resume: its id, or the first characters of it; " +
			"implies --resume", flagged: true, env: "-"},
		setting{name: "resume-or-begin", kind: kindBool, usage: "for jobs that are started again: resume the latest run " +
			"of this directory, or begin one; needs --json", flagged: true, env: "-"},
		setting{name: "share-workspace", kind: kindBool, usage: "start even if another run works in this directory",
			flagged: true, env: "-"},
	),
	group("Claude",
		setting{name: "claude", kind: kindText, usage: "`PATH` of the claude program (default: claude on PATH)"},
		setting{name: "model", kind: kindText, usage: "`MODEL` of every agent, such as opus or a full id (default: Claude " +
			"Code's)"},
		setting{name: "arbiter-model", kind: kindText, usage: "`MODEL` of the Arbiter (default: that of --model)"},
		setting{name: "env", kind: kindList, usage: "environment variable for the agents, as `NAME=VALUE`"},
		setting{name: "arbiter-env", kind: kindList, usage: "environment variable for the Arbiter and the decider " +
			"only, as `NAME=VALUE`, such as those of a gateway, Bedrock or Vertex; it comes before --env"},
	),
	group("Who decides",
		setting{name: "decider", kind: kindText, value: runconfig.DeciderSession, usage: choice(deciders...) + "who " +
			"decides which agent works next and what follows. session: the Arbiter, in its own conversation; stateless: a " +
			"model that sees only the input; hybrid: rules for clear cases, stateless for the rest; rules: rules only"},
		setting{name: "decider-model", kind: kindText, usage: "`MODEL` of a stateless or hybrid decider (default: a " +
			"small one of the provider: haiku, " + modelapi.AnthropicModel + " or " + modelapi.OpenAIModel + ")"},
		setting{name: "decider-provider", kind: kindText, value: runconfig.ProviderClaude,
			usage: choice(providers...) + "whom a stateless or hybrid decider asks. claude: Claude Code, with its " +
				"login; openai: a server of Chat Completions, also a local one; anthropic: a server of Messages. " +
				"With openai or anthropic, --decider is stateless unless it is named"},
		setting{name: "decider-base-url", kind: kindText, usage: "`URL` of the provider's server, such as " +
			"http://127.0.0.1:11434/v1 (default: api.openai.com or api.anthropic.com)"},
		setting{name: "decider-key-env", kind: kindText, usage: "`NAME` of the environment variable that holds the " +
			"provider's API key (default: OPENAI_API_KEY or ANTHROPIC_API_KEY; with --decider-base-url, no key is " +
			"sent unless this is named)"},
		setting{name: "decider-max-tokens", kind: kindInt, value: 0, usage: fmt.Sprintf("upper limit of one answer of "+
			"the decider in `TOKENS` (0: %d, or Claude Code's own)", modelapi.DefaultMaxTokens)},
		setting{name: "decider-temperature", kind: kindNumber, usage: "`TEMPERATURE` of the decider's model, with " +
			"openai or anthropic (default: the model's own)"},
		setting{name: "decider-effort", kind: kindText, usage: choice(efforts...) +
			"effort of the decider's model (default: the model's own)"},
		setting{name: "decider-timeout", kind: kindDuration, value: runconfig.DefaultDeciderTimeout,
			usage: "time limit for one answer of the decider"},
		setting{name: "decision-cache", kind: kindBool, usage: "reuse a decider's answer to the same input, also from " +
			"other runs"},
	),
	group("Permissions",
		setting{name: "permissions", kind: kindText, value: "ask",
			usage: choice("ask", "rules", "accept-edits", "allow-all") + "what happens to a tool call that no rule covers. " +
				"ask: Arbiter asks you; rules: Arbiter denies it; accept-edits: like ask, but edits in the workspace are " +
				"allowed; allow-all: Arbiter allows it (needs --i-accept-the-risk)"},
		setting{name: "i-accept-the-risk", kind: kindBool, usage: "confirm --permissions allow-all", flagged: true, env: "-"},
		setting{name: "allow", kind: kindList, usage: "allow what `RULE` covers, such as 'Bash(git *)' or Edit"},
		setting{name: "ask", kind: kindList, usage: "always ask about what `RULE` covers, even if Claude's settings or " +
			"--allow allow it"},
		setting{name: "deny", kind: kindList, usage: "always deny what `RULE` covers"},
		setting{name: "permission-wait", kind: kindDuration, value: runconfig.DefaultPermissionWait,
			usage: "deny a permission request that nobody answers within this time"},
	),
	group("Sandbox and trust",
		setting{name: "sandbox", kind: kindText, value: sandboxOff, usage: choice(sandboxOff, sandboxAuto, sandboxOn) +
			"run agents in bubblewrap (Linux): they can write to the workspace only, and cannot read credentials. on: refuse " +
			"to run if the sandbox fails its test; auto: run without it, and report unsandboxed"},
		setting{name: "sandbox-write", kind: kindList, usage: "additional `PATH` that sandboxed agents may write to, such " +
			"as ~/.cache/go-build"},
		setting{name: "sandbox-hide", kind: kindList, usage: "`PATH` that sandboxed agents cannot see"},
		setting{name: "pid-namespace", kind: kindText, value: string(proctree.ModeAuto),
			usage: choice(string(proctree.ModeAuto), string(proctree.ModeAlways), string(proctree.ModeNever)) + "run agents " +
				"in their own PID namespace (Linux), so that none outlives arbiter. auto: only if that needs no user namespace; " +
				"always: with a user namespace too (sudo does not work in it)"},
		setting{name: "trust", kind: kindBool, usage: "load this workspace's own settings, hooks, agents, CLAUDE.md and " +
			".arbiter (configuration, agents, prompts)", flagged: true, env: "-"},
	),
	group("Limits",
		setting{name: "max-cost", kind: kindNumber, value: 0.0, usage: "cost limit of the whole run in US `DOLLARS` (0: no " +
			"limit)"},
		setting{name: "max-cost-per-agent", kind: kindNumber, value: 0.0,
			usage: "cost limit of one Orchestrator in US `DOLLARS`; then it must hand off (0: no limit)"},
		setting{name: "max-cost-per-day", kind: kindNumber, value: 0.0,
			usage: "cost limit of all runs of a day in US `DOLLARS`, without rehearsals (0: no limit)"},
		setting{name: "quota-reserve", kind: kindNumber, value: 0.0,
			usage: "leave `PERCENT` of each usage window of your plan: wait for its reset instead (0: use all)"},
		setting{name: "timeout", kind: kindDuration, value: time.Duration(0),
			usage: "time limit of the whole run, such as 90m (0: no limit)"},
		setting{name: "max-orchestrators", kind: kindInt, value: runconfig.DefaultMaxOrchestrators,
			usage: "how many Orchestrators may live at once"},
		setting{name: "max-iterations", kind: kindInt, value: runconfig.DefaultMaxIterations,
			usage: "how many Orchestrators one task may summon"},
		setting{name: "max-subagents", kind: kindInt, value: runconfig.DefaultMaxSubagents,
			usage: "how many subagents of all agents may work at once"},
		setting{name: "max-subagents-per-hour", kind: kindInt, value: runconfig.DefaultMaxSubagentsPerHour,
			usage: "how many subagents of all agents may start within an hour"},
		setting{name: "max-failures", kind: kindInt, value: runconfig.DefaultMaxFailures,
			usage: "how many executions may fail in a row"},
		setting{name: "max-total-failures", kind: kindInt, value: 0, usage: "how many executions of one task may fail in " +
			"total (0: no limit, or four times --max-failures if only rules decide)"},
		setting{name: "max-exchanges", kind: kindInt, value: runconfig.DefaultMaxExchanges,
			usage: "how many messages agents may exchange without a human"},
	),
	group("Context windows and hand-offs",
		setting{name: "context-warn", kind: kindNumber, value: runconfig.DefaultContextWarn,
			usage: "warn an agent at `PERCENT` of its effective context window"},
		setting{name: "context-critical", kind: kindNumber, value: runconfig.DefaultContextCritical,
			usage: "tell an agent to hand off at `PERCENT` of its effective context window"},
		setting{name: "context-tokens", kind: kindInt, value: runconfig.DefaultContextTokens,
			usage: "upper limit of the effective context window in `TOKENS` (0: the model's own window)"},
		setting{name: "context-tokens-for", kind: kindList, usage: "--context-tokens for one model, as `MODEL=TOKENS`; the " +
			"first characters of its name are enough"},
		setting{name: "check-timeout", kind: kindDuration, value: runconfig.DefaultCheckTimeout,
			usage: "time limit for one check of a hand-off document (0: run no checks)"},
	),
	group("Files",
		setting{name: "isolation", kind: kindText, value: runconfig.IsolationShared,
			usage: choice(runconfig.IsolationShared, runconfig.IsolationWorktree, runconfig.IsolationClone) +
				"whether Orchestrators share the directory, or each has a Git worktree or clone, merged when its work " +
				"is done"},
	),
	group("Hosts",
		setting{name: "hosts", kind: kindText, usage: "where Orchestrators may live: `LIST` of configured hosts, pools " +
			"and here, separated by commas (default: here; see arbiter hosts)", flagged: true},
		setting{name: "lease", kind: kindDuration, value: runconfig.DefaultLease, usage: "how long agents on a host go " +
			"on without contact to Arbiter; work moves elsewhere only after that"},
	),
	group("Acceptance",
		setting{name: "accept", kind: kindList, usage: "a `COMMAND` that must pass on the final files before the task is " +
			"complete; the Arbiter cannot change it"},
	),
	group("Memory",
		setting{name: "memory", kind: kindText, value: memoryOn, usage: choice(memoryOn, memoryOff) +
			"whether the Arbiter reads what earlier runs in this directory learned, and keeps what this one learns"},
	),
	group("Watching over agents",
		setting{name: "start-timeout", kind: kindDuration, value: bridge.DefaultStartTimeout,
			usage: "time limit for an agent's process to become ready"},
		setting{name: "max-wait", kind: kindDuration, value: runconfig.DefaultMaxWait,
			usage: "how long to wait for a usage limit or an overload to end (0: do not wait)"},
		setting{name: "watch-every", kind: kindDuration, value: runconfig.DefaultWatchEvery,
			usage: "how often to check each agent's activity, memory and output files"},
		setting{name: "quiet-after", kind: kindDuration, value: runconfig.DefaultQuietAfter,
			usage: "report a working agent that shows no output, tool progress or API retry for this long (0: never)"},
		setting{name: "max-memory", kind: kindInt, value: 0, usage: "restart an agent whose processes use more than `MIB` " +
			"of memory (0: three quarters of the machine's memory)"},
		setting{name: "max-output", kind: kindInt, value: runconfig.DefaultMaxOutput >> 20,
			usage: "restart an agent whose tasks write more than `MIB` of output files (0: no limit)"},
	),
	group("The screen",
		setting{name: "theme", kind: kindText, value: render.Auto, usage: choice(render.ThemeNames()...) +
			"colours of the screen"},
		setting{name: "ascii", kind: kindBool, usage: "draw with ASCII characters only (automatic if the locale is not " +
			"UTF-8)"},
		setting{name: "ritual", kind: kindText, value: ritualScene, usage: choice(ritualFull, ritualScene, ritualOff) +
			"a title once a day and the agents as figures, the figures alone, or neither"},
		setting{name: "sound", kind: kindText, value: soundOff, usage: choice(soundOff, soundOn) +
			"play a short sound when a run waits for you, and at its end: with afplay, pw-play, paplay, aplay, play or " +
			"ffplay, else with the bell"},
		setting{name: "reduced-motion", kind: kindBool, usage: "no animation: redraw only what changed"},
		setting{name: "no-mouse", kind: kindBool, usage: "do not use the mouse"},
		setting{name: "on-hangup", kind: kindText, value: "leave",
			usage: "`leave|stop`: what becomes of the run when the terminal is gone"},
		setting{name: "notify", kind: kindText, value: "bell,desktop",
			usage: "how to notify you when a run waits for you: `WAYS` separated by commas, of bell, " +
				"desktop (OSC 777, 99 or 9), finished (when a run ends, too), ntfy:URL and webhook:URL " +
				"(a POST for each thing that waits, and at the end), or off"},
	),
	group("Rehearsals",
		setting{name: "rehearse", kind: kindBool, usage: "run a scripted model in a scratch workspace: no login, no " +
			"network, no cost", flagged: true, env: "-"},
		setting{name: "scenario", kind: kindText, usage: "the `SCENARIO` to rehearse: a name (see arbiter scenarios) or a " +
			"file; implies --rehearse", flagged: true, env: "-"},
		setting{name: "stand-in", kind: kindBool, usage: "rehearse with the built-in stand-in instead of claude; implies " +
			"--rehearse", flagged: true, env: "-"},
	),
	group("Files and help",
		setting{name: "state-dir", kind: kindText, usage: "`DIR` that holds the runs (default: $XDG_STATE_HOME/arbiter, or " +
			"~/.local/state/arbiter)"},
		setting{name: "config", kind: kindText, usage: "configuration `FILE` to read instead of your own", flagged: true},
		setting{name: "debug", kind: kindBool, usage: "log every event"},
	),
)

// group puts settings under one heading.
func group(heading string, list ...setting) []setting {
	for i := range list {
		list[i].group = heading
	}
	return list
}

// choice begins the usage of a setting that is one of some words.
func choice(words ...string) string { return "`" + strings.Join(words, "|") + "`: " }

func envName(s setting) []string {
	switch s.env {
	case "-":
		return nil
	case "":
		name := []byte("ARBITER_" + s.name)
		for i, c := range name {
			if c == '-' {
				name[i] = '_'
			} else if c >= 'a' && c <= 'z' {
				name[i] = c - 'a' + 'A'
			}
		}
		return []string{string(name)}
	}
	return []string{s.env}
}

func cliFlags() []cli.Flag {
	var flags []cli.Flag
	for _, s := range settings {
		flags = append(flags, s.flag())
	}
	return flags
}

func (s setting) flag() cli.Flag {
	switch s.kind {
	case kindBool:
		return &cli.BoolFlag{Name: s.name, Usage: s.usage, Category: s.group, EnvVars: envName(s)}
	case kindInt:
		return &cli.IntFlag{Name: s.name, Usage: s.usage, Category: s.group, EnvVars: envName(s), Value: s.value.(int)}
	case kindNumber:
		f := &cli.Float64Flag{Name: s.name, Usage: s.usage, Category: s.group, EnvVars: envName(s)}
		if s.value != nil {
			f.Value = s.value.(float64)
		} else {
			f.DefaultText = "the model's own"
		}
		return f
	case kindDuration:
		return &cli.DurationFlag{Name: s.name, Usage: s.usage, Category: s.group, EnvVars: envName(s),
			Value: s.value.(time.Duration)}
	case kindList:
		// A rule may contain a comma: the app's separator is off, the flag is repeated.
		return &cli.StringSliceFlag{Name: s.name, Usage: s.usage, Category: s.group}
	case kindText:
		if s.once {
			return &cli.GenericFlag{Name: s.name, Usage: s.usage, Category: s.group, Value: &onceText{}}
		}
		f := &cli.StringFlag{Name: s.name, Usage: s.usage, Category: s.group, EnvVars: envName(s)}
		if s.value != nil {
			f.Value = s.value.(string)
		}
		return f
	}
	panic(fmt.Sprintf("flag %s has no kind", s.name))
}

// onceText is the value of a flag that may be given once: a second one would replace the
// first without a word.
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

// flagOf is the flag of a setting for a command of its own, without a heading.
func flagOf(name string) cli.Flag {
	i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name })
	s := settings[i]
	s.group = ""
	return s.flag()
}
