package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/leash"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// maxTask bounds a task or requirements file, in bytes. The CLI takes more, but
// a task of this size leaves no room to work.
const maxTask = 1 << 20

// choices is what the command line, the environment and the configuration
// files come to.
type choices struct {
	Options  supervisor.Options
	Policy   policy.Policy
	Claude   string
	JSON     bool
	Plain    bool
	Face     face
	Rehearse bool
	Scenario string
	StandIn  bool
	NoInput  bool
	Resume   bool
	Session  string // id of the run to resume, or its beginning; empty: the latest
	// AcceptPrefix goes on with what is good of a journal that was tampered with.
	AcceptPrefix bool
	Share        bool   // another run may work in the same directory
	Place        string // the directory the run belongs to
	PIDNS        leash.Mode
	Trusting     trusting        // of that place; a rehearsal's workspace is trusted always
	given        map[string]bool // settings named on the command line or in the environment
	StateDir     string
	Sandbox      confinement
	Notice       string // what is wrong with agent files
	Debug        bool
}

// readSettings checks everything that can be checked before a run starts.
func readSettings(c *cli.Context) (choices, error) {
	s, err := readChoices(c)
	if err != nil {
		return s, err
	}
	if !s.Resume { // else the run says where they are
		if err := refuseRoot(s.Options, s.Rehearse); err != nil {
			return s, err
		}
		if err := s.readMinds(); err != nil {
			return s, err
		}
	}
	s.Options.Task, err = readTask(c)
	if err == nil && s.Options.Task == "" && s.NoInput && !s.Resume {
		err = usagef("no task: --no-input needs --task or a requirements file")
	}
	return s, err
}

// readChoices is what all that starts a bridge is told alike.
func readChoices(c *cli.Context) (choices, error) {
	var s choices
	cwd, err := workspace(c)
	if err != nil {
		return s, err
	}
	given := map[string]bool{}
	for _, x := range settings {
		given[x.name] = c.IsSet(x.name)
	}
	t, err := trustOf(c, cwd)
	if err != nil {
		return s, err
	}
	if err := applyConfig(c, cwd, t.Trusted); err != nil {
		return s, err
	}
	if err := t.unchanged(cwd); err != nil {
		return s, err
	}
	s = choices{
		Claude: c.String("claude"), JSON: c.Bool("json"), Plain: c.Bool("plain"),
		Rehearse: c.Bool("rehearse") || c.String("scenario") != "" || c.Bool("stand-in"),
		Scenario: c.String("scenario"), StandIn: c.Bool("stand-in"),
		NoInput: c.Bool("no-input"), Debug: c.Bool("debug"),
		Resume: c.Bool("resume") || c.String("session") != "", Session: c.String("session"), AcceptPrefix: c.Bool("accept-prefix"),
		Share: c.Bool("share-workspace"), Place: cwd, given: given,
	}
	if s.AcceptPrefix && !s.Resume {
		return s, usagef("--accept-prefix goes with --resume or --session")
	}
	if c.IsSet("session") && strings.TrimSpace(s.Session) == "" {
		return s, usagef("--session is empty: name a run (arbiter sessions lists them), or use --resume for the latest one")
	}
	if s.Face, err = readFace(c); err != nil {
		return s, err
	}
	if s.JSON && s.Plain {
		return s, usagef("--json and --plain are two faces: choose one")
	}
	if s.Resume && s.Rehearse {
		return s, usagef("--resume takes a rehearsal up as one by itself: leave --rehearse, --scenario and --stand-in out")
	}
	switch s.PIDNS = leash.Mode(c.String("pid-namespace")); s.PIDNS {
	case leash.ModeAuto, leash.ModeAlways, leash.ModeNever:
	default:
		return s, usagef("--pid-namespace %q: use auto, always or never", s.PIDNS)
	}
	if s.Rehearse && c.IsSet("cwd") {
		return s, usagef("--cwd does not go with --rehearse: a rehearsal has a scratch workspace of its own")
	}
	if s.StateDir, err = stateDir(c.String("state-dir")); err != nil {
		return s, err
	}
	if s.Sandbox, err = readSandbox(c); err != nil {
		return s, err
	}
	s.Options = supervisor.Options{
		CWD: cwd, Version: version(),
		Model: c.String("model"), ArbiterModel: c.String("arbiter-model"),
		Permissions: c.String("permissions"), Allow: c.StringSlice("allow"), Deny: c.StringSlice("deny"), Ask: c.StringSlice("ask"),
		MaxOrchestrators: c.Int("max-orchestrators"), MaxIterations: c.Int("max-iterations"),
		MaxFailures: c.Int("max-failures"), MaxExchanges: c.Int("max-exchanges"),
		MaxCostUSD: c.Float64("max-cost"), Timeout: c.Duration("timeout"),
		ContextWarn: c.Float64("context-warn"), ContextCritical: c.Float64("context-critical"),
		ContextTokens: c.Int("context-tokens"), PermissionWait: c.Duration("permission-wait"),
		StartTimeout: c.Duration("start-timeout"), MaxWait: c.Duration("max-wait"), CheckTimeout: c.Duration("check-timeout"),
		WatchEvery: c.Duration("watch-every"),
		MaxMemory:  int64(c.Int("max-memory")) << 20, MaxOutput: int64(c.Int("max-output")) << 20,
		Rehearsal: s.Rehearse,
	}
	s.adopt(t)
	if strings.ContainsRune(s.Claude, os.PathSeparator) {
		// The bridge runs in the workspace; a relative path is meant from here.
		if s.Claude, err = filepath.Abs(s.Claude); err != nil {
			return s, usagef("--claude: %v", err)
		}
	}
	if s.Options.Env, err = readEnv(c.StringSlice("env"), s.Rehearse); err != nil {
		return s, err
	}
	if s.Options.CheckTimeout == 0 {
		s.Options.CheckTimeout = -1 // zero means the default there
	}
	if err := readDecider(c, &s.Options); err != nil {
		return s, err
	}
	if s.Options.ContextTokensFor, err = readCaps(c.StringSlice("context-tokens-for")); err != nil {
		return s, err
	}
	if err := checkLimits(s.Options); err != nil {
		return s, err
	}
	if s.Policy, err = readPolicy(c, s.Options); err != nil {
		return s, err
	}
	if s.Options.MaxMemory == 0 {
		s.Options.MaxMemory = machineMemory() / 4 * 3
	}
	if s.Options.MaxWait == 0 {
		s.Options.MaxWait = -1 // zero means the default there
	}
	return s, nil
}

func workspace(c *cli.Context) (string, error) {
	dir := c.String("cwd")
	if dir == "" && c.IsSet("cwd") {
		return "", usagef("--cwd is empty") // of a variable that is not set: not the current directory
	}
	if dir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return "", usagef("the current directory cannot be read (%v): name a workspace with --cwd", err)
		}
		dir = wd
	}
	abs, err := checkDir(dir)
	if err != nil {
		return "", usagef("--cwd %s: %v", dir, err)
	}
	return abs, nil
}

func checkDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("not a directory")
	}
	return abs, nil
}

// readEnv reads NAME=VALUE pairs. A rehearsal takes none but the stand-in's own,
// so that no key can reach the scripted model.
func readEnv(pairs []string, rehearse bool) (map[string]string, error) {
	env := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" || strings.ContainsRune(pair, 0) {
			return nil, usagef("--env %q: want NAME=VALUE", pair)
		}
		if !rehearse || forRehearsal(name) {
			env[name] = value
		}
	}
	return env, nil
}

// forRehearsal says whether a variable may reach a scripted model's agents.
func forRehearsal(name string) bool {
	return strings.HasPrefix(name, "ARBITER_STANDIN_") || name == compactWindow
}

// compactWindow makes the CLI compact earlier: the one variable of its own that means
// something in a rehearsal.
const compactWindow = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"

// readCaps reads MODEL=N pairs.
func readCaps(pairs []string) (map[string]int, error) {
	var caps map[string]int
	for _, pair := range pairs {
		model, number, ok := strings.Cut(pair, "=")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if model = strings.TrimSpace(model); !ok || model == "" || err != nil || n < 0 {
			return nil, usagef("--context-tokens-for %q: want MODEL=N, such as claude-haiku-4-5=120000", pair)
		}
		if caps == nil {
			caps = map[string]int{}
		}
		caps[model] = n
	}
	return caps, nil
}

func checkLimits(o supervisor.Options) error {
	for _, n := range []struct {
		name  string
		value int
		least int
	}{
		{"max-orchestrators", o.MaxOrchestrators, 1}, {"max-iterations", o.MaxIterations, 1},
		{"max-failures", o.MaxFailures, 1}, {"max-total-failures", o.MaxTotalFailures, 0}, {"max-exchanges", o.MaxExchanges, 2}, {"context-tokens", o.ContextTokens, 0},
	} {
		if n.value < n.least {
			return usagef("--%s %d: must be at least %d", n.name, n.value, n.least)
		}
	}
	if o.ContextWarn <= 0 || o.ContextWarn > o.ContextCritical || o.ContextCritical > 100 {
		return usagef("--context-warn %g, --context-critical %g: want 0 < warn ≤ critical ≤ 100", o.ContextWarn, o.ContextCritical)
	}
	if o.MaxCostUSD < 0 {
		return usagef("--max-cost %g: must not be negative", o.MaxCostUSD)
	}
	if o.MaxWait < 0 || o.MaxMemory < 0 || o.MaxOutput < 0 {
		return usagef("--max-wait, --max-memory and --max-output must not be negative")
	}
	if o.WatchEvery < 100*time.Millisecond {
		return usagef("--watch-every %s: must be at least 100ms", o.WatchEvery)
	}
	if o.Timeout < 0 {
		return usagef("--timeout %s: must not be negative", o.Timeout)
	}
	if o.CheckTimeout != -1 && (o.CheckTimeout < time.Second || o.CheckTimeout > time.Hour) {
		return usagef("--check-timeout %s: must be between 1s and 1h, or 0 to run no checks", o.CheckTimeout)
	}
	if o.PermissionWait <= 0 {
		return usagef("--permission-wait %s: must be more than nothing", o.PermissionWait)
	}
	if o.StartTimeout < time.Second || o.StartTimeout > 90*time.Second {
		return usagef("--start-timeout %s: must be between 1s and 90s", o.StartTimeout)
	}
	return nil
}

func readPolicy(c *cli.Context, o supervisor.Options) (policy.Policy, error) {
	switch mode := policy.Mode(o.Permissions); mode {
	case policy.ModeAsk, policy.ModeRules, policy.ModeAcceptEdits:
	case policy.ModeAllowAll:
		if !c.Bool("i-accept-the-risk") {
			return policy.Policy{}, usagef("--permissions allow-all lets every agent run anything unasked: add --i-accept-the-risk if that is meant")
		}
	default:
		return policy.Policy{}, usagef("--permissions %q: use ask, rules, accept-edits or allow-all", o.Permissions)
	}
	return rulesOf(o)
}

// rulesOf makes the permission policy that the options name.
func rulesOf(o supervisor.Options) (policy.Policy, error) {
	home, _ := os.UserHomeDir() // without one, rules with ~ match nothing
	p := policy.Policy{Mode: policy.Mode(o.Permissions), CWD: o.CWD, Home: home}
	for _, list := range []struct {
		flag  string
		rules []string
		to    *[]policy.Rule
	}{{"allow", o.Allow, &p.Allow}, {"deny", o.Deny, &p.Deny}, {"ask", o.Ask, &p.Ask}} {
		for _, text := range list.rules {
			rule, err := policy.ParseRule(text)
			if err != nil {
				return p, usagef("--%s: %v", list.flag, err)
			}
			*list.to = append(*list.to, rule)
		}
	}
	return p, nil
}

// strangers names the rules whose tool nobody knows: a slip of the pen in --deny denies
// nothing. A later Claude Code may have such a tool, so they are no errors.
func strangers(p policy.Policy) string {
	var told []string
	for _, list := range []struct {
		flag  string
		rules []policy.Rule
	}{{"allow", p.Allow}, {"deny", p.Deny}, {"ask", p.Ask}} {
		for _, r := range list.rules {
			if !r.Known() {
				told = append(told, fmt.Sprintf("--%s %s", list.flag, r))
			}
		}
	}
	if len(told) == 0 {
		return ""
	}
	return "no tool of that name is known, so it may hold for nothing: " + strings.Join(told, ", ")
}

// readTask joins --task and the requirements file.
func readTask(c *cli.Context) (string, error) {
	task := strings.TrimSpace(c.String("task"))
	if c.IsSet("task") && task == "" {
		return "", usagef("--task is empty")
	}
	from := "--task"
	if c.NArg() > 1 {
		return "", usagef("one requirements file at most, have %d: %s (flags go before it)", c.NArg(), strings.Join(c.Args().Slice(), " "))
	}
	if c.NArg() == 1 {
		path := c.Args().First()
		if strings.HasPrefix(path, "-") && path != "-" {
			return "", usagef("flags go before the requirements file: %s", path)
		}
		text, err := readRequirements(path)
		if err != nil {
			return "", err
		}
		if task != "" {
			task += "\n\n"
		}
		task += "Requirements (" + filepath.Base(path) + "):\n\n" + text
		from = path
	}
	switch {
	case len(task) > maxTask:
		return "", usagef("the task has %d bytes, at most %d: put it into files of the workspace and name them", len(task), maxTask)
	case !utf8.ValidString(task) || strings.ContainsRune(task, 0):
		return "", usagef("%s: the task is not UTF-8 text", from)
	}
	return task, nil
}

func readRequirements(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		// A word that is no file is more likely a command or a task.
		return "", usagef("%s: no such requirements file or command (a task goes into --task \"…\")", path)
	}
	if !info.Mode().IsRegular() {
		return "", usagef("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", usagef("requirements: %v", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxTask+1))
	if err != nil {
		return "", usagef("requirements: %v", err)
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return "", usagef("%s: the requirements file is empty", path)
	}
	return text, nil
}

// stateDir resolves and makes the directory of logs: 0700, the user's own.
func stateDir(flag string) (string, error) {
	dir := flag
	if dir == "" {
		if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
			dir = filepath.Join(base, "arbiter")
		} else if home, err := os.UserHomeDir(); err == nil {
			dir = filepath.Join(home, ".local", "state", "arbiter")
		} else {
			return "", environmentf("no place for logs: set HOME, XDG_STATE_HOME or --state-dir")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", environmentf("--state-dir %s: %v", flag, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", environmentf("state directory: %v", err)
	}
	return dir, nil
}
