package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/egress"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// This file decides whether a workspace's own settings, hooks and agents are trusted: by a flag, or because a
// human trusted exactly the current ones.

// MaxListedChanges is how many changes of a workspace are listed in one line.
const MaxListedChanges = 4

// TrustState says whether a workspace's own settings are trusted, and why.
type TrustState struct {
	Trusted  bool
	ByFlag   bool           // for this run, by --trust
	Listing  trust.Listing  // the current settings; empty if they could not be read
	Recorded bool           // it was trusted before
	Was      trust.Listing  // the settings at that time
	Changed  []trust.Change // since then
	Problem  string         // what could not be read
	State    string         // the state directory of the records, which no configuration names; empty: the usual one
}

// OwnConfiguration returns the directories of the user's own configuration, which do not belong to a workspace.
func OwnConfiguration() []string {
	var own []string
	if claude := proctree.ConfigDir(os.Environ(), ""); filepath.IsAbs(claude) {
		own = append(own, claude)
	}
	if config := command.ConfigDir(); config != "" {
		own = append(own, config)
	}
	return own
}

// TrustOf decides about a workspace: by the flag for the current settings, or by a record of exactly these. The state
// directory is the one in --state-dir or its variable, or else the user's. A configuration file cannot set it,
// because it is read later.
func TrustOf(c *cli.Context, place string) (TrustState, error) {
	return TrustIn(place, c.String("state-dir"), c.Bool("trust"))
}

func TrustIn(place, state string, flag bool) (TrustState, error) {
	t := TrustState{State: state}
	var err error
	if t.Listing, err = trust.Inventory(place, OwnConfiguration()...); err != nil {
		if flag {
			return t, command.Environmentf("--trust: %v", err)
		}
		t.Problem = err.Error()
		return t, nil
	}
	if flag {
		t.Trusted, t.ByFlag = true, true
		return t, nil
	}
	store, err := OpenTrust(state)
	if err != nil {
		t.Problem = err.Error()
		return t, nil
	}
	was, ok, err := store.Trusted(place)
	switch {
	case err != nil:
		t.Problem = err.Error()
	case ok:
		t.Recorded, t.Trusted = true, was.Hash == t.Listing.Hash
		t.Was, t.Changed = was, trust.Diff(was, t.Listing)
	}
	return t, nil
}

// OpenTrust opens the records of trust in the state directory that the flag names, or in the usual one.
func OpenTrust(state string) (trust.Store, error) {
	dir, err := command.StateDir(state)
	if err != nil {
		return trust.Store{}, err
	}
	store, err := trust.Open(dir)
	if err != nil {
		return trust.Store{}, command.StateDirProblem(err)
	}
	return store, nil
}

// Distrust describes, for a person, why a workspace that was trusted is not trusted any more; empty if there is
// nothing to say.
func (t TrustState) Distrust() string {
	if t.Trusted || !t.Recorded {
		return ""
	}
	what := sanitize.Line(trust.Summary(t.Changed, MaxListedChanges), 600)
	if what == "" {
		what = "it changed since the previous process of this run"
	}
	return "the workspace has changed since it was trusted: " + what +
		" – its own settings, hooks, agents and MCP servers are not loaded (" + t.Asks() + " lists them, and asks " +
		"whether to trust them)"
}

// Asks returns the command that lists the settings and asks about them, as it works in the current directory.
func (t TrustState) Asks() string {
	text := "arbiter trust" + PlaceForCommand(t.Listing.CWD)
	if t.State != "" {
		text += StateForCommand(t.State)
	}
	return text
}

// Greeting returns the line for stderr; empty if there is nothing to say.
func (t TrustState) Greeting() string {
	switch {
	case t.ByFlag && !t.Listing.Empty():
		return fmt.Sprintf("Trusted for this run, as it is now: %s (%s --show lists all).", t.InShort(), t.Asks())
	case t.Trusted:
		return ""
	case t.Problem != "":
		return "This workspace is not trusted: " + sanitize.Line(t.Problem, 400)
	case t.Recorded:
		return "" // reported as an error
	}
	return "This workspace is not trusted: arbiter does not load its settings, hooks, agents and CLAUDE.md (--trust " +
		"loads them for one run, " + t.Asks() + " for all)."
}

// InShort counts the settings by kind, and names the texts for agents.
func (t TrustState) InShort() string {
	var kinds, parts, texts []string
	count := map[string]int{}
	for _, i := range t.Listing.Items {
		switch {
		case !i.Counts():
			texts = append(texts, sanitize.Line(i.File, 100))
		case i.Kind != trust.KindSettings:
			if count[i.Kind]++; count[i.Kind] == 1 {
				kinds = append(kinds, i.Kind)
			}
		}
	}
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%d × %s", count[k], k))
	}
	if parts = append(parts, texts...); len(parts) == 0 {
		return "settings files"
	}
	return strings.Join(parts, ", ")
}

// Change returns how an item has changed since the workspace was trusted; empty: it has not.
func (t TrustState) Change(i trust.Item) string {
	at := slices.IndexFunc(t.Changed, func(c trust.Change) bool {
		return c.Item.Kind == i.Kind && c.Item.File == i.File && c.Item.Name == i.Name
	})
	if at < 0 {
		return ""
	}
	return t.Changed[at].How
}

// Record records that a person trusts the settings, if they have not changed since they were listed.
func (t TrustState) Record(place, by string) error {
	t.Trusted = true
	if err := t.Unchanged(place); err != nil {
		return err
	}
	store, err := OpenTrust(t.State)
	if err == nil {
		err = store.Trust(place, t.Listing, by, time.Now())
	}
	if err != nil {
		return command.Environmentf("%v", err)
	}
	return nil
}

// Unchanged checks that the settings have not changed since the decision.
func (t TrustState) Unchanged(place string) error {
	if !t.Trusted {
		return nil
	}
	now, err := trust.Inventory(place, OwnConfiguration()...)
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if now.Hash != t.Listing.Hash {
		return command.Environmentf("the workspace's own settings changed while they were read (%s): start again",
			trust.Summary(trust.Diff(t.Listing, now), MaxListedChanges))
	}
	return nil
}

// This file finds environment variables with secrets, masks their values in records, and restores them for
// the processes that need them.

// SecretMasker returns a function that masks secrets: those of known formats, the values of variables with names such
// as *_TOKEN in this process and in the given environments, and the values of the named variables.
func SecretMasker(envs []map[string]string, named ...string) func(string) string {
	var values []string
	for _, name := range named {
		if value := strings.TrimSpace(os.Getenv(name)); len(value) >= leastNamed {
			values = append(values, value)
		}
	}
	note := func(name, value string) {
		// An ordinary word or a path would be masked in other texts.
		specific := len(value) >= 12 && (strings.ContainsAny(value, "0123456789") || len(value) >= 24) &&
			!strings.HasPrefix(value, "/")
		if specific && variable(name, value) {
			values = append(values, value)
		}
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		note(name, value)
	}
	for _, env := range envs {
		for name, value := range env {
			note(name, value)
		}
	}
	for _, v := range slices.Clone(values) { // as it is written in JSON and in the log
		if quoted, err := jsonl.Marshal(v); err == nil {
			values = append(values, string(quoted[1:len(quoted)-1]))
		}
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	values = slices.Compact(values)
	return func(s string) string {
		for _, v := range values {
			if strings.Contains(s, v) {
				s = strings.ReplaceAll(s, v, sanitize.Mark(len(v)))
			}
		}
		return sanitize.Redact(s)
	}
}

// leastNamed is the minimum length of a named variable's value that is masked. A shorter one may be an ordinary
// word in other texts.
const leastNamed = 8

// variable reports whether a variable has a secret, according to its name or value.
func variable(name, value string) bool {
	pair := name + "=" + value
	return value != "" && sanitize.Redact(pair) != pair
}

// WithoutSecrets returns an environment without its secrets, in the form for the journal. [RevealedSecrets] restores
// them for processes. For a resumed run, the user gives them again.
func WithoutSecrets(env map[string]string) map[string]string {
	kept := maps.Clone(env)
	for name, value := range env {
		if variable(name, value) {
			kept[name] = sanitize.Mark(len(value))
		}
	}
	return kept
}

// ForgottenSecrets removes variables that an earlier process did not record, and returns their names.
func ForgottenSecrets(env map[string]string) (kept map[string]string, names []string) {
	kept = map[string]string{}
	for name, value := range env {
		if sanitize.IsMark(value) {
			names = append(names, name)
		} else {
			kept[name] = value
		}
	}
	slices.Sort(names)
	if names == nil {
		return env, nil
	}
	return kept, names
}

// RevealedSecrets restores the values that Without removed, from given. Variables that are not in given are removed.
func RevealedSecrets(env, given map[string]string) map[string]string {
	if !slices.ContainsFunc(slices.Collect(maps.Values(env)), sanitize.IsMark) {
		return env
	}
	out := maps.Clone(env)
	for name, value := range env {
		if real, ok := given[name]; ok {
			out[name] = real
		} else if sanitize.IsMark(value) {
			delete(out, name)
		}
	}
	return out
}

// notSettings matches Arbiter's variables that are not settings: marks of processes, and what tests, scripts and the
// templates for CI read.
var notSettings = command.Pattern(`^ARBITER_(RUN|AGENT|BRIDGE|PIDNS|LOCK_FD|REQUIRE_CLAUDE|CLAUDE_ARGS|` +
	`LONG|CHAOS|TOOLS|CAPTURES|FLEET|REPOSITORY|ARCHIVE|ARGS|EXPORT|EXIT_CODE|(TEST|STANDIN|CRASH|HOOK)_.*)$`)

// UnknownVariables returns the variables of an environment that look like settings, and are none. An empty variable
// sets nothing.
func UnknownVariables(environ []string) (unknown []string) {
	known := variables()
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		ours := value != "" && strings.HasPrefix(name, "ARBITER_")
		if ours && !slices.Contains(known, name) && !notSettings().MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

func variables() (names []string) {
	for _, s := range Table {
		names = append(names, EnvName(s)...)
	}
	return names
}

// CheckVariables refuses an environment with a variable that looks like a setting: a limit that is spelled wrong must
// not be no limit.
func CheckVariables(environ []string) error {
	unknown := UnknownVariables(environ)
	if len(unknown) == 0 {
		return nil
	}
	next := cmp.Or(command.Meant(unknown[0], variables()), "correct it, or unset it")
	flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(unknown[0], "ARBITER_")), "_", "-")
	if _, ok := Named(flag); ok {
		next = "give --" + flag + ", which has no variable"
	}
	return command.Usagef("$%s: no setting has this name; %s", words.Quote(unknown[0]), next)
}

// Modes of --sandbox.
const (
	SandboxOff  = "off"
	sandboxAuto = "auto" // the default: if the sandbox does not hold, the run reports that and continues
	SandboxOn   = "on"   // if the sandbox does not hold, the run ends
)

// confinement is the requested sandbox.
type confinement struct {
	Mode        string
	Write, Hide []string
	Network     string // a Network… constant of the bridge
	Hosts       []string
}

// readSandbox reads the settings about sandboxes.
func readSandbox(c *cli.Context) (confinement, error) {
	s := confinement{Mode: c.String("sandbox"), Network: c.String("network"),
		Hosts: c.StringSlice("allow-host")}
	for _, host := range s.Hosts {
		if _, err := egress.ParseRule(host); err != nil {
			return s, command.Usagef("--allow-host %q: %v", host, err)
		}
	}
	for _, list := range []struct {
		flag string
		to   *[]string
		must bool
	}{{"sandbox-write", &s.Write, true}, {"sandbox-hide", &s.Hide, false}} {
		for _, name := range c.StringSlice(list.flag) {
			path, err := ExpandHome(name)
			if name == "" {
				err = errors.New("is empty")
			}
			if err == nil {
				path, err = filepath.Abs(path)
			}
			if err != nil {
				return s, command.Usagef("--%s %q: %v", list.flag, name, err)
			}
			// An agent may replace a link in the workspace: it counts where the link leads now.
			switch real, err := filepath.EvalSymlinks(path); {
			case err != nil && list.must:
				return s, command.Usagef("--%s %s: %v; create it first", list.flag, name, command.WithoutPath(err))
			case list.must && leadsOut(c, path, real):
				return s, command.Usagef("--%s %s: it is a link in the workspace, which an agent of an earlier run may have "+
					"made: name what it leads to, %s", list.flag, name, real)
			case list.must:
				path = real
			case err == nil && real != path:
				*list.to = append(*list.to, real)
			}
			*list.to = append(*list.to, path)
		}
	}
	return s, nil
}

// leadsOut reports whether a path in the workspace leads out of it.
func leadsOut(c *cli.Context, path, real string) bool {
	place, _ := command.Workspace(c) // its error is reported elsewhere
	top, err := filepath.EvalSymlinks(place)
	within := runconfig.Relative(place, path) != "" || runconfig.Relative(top, path) != ""
	return err == nil && within && runconfig.Relative(top, real) == ""
}

// networks are the values of --network.
var networks = []string{bridge.NetworkProxy, bridge.NetworkNone, bridge.NetworkOpen}

// ExpandHome replaces ~ at the beginning of a path by the user's home directory. With an error the path is as it was.
func ExpandHome(path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path, err
	}
	return filepath.Join(home, path[1:]), nil
}

// ResumeSandbox keeps the sandbox of a run that started with one, unless another setting is given now.
func (c *Choices) ResumeSandbox(old runconfig.Options) {
	was := old.Sandbox
	c.Options.Sandbox, c.Options.SandboxReason, c.Options.ScratchChecks = nil, "", false
	if was == nil {
		if !c.Given["sandbox"] && old.SandboxReason == "" {
			c.Sandbox.Mode = SandboxOff
		}
		return
	}
	if !c.Given["sandbox"] {
		c.Sandbox.Mode = SandboxOn
	}
	if !c.Given["sandbox-write"] {
		c.Sandbox.Write = was.Write
	}
	if !c.Given["sandbox-hide"] {
		c.Sandbox.Hide = was.Hide
	}
	if !c.Given["network"] {
		c.Sandbox.Network = cmp.Or(was.Network, bridge.NetworkProxy)
	}
	if !c.Given["allow-host"] {
		c.Sandbox.Hosts = was.Hosts
	}
}

// SandboxTrial bounds the trial of a sandbox, which takes about 50 ms.
const SandboxTrial = 30 * time.Second

// SandboxConfig returns the configuration of the requested sandbox; reason says why it is not available.
func (c Choices) SandboxConfig() (cfg bridge.SandboxConfig, reason string) {
	program, err := sandbox.Find()
	if err != nil {
		return cfg, err.Error()
	}
	if reason = c.hiddenLogin(); reason != "" && c.Sandbox.Mode == sandboxAuto {
		return cfg, reason
	}
	cfg = bridge.SandboxConfig{Program: program, Write: c.Sandbox.Write,
		Hide: slices.Clone(c.Sandbox.Hide), Network: c.Sandbox.Network, Hosts: c.Sandbox.Hosts}
	cfg.Hide = append(cfg.Hide, command.Private(c.StateDir)...)
	return cfg, ""
}

// hiddenLogin says why agents could not log in to a cloud in the sandbox; empty: they can.
func (c Choices) hiddenLogin() string {
	for _, cloud := range []struct {
		name, use string
		keys      []string
	}{
		{"Bedrock", "CLAUDE_CODE_USE_BEDROCK", []string{"AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK",
			"CLAUDE_CODE_SKIP_BEDROCK_AUTH"}},
		{"Vertex", "CLAUDE_CODE_USE_VERTEX", []string{"CLAUDE_CODE_SKIP_VERTEX_AUTH"}},
	} {
		given := func(name string) bool { return cmp.Or(c.Options.Env[name], os.Getenv(name)) != "" } // for the agents
		if given(cloud.use) && !slices.ContainsFunc(cloud.keys, given) {
			return fmt.Sprintf("the login of %s is in files that the sandbox hides: give it by a variable (%s), or use "+
				"--sandbox on", cloud.name, strings.Join(cloud.keys, ", "))
		}
	}
	return ""
}

// Confines says in words what a sandbox confines; hosts are those that can be reached without a question.
func Confines(cfg bridge.SandboxConfig, hosts []string) string {
	if !cfg.Isolated() {
		return "files confined; the network is open"
	}
	list := make([]string, len(hosts))
	for i, host := range hosts {
		list[i] = strings.TrimSuffix(host, ":443")
	}
	return "files and network confined; hosts: " + strings.Join(list, ", ")
}
