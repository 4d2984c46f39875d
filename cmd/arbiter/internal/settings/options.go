package settings

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// optionOf returns where the value of a setting is stored in a run's options. A new run takes it from there, and a
// resumed run replaces it if the setting is given again.
var optionOf = map[string]func(*runconfig.Options) any{
	"max-subagents":          func(o *runconfig.Options) any { return &o.MaxSubagents },
	"max-subagents-total":    func(o *runconfig.Options) any { return &o.MaxSubagentsTotal },
	"max-subagents-per-hour": func(o *runconfig.Options) any { return &o.MaxSubagentsPerHour },

	"model":               func(o *runconfig.Options) any { return &o.Model },
	"arbiter-model":       func(o *runconfig.Options) any { return &o.ArbiterModel },
	"permissions":         func(o *runconfig.Options) any { return &o.Permissions },
	"allow":               func(o *runconfig.Options) any { return &o.Allow },
	"deny":                func(o *runconfig.Options) any { return &o.Deny },
	"ask":                 func(o *runconfig.Options) any { return &o.Ask },
	"env":                 func(o *runconfig.Options) any { return &o.Env },
	"arbiter-env":         func(o *runconfig.Options) any { return &o.ArbiterEnv },
	"decider":             func(o *runconfig.Options) any { return &o.Decider },
	"decider-model":       func(o *runconfig.Options) any { return &o.DeciderModel },
	"decider-effort":      func(o *runconfig.Options) any { return &o.DeciderEffort },
	"decider-timeout":     func(o *runconfig.Options) any { return &o.DeciderTimeout },
	"decision-cache":      func(o *runconfig.Options) any { return &o.DecisionCache },
	"decider-provider":    func(o *runconfig.Options) any { return &o.Provider.Name },
	"decider-base-url":    func(o *runconfig.Options) any { return &o.Provider.BaseURL },
	"decider-key-env":     func(o *runconfig.Options) any { return &o.Provider.KeyEnv },
	"decider-max-tokens":  func(o *runconfig.Options) any { return &o.Provider.MaxTokens },
	"decider-temperature": func(o *runconfig.Options) any { return &o.Provider.Temperature },
	"max-orchestrators":   func(o *runconfig.Options) any { return &o.MaxOrchestrators },
	"max-iterations":      func(o *runconfig.Options) any { return &o.MaxIterations },
	"max-failures":        func(o *runconfig.Options) any { return &o.MaxFailures },
	"max-total-failures":  func(o *runconfig.Options) any { return &o.MaxTotalFailures },
	"max-exchanges":       func(o *runconfig.Options) any { return &o.MaxExchanges },
	"max-cost":            func(o *runconfig.Options) any { return &o.MaxCostUSD },
	"max-cost-per-day":    func(o *runconfig.Options) any { return &o.MaxCostPerDay },
	"fuse":                func(o *runconfig.Options) any { return &o.FuseUSD },
	"max-cost-per-agent":  func(o *runconfig.Options) any { return &o.MaxCostPerAgent },
	"quota-reserve":       func(o *runconfig.Options) any { return &o.QuotaReserve },
	"timeout":             func(o *runconfig.Options) any { return &o.Timeout },
	"max-wait":            func(o *runconfig.Options) any { return &o.MaxWait },
	"watch-every":         func(o *runconfig.Options) any { return &o.WatchEvery },
	"quiet-after":         func(o *runconfig.Options) any { return &o.QuietAfter },
	"max-memory":          func(o *runconfig.Options) any { return &o.MaxMemory },
	"max-output":          func(o *runconfig.Options) any { return &o.MaxOutput },
	"context-warn":        func(o *runconfig.Options) any { return &o.ContextWarn },
	"context-critical":    func(o *runconfig.Options) any { return &o.ContextCritical },
	"context-stop":        func(o *runconfig.Options) any { return &o.ContextStop },
	"context-tokens":      func(o *runconfig.Options) any { return &o.ContextTokens },
	"context-tokens-for":  func(o *runconfig.Options) any { return &o.ContextTokensFor },
	"memory":              func(o *runconfig.Options) any { return &o.Memory },
	"isolation":           func(o *runconfig.Options) any { return &o.Workspace.Isolation },
	"lease":               func(o *runconfig.Options) any { return &o.Lease },
	"accept":              func(o *runconfig.Options) any { return &o.Accept },
	"check-timeout":       func(o *runconfig.Options) any { return &o.CheckTimeout },
	"permission-wait":     func(o *runconfig.Options) any { return &o.PermissionWait },
	"start-timeout":       func(o *runconfig.Options) any { return &o.StartTimeout },
}

// readRun reads and checks the options of a run.
func (s *Choices) readRun(c *cli.Context) (err error) {
	readOptions(c, &s.Options)
	if strings.ContainsRune(s.Claude, os.PathSeparator) {
		// The bridge runs in the workspace, but a relative path is meant from the current directory.
		if s.Claude, err = filepath.Abs(s.Claude); err != nil {
			return command.Usagef("--claude: %v", err)
		}
	}
	if s.Options.Env, err = readEnv("env", c.StringSlice("env"), s.Options.Rehearsal); err != nil {
		return err
	}
	if s.Options.ArbiterEnv, err = readArbiterEnv(c, s.Options.Rehearsal); err != nil {
		return err
	}
	if s.Options.CheckTimeout == 0 {
		s.Options.CheckTimeout = -1 // there, zero means the default
	}
	if s.Options.Rehearsal { // its workspace is not a Git repository
		s.Options.Workspace.Isolation = runconfig.IsolationShared
	}
	if err := checkAcceptance(s.Options.Accept); err != nil {
		return err
	}
	if err := s.readProvider(c); err != nil {
		return err
	}
	if s.Options.ContextTokensFor, err = readCaps(c.StringSlice("context-tokens-for")); err != nil {
		return err
	}
	if err := checkLimits(s.Options); err != nil {
		return err
	}
	if runconfig.Mode(s.Options.Permissions) == runconfig.ModeAllowAll && !c.Bool("i-accept-the-risk") {
		return command.Usagef("--permissions allow-all lets every agent run anything without asking: add " +
			"--i-accept-the-risk to confirm")
	}
	if s.Policy, err = CheckRules(s.Options); err != nil {
		return err
	}
	if s.Options.MaxMemory == 0 {
		s.Options.MaxMemory = machineMemory() / 4 * 3
	}
	if s.Options.MaxWait == 0 {
		s.Options.MaxWait = -1 // there, zero means the default
	}
	return nil
}

// readOptions copies the settings as given. Settings that are pairs are parsed elsewhere.
func readOptions(c *cli.Context, o *runconfig.Options) {
	for name, at := range optionOf {
		switch to := at(o).(type) {
		case *string:
			*to = c.String(name)
		case *[]string:
			*to = c.StringSlice(name)
		case *bool:
			*to = c.Bool(name)
		case *int:
			*to = c.Int(name)
		case *int64:
			*to = mebibytes(c.Int(name))
		case *float64:
			*to = c.Float64(name)
		case **float64:
			if c.IsSet(name) { // zero is a value
				*to = new(c.Float64(name))
			}
		case *time.Duration:
			*to = c.Duration(name)
		}
	}
}

// mebibytes converts a number of MiB to bytes.
func mebibytes(n int) int64 { return min(int64(n), math.MaxInt64>>20) << 20 }

// takeOver copies the options that were given again.
func takeOver(to, from *runconfig.Options, given map[string]bool) {
	for name, at := range optionOf {
		if given[name] {
			reflect.ValueOf(at(to)).Elem().Set(reflect.ValueOf(at(from)).Elem())
		}
	}
}

// Over returns the options of an earlier run, except those that were given again.
func (c Choices) Over(old runconfig.Options) runconfig.Options {
	o, now := old, c.Options
	o.Version, o.Task, o.HumanPresent, o.Partial = now.Version, now.Task, !c.NoInput, now.Partial
	takeOver(&o, &now, c.Given)
	if c.Given["hosts"] {
		o.Hosts, o.HereToo, o.Pools = now.Hosts, now.HereToo, now.Pools
	}
	o.Makes, o.DefaultMake = now.Makes, now.DefaultMake
	if c.Given["claude"] {
		o.Claude = c.Claude
	}
	return o
}

// readEnv parses NAME=VALUE pairs. A rehearsal accepts only the stand-in's own variables, so that no key can reach
// the scripted model.
func readEnv(flag string, pairs []string, rehearse bool) (map[string]string, error) {
	env := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || strings.ContainsRune(pair, 0) {
			return nil, command.Usagef("--%s %q: use NAME=VALUE", flag, pair)
		}
		if !rehearse || ForRehearsal(name) {
			env[name] = value
		}
	}
	return env, nil
}

// readArbiterEnv reads the variables that only the Arbiter and the decider get, in addition to the agents'
// environment; nil: none.
func readArbiterEnv(c *cli.Context, rehearse bool) (map[string]string, error) {
	pairs := c.StringSlice("arbiter-env")
	if len(pairs) == 0 {
		return nil, nil
	}
	env, err := readEnv("arbiter-env", pairs, rehearse)
	for _, name := range []string{"HOME", "CLAUDE_CONFIG_DIR"} {
		if _, ok := env[name]; ok && err == nil {
			return nil, command.Usagef("--arbiter-env %s: the sessions of all agents are kept in one place: use --env, which "+
				"is for all of them", name)
		}
	}
	return env, err
}

// ForRehearsal reports whether a variable may be passed to a scripted model's agents.
func ForRehearsal(name string) bool {
	return strings.HasPrefix(name, "ARBITER_STANDIN_") || name == CompactWindow
}

// CompactWindow makes the CLI compact earlier. It is the only variable of the CLI that a rehearsal uses.
const CompactWindow = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"

func readCaps(pairs []string) (map[string]int, error) {
	var caps map[string]int
	for _, pair := range pairs {
		model, number, ok := strings.Cut(pair, "=")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if model = strings.TrimSpace(model); !ok || model == "" || err != nil || n < 0 {
			return nil, command.Usagef("--context-tokens-for %q: use MODEL=N, such as claude-haiku-4-5=120000", pair)
		}
		if caps == nil {
			caps = map[string]int{}
		}
		caps[model] = n
	}
	return caps, nil
}

// checkLimits returns the first number that is out of its range.
func checkLimits(o runconfig.Options) error {
	const positive, notNegative = "must be at least 1", "must not be negative"
	for _, x := range []struct {
		wrong bool
		flag  string
		value any
		must  string
	}{
		{o.MaxOrchestrators < 1, "max-orchestrators", o.MaxOrchestrators, positive},
		{o.MaxIterations < 1, "max-iterations", o.MaxIterations, positive},
		{o.MaxSubagents < 1, "max-subagents", o.MaxSubagents, positive},
		{o.MaxSubagentsTotal < 1, "max-subagents-total", o.MaxSubagentsTotal, positive},
		{o.MaxSubagentsPerHour < 1, "max-subagents-per-hour", o.MaxSubagentsPerHour, positive},
		{o.MaxFailures < 1, "max-failures", o.MaxFailures, positive},
		{o.MaxTotalFailures < 0, "max-total-failures", o.MaxTotalFailures, notNegative},
		{o.MaxExchanges < 2, "max-exchanges", o.MaxExchanges, "must be at least 2"},
		{o.ContextTokens < 0, "context-tokens", o.ContextTokens, notNegative},
		{o.ContextWarn <= 0 || o.ContextWarn > o.ContextCritical || o.ContextCritical > 100, "context-warn",
			fmt.Sprintf("%g, --context-critical %g", o.ContextWarn, o.ContextCritical),
			"use percentages with 0 < warn ≤ critical ≤ 100"},
		{o.ContextStop != 0 && o.ContextStop < o.ContextCritical, "context-stop", o.ContextStop,
			fmt.Sprintf("must be 0 or at least --context-critical (%g)", o.ContextCritical)},
		{o.MaxCostUSD < 0, "max-cost", o.MaxCostUSD, notNegative},
		{o.MaxCostPerAgent < 0, "max-cost-per-agent", o.MaxCostPerAgent, notNegative},
		{o.FuseUSD < 0, "fuse", o.FuseUSD, notNegative},
		{o.MaxCostPerDay < 0, "max-cost-per-day", o.MaxCostPerDay, notNegative},
		{o.QuotaReserve < 0 || o.QuotaReserve >= 100, "quota-reserve", o.QuotaReserve,
			"use a percentage from 0 to less than 100"},
		{o.MaxWait < 0, "max-wait", o.MaxWait, notNegative},
		{o.MaxMemory < 0, "max-memory", o.MaxMemory >> 20, notNegative},
		{o.MaxOutput < 0, "max-output", o.MaxOutput >> 20, notNegative},
		{o.WatchEvery < 100*time.Millisecond, "watch-every", o.WatchEvery, "must be at least 100ms"},
		{o.QuietAfter != 0 && o.QuietAfter < time.Second, "quiet-after", o.QuietAfter,
			"must be at least 1s, or 0 to report nothing"},
		{o.Timeout < 0, "timeout", o.Timeout, notNegative},
		{o.CheckTimeout != -1 && (o.CheckTimeout < time.Second || o.CheckTimeout > time.Hour), "check-timeout",
			o.CheckTimeout, "must be between 1s and 1h, or 0 to run no checks"},
		{o.PermissionWait < 0, "permission-wait", o.PermissionWait, notNegative},
		{o.Lease < hosts.MinLease || o.Lease > hosts.MaxLease, "lease", o.Lease,
			fmt.Sprintf("must be between %s and %s", hosts.MinLease, hosts.MaxLease)},
		{o.StartTimeout < time.Second || o.StartTimeout > 90*time.Second, "start-timeout", o.StartTimeout,
			"must be between 1s and 90s"},
		{o.DeciderTimeout < time.Second || o.DeciderTimeout > time.Hour, "decider-timeout", o.DeciderTimeout,
			"must be between 1s and 1h"},
	} {
		if x.wrong {
			return command.Usagef("--%s %v: %s", x.flag, x.value, x.must)
		}
	}
	return nil
}

// checkAcceptance parses the commands of --accept in the same way as the run.
func checkAcceptance(commands []string) error {
	var criteria supervisor.AcceptanceState
	for _, line := range commands {
		if strings.TrimSpace(line) == "" {
			return command.Usagef("--accept is empty: give a command")
		}
		err := criteria.HumanAdds(supervisor.Criterion{Command: line})
		if err != nil {
			return command.Usagef("--accept %.100q: %v", line, err)
		}
	}
	return nil
}

// Values of --memory.
const (
	memoryOn  = "on"
	MemoryOff = "off"
)
