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
		setting{name: "task", kind: kindText, usage: "the task, as `TEXT`; - reads it from stdin to its end, and then nobody is there to answer questions", flagged: true, once: true, env: "-"},
		setting{name: "cwd", kind: kindText, usage: "the workspace `DIR` (default: the current directory)", flagged: true, env: "-"},
		setting{name: "json", kind: kindBool, usage: "for scripts: a JSON event a line on stdout, a JSON command a line on stdin", flagged: true, env: "-"},
		setting{name: "plain", kind: kindBool, usage: "lines of prose instead of a screen, for screen readers and terminals that can do no more", flagged: true, env: "-"},
		setting{name: "no-input", kind: kindBool, usage: "no human is present: stdin is not read", flagged: true, env: "-"},
		setting{name: "resume", kind: kindBool, usage: "take up the latest run of this directory again, whatever ended it", flagged: true, env: "-"},
		setting{name: "session", kind: kindText, usage: "the `RUN` to resume, by its id or the beginning of it; implies --resume", flagged: true, env: "-"},
		setting{name: "share-workspace", kind: kindBool, usage: "start although another run works in this directory", flagged: true, env: "-"},
	),
	group("Claude",
		setting{name: "claude", kind: kindText, usage: "`PATH` of the claude program to drive (default: claude on PATH)"},
		setting{name: "model", kind: kindText, usage: "`MODEL` of every agent, such as opus or a full id (default: Claude Code's)"},
		setting{name: "arbiter-model", kind: kindText, usage: "`MODEL` of the Arbiter (default: that of --model)"},
		setting{name: "env", kind: kindList, usage: "variable for the agents' environment, as `NAME=VALUE`"},
	),
	group("Who decides",
		setting{name: "decider", kind: kindText, value: runconfig.DeciderSession, usage: choice(deciders...) + "who decides which agent works next, and what follows: the Arbiter in its own conversation (session), a model that knows only the input (stateless), rules for what is clear and stateless for the rest (hybrid), or rules alone"},
		setting{name: "decider-model", kind: kindText, usage: "`MODEL` of a stateless or hybrid decider (default: the Arbiter's)"},
		setting{name: "decider-effort", kind: kindText, usage: choice(efforts...) + "the effort of that model (default: Claude Code's)"},
		setting{name: "decider-timeout", kind: kindDuration, value: runconfig.DefaultDeciderTimeout, usage: "how long one answer of it may take"},
		setting{name: "decision-cache", kind: kindBool, usage: "a decider is not asked again what it was asked before, in this run or another"},
	),
	group("Permissions",
		setting{name: "permissions", kind: kindText, value: "ask", usage: choice("ask", "rules", "accept-edits", "allow-all") + "what no rule speaks of: ask asks you; rules denies it; accept-edits asks, but lets edits of the workspace pass; allow-all allows it, and needs --i-accept-the-risk"},
		setting{name: "i-accept-the-risk", kind: kindBool, usage: "required by --permissions allow-all", flagged: true, env: "-"},
		setting{name: "allow", kind: kindList, usage: "permission `RULE` of what is allowed, such as 'Bash(git *)' or Edit"},
		setting{name: "ask", kind: kindList, usage: "permission `RULE` of what is always asked for, also where Claude's settings or --allow would let it pass"},
		setting{name: "deny", kind: kindList, usage: "permission `RULE` of what is always denied"},
		setting{name: "permission-wait", kind: kindDuration, value: runconfig.DefaultPermissionWait, usage: "an unanswered permission request is denied after this time"},
	),
	group("Sandbox and trust",
		setting{name: "sandbox", kind: kindText, value: sandboxOff, usage: choice(sandboxOff, sandboxAuto, sandboxOn) + "agents run inside bubblewrap (Linux), with a writable workspace, the rest read-only, and no access to credentials. on: a run whose sandbox does not hold is refused; auto: it goes on, and says unsandboxed"},
		setting{name: "sandbox-write", kind: kindList, usage: "`PATH` that agents in a sandbox may write to beside the workspace, such as ~/.cache/go-build"},
		setting{name: "sandbox-hide", kind: kindList, usage: "`PATH` that agents in a sandbox do not see"},
		setting{name: "pid-namespace", kind: kindText, value: string(proctree.ModeAuto), usage: choice(string(proctree.ModeAuto), string(proctree.ModeAlways), string(proctree.ModeNever)) + "agents live in a PID namespace of their own (Linux), so that none outlives arbiter. auto: where that needs no user namespace; always: also there (sudo does not work in it)"},
		setting{name: "trust", kind: kindBool, usage: "load this workspace's own settings, hooks, agents, CLAUDE.md and .arbiter (configuration, agents, prompts)", flagged: true, env: "-"},
	),
	group("Limits",
		setting{name: "max-cost", kind: kindNumber, value: 0.0, usage: "`DOLLARS` (US) for the whole run, which all agents share (0: no limit)"},
		setting{name: "timeout", kind: kindDuration, value: time.Duration(0), usage: "how long the whole run may take, such as 90m (0: no limit)"},
		setting{name: "max-orchestrators", kind: kindInt, value: runconfig.DefaultMaxOrchestrators, usage: "Orchestrators alive at once"},
		setting{name: "max-iterations", kind: kindInt, value: runconfig.DefaultMaxIterations, usage: "Orchestrators summoned in all"},
		setting{name: "max-failures", kind: kindInt, value: runconfig.DefaultMaxFailures, usage: "failed executions in a row"},
		setting{name: "max-total-failures", kind: kindInt, value: 0, usage: "failed executions of one task in all (0: no limit, but four times --max-failures where only rules decide)"},
		setting{name: "max-exchanges", kind: kindInt, value: runconfig.DefaultMaxExchanges, usage: "messages between agents without a human"},
	),
	group("Context windows and hand-offs",
		setting{name: "context-warn", kind: kindNumber, value: runconfig.DefaultContextWarn, usage: "`PERCENT` of the effective context window at which an agent is warned"},
		setting{name: "context-critical", kind: kindNumber, value: runconfig.DefaultContextCritical, usage: "`PERCENT` at which it is told to hand off to a successor"},
		setting{name: "context-tokens", kind: kindInt, value: runconfig.DefaultContextTokens, usage: "`TOKENS` that the effective window has at most (0: what the model has)"},
		setting{name: "context-tokens-for", kind: kindList, usage: "the same for one model, as `MODEL=TOKENS`; the beginning of its name is enough"},
		setting{name: "check-timeout", kind: kindDuration, value: runconfig.DefaultCheckTimeout, usage: "how long one check of a hand-off document may take, which arbiter runs itself (0: none is run)"},
	),
	group("Watching over agents",
		setting{name: "start-timeout", kind: kindDuration, value: bridge.DefaultStartTimeout, usage: "how long an agent may take to be ready after its process was started"},
		setting{name: "max-wait", kind: kindDuration, value: runconfig.DefaultMaxWait, usage: "how long a usage limit or an overload is waited for (0: not at all)"},
		setting{name: "watch-every", kind: kindDuration, value: runconfig.DefaultWatchEvery, usage: "how often each agent is looked at for signs of life, memory and output files"},
		setting{name: "max-memory", kind: kindInt, value: 0, usage: "`MIB` of memory that one agent's processes may have; beyond it the agent is started again (0: three quarters of the machine's)"},
		setting{name: "max-output", kind: kindInt, value: runconfig.DefaultMaxOutput >> 20, usage: "`MIB` that the output files of one agent's tasks may have; beyond it the agent is started again (0: no limit)"},
	),
	group("The screen",
		setting{name: "theme", kind: kindText, value: render.Auto, usage: choice(render.ThemeNames()...) + "its colours"},
		setting{name: "ascii", kind: kindBool, usage: "draw with nothing beyond ASCII (by itself where the locale is no UTF-8)"},
		setting{name: "reduced-motion", kind: kindBool, usage: "nothing moves but what carries news"},
		setting{name: "no-mouse", kind: kindBool, usage: "leave the mouse to the terminal"},
		setting{name: "notify", kind: kindText, value: "bell,desktop", usage: "`WAYS` in which you are called when a word of yours is awaited, with commas between: bell, desktop (a notification by OSC 777, 99 or 9), finished (also when a run ends); or off"},
	),
	group("Rehearsals",
		setting{name: "rehearse", kind: kindBool, usage: "play a scripted model in a scratch workspace: no login, no network, no cost", flagged: true, env: "-"},
		setting{name: "scenario", kind: kindText, usage: "the `SCENARIO` to rehearse: a name (arbiter scenarios lists them) or a file; implies --rehearse", flagged: true, env: "-"},
		setting{name: "stand-in", kind: kindBool, usage: "rehearse with the built-in stand-in even where claude is installed; implies --rehearse", flagged: true, env: "-"},
	),
	group("Files and help",
		setting{name: "state-dir", kind: kindText, usage: "`DIR` where runs are kept (default: $XDG_STATE_HOME/arbiter, or ~/.local/state/arbiter)"},
		setting{name: "config", kind: kindText, usage: "a configuration `FILE` instead of your own", flagged: true},
		setting{name: "debug", kind: kindBool, usage: "log more: every event"},
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
		return &cli.Float64Flag{Name: s.name, Usage: s.usage, Category: s.group, EnvVars: envName(s), Value: s.value.(float64)}
	case kindDuration:
		return &cli.DurationFlag{Name: s.name, Usage: s.usage, Category: s.group, EnvVars: envName(s), Value: s.value.(time.Duration)}
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
