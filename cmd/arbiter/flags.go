package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/leash"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui/cell"
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

// setting is one knob: a flag, an environment variable and a key of the
// configuration file, all from this one table.
type setting struct {
	name    string
	kind    kind
	usage   string
	value   any    // default
	env     string // besides ARBITER_<NAME>; "-" for none
	flagged bool   // on the command line only, never from a file
}

var settings = []setting{
	{name: "json", kind: kindBool, usage: "NDJSON events on stdout, NDJSON commands on stdin", flagged: true, env: "-"},
	{name: "task", kind: kindText, usage: "the task, as `TEXT`", flagged: true, env: "-"},
	{name: "resume", kind: kindBool, usage: "take up the latest run of this directory again, whatever ended it", flagged: true, env: "-"},
	{name: "session", kind: kindText, usage: "the `RUN` to resume, by its id or the beginning of it; implies --resume", flagged: true, env: "-"},
	{name: "accept-prefix", kind: kindBool, usage: "with --resume: go on from what is before the first record of the journal that somebody else changed", flagged: true, env: "-"},
	{name: "cwd", kind: kindText, usage: "the workspace `DIR` (default: the current directory)", flagged: true, env: "-"},
	{name: "claude", kind: kindText, usage: "`PATH` of the claude program to drive (default: claude on PATH)"},
	{name: "model", kind: kindText, usage: "model of every agent"},
	{name: "arbiter-model", kind: kindText, usage: "model of the Arbiter"},
	{name: "decider", kind: kindText, value: supervisor.DeciderSession, usage: "who decides which agent works next and what follows: session (the Arbiter, in its conversation), stateless (a model that knows only the input), hybrid (rules for what is clear, stateless for the rest), rules"},
	{name: "decider-model", kind: kindText, usage: "model of a stateless or hybrid decider (default: the Arbiter's)"},
	{name: "decider-effort", kind: kindText, usage: "and its effort: " + strings.Join(efforts, ", ") + " (default: the CLI's)"},
	{name: "decider-timeout", kind: kindDuration, value: supervisor.DefaultDeciderTimeout, usage: "for one answer of it"},
	{name: "decision-cache", kind: kindBool, usage: "a decider is not asked again what it was asked before, in this run or another"},
	{name: "permissions", kind: kindText, value: "ask", usage: "ask: rules, then you; rules: deny the rest; accept-edits: edits in the workspace are allowed; allow-all (needs --i-accept-the-risk)"},
	{name: "i-accept-the-risk", kind: kindBool, usage: "required by --permissions allow-all", flagged: true, env: "-"},
	{name: "allow", kind: kindList, usage: "permission `RULE` such as 'Bash(git *)' or Edit (repeatable)"},
	{name: "ask", kind: kindList, usage: "permission `RULE` of what is always asked for, also where Claude's settings or --allow would let it pass (repeatable)"},
	{name: "deny", kind: kindList, usage: "permission `RULE` that always denies (repeatable)"},
	{name: "sandbox", kind: kindText, value: sandboxOff, usage: "on: agents run inside bubblewrap, with a writable workspace, the rest read-only, and no access to credentials; a run whose sandbox does not hold is refused; auto: it goes on, and says unsandboxed; off"},
	{name: "sandbox-write", kind: kindList, usage: "`PATH` that agents in a sandbox may write to beside the workspace, such as ~/.cache/go-build (repeatable)"},
	{name: "sandbox-hide", kind: kindList, usage: "`PATH` that agents in a sandbox do not see (repeatable)"},
	{name: "env", kind: kindList, usage: "variable for the agents' environment, as `NAME=VALUE` (repeatable)"},
	{name: "trust", kind: kindBool, usage: "load this workspace's own settings, hooks, agents, CLAUDE.md and .arbiter (configuration, agents, prompts)", flagged: true, env: "-"},
	{name: "max-orchestrators", kind: kindInt, value: supervisor.DefaultMaxOrchestrators, usage: "Orchestrators alive at once"},
	{name: "max-iterations", kind: kindInt, value: supervisor.DefaultMaxIterations, usage: "Orchestrators summoned in all"},
	{name: "max-failures", kind: kindInt, value: supervisor.DefaultMaxFailures, usage: "failed executions in a row"},
	{name: "max-total-failures", kind: kindInt, value: 0, usage: "failed executions of one task in all (0: no limit, but four times --max-failures where only rules decide)"},
	{name: "max-exchanges", kind: kindInt, value: supervisor.DefaultMaxExchanges, usage: "messages between agents without a human"},
	{name: "max-cost", kind: kindNumber, value: 0.0, usage: "US dollars for the whole run (0: no limit)"},
	{name: "timeout", kind: kindDuration, value: time.Duration(0), usage: "for the whole run, such as 90m (0: no limit)"},
	{name: "context-warn", kind: kindNumber, value: supervisor.DefaultContextWarn, usage: "percent of the effective window at which context_warning says warn"},
	{name: "context-critical", kind: kindNumber, value: supervisor.DefaultContextCritical, usage: "and critical"},
	{name: "context-tokens", kind: kindInt, value: supervisor.DefaultContextTokens, usage: "cap of the effective context window (0: none)"},
	{name: "context-tokens-for", kind: kindList, usage: "the same for one model, as `MODEL=N`; the beginning of its name is enough (repeatable)"},
	{name: "check-timeout", kind: kindDuration, value: supervisor.DefaultCheckTimeout, usage: "for one check of a hand-off document, which arbiter runs itself (0: run none)"},
	{name: "permission-wait", kind: kindDuration, value: supervisor.DefaultPermissionWait, usage: "an unanswered permission request is denied after this time"},
	{name: "start-timeout", kind: kindDuration, value: bridge.DefaultStartTimeout, usage: "for an agent to be ready after its process was started"},
	{name: "max-wait", kind: kindDuration, value: supervisor.DefaultMaxWait, usage: "for a usage limit or an overload to pass (0: do not wait)"},
	{name: "watch-every", kind: kindDuration, value: supervisor.DefaultWatchEvery, usage: "how often each agent is looked at for signs of life, memory and output files"},
	{name: "max-memory", kind: kindInt, value: 0, usage: "MiB of one agent's processes; beyond it the agent is started again (0: three quarters of the machine's)"},
	{name: "max-output", kind: kindInt, value: supervisor.DefaultMaxOutput >> 20, usage: "MiB of one agent's task output files; the same (0: no limit)"},
	{name: "pid-namespace", kind: kindText, value: string(leash.ModeAuto), usage: "auto: agents live in a PID namespace where one is free to have; always: in a user namespace, too (sudo does not work there); never"},
	{name: "share-workspace", kind: kindBool, usage: "start although another run works in this directory", flagged: true, env: "-"},
	{name: "plain", kind: kindBool, usage: "lines of prose instead of a screen, for screen readers and terminals that can do no more", flagged: true, env: "-"},
	{name: "theme", kind: kindText, value: cell.Auto, usage: "colours of the screen: " + strings.Join(cell.ThemeNames(), ", ")},
	{name: "ascii", kind: kindBool, usage: "draw with nothing beyond ASCII (by itself where the locale is no UTF-8)"},
	{name: "reduced-motion", kind: kindBool, usage: "nothing moves on the screen but what carries news"},
	{name: "no-mouse", kind: kindBool, usage: "leave the mouse to the terminal"},
	{name: "notify", kind: kindText, value: "bell,desktop", usage: "how you are called when a word of yours is awaited: bell, desktop (OSC 777, 99 or 9), finished (also when a run ends), off"},
	{name: "no-input", kind: kindBool, usage: "no human is present: stdin is not read", flagged: true, env: "-"},
	{name: "rehearse", kind: kindBool, usage: "play a scripted model in a scratch workspace: no login, no network, no cost", flagged: true, env: "-"},
	{name: "scenario", kind: kindText, usage: "what to rehearse: a name (see arbiter scenarios), or a file; implies --rehearse", flagged: true, env: "-"},
	{name: "stand-in", kind: kindBool, usage: "rehearse with the stand-in agent even where claude is installed", flagged: true, env: "-"},
	{name: "state-dir", kind: kindText, usage: "`DIR` where runs are kept (default: $XDG_STATE_HOME/arbiter)"},
	{name: "config", kind: kindText, usage: "a configuration `FILE` instead of the user's", flagged: true},
	{name: "debug", kind: kindBool, usage: "log every event"},
}

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
		return &cli.BoolFlag{Name: s.name, Usage: s.usage, EnvVars: envName(s)}
	case kindInt:
		return &cli.IntFlag{Name: s.name, Usage: s.usage, EnvVars: envName(s), Value: s.value.(int)}
	case kindNumber:
		return &cli.Float64Flag{Name: s.name, Usage: s.usage, EnvVars: envName(s), Value: s.value.(float64)}
	case kindDuration:
		return &cli.DurationFlag{Name: s.name, Usage: s.usage, EnvVars: envName(s), Value: s.value.(time.Duration)}
	case kindList:
		// A rule may contain a comma: the app's separator is off, the flag is repeated.
		return &cli.StringSliceFlag{Name: s.name, Usage: s.usage}
	case kindText:
		f := &cli.StringFlag{Name: s.name, Usage: s.usage, EnvVars: envName(s)}
		if s.value != nil {
			f.Value = s.value.(string)
		}
		return f
	}
	panic(fmt.Sprintf("flag %s has no kind", s.name))
}

func claudeFlag() cli.Flag {
	return &cli.StringFlag{Name: "claude", Usage: "the claude program", EnvVars: []string{"ARBITER_CLAUDE"}}
}
