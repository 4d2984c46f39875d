package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ApplyConfig sets values that neither a flag nor the environment has set: from the workspace's
// .arbiter/config.yaml if it is trusted, and then from the user's file.
//
// It returns the place of each given value.
func ApplyConfig(c *cli.Context, cwd string, trusted bool) (origins, error) {
	named, workspaces := c.String("config"), filepath.Join(cwd, ".arbiter", "config.yaml")
	given := givenOrigins(c)
	giveTogether(given)
	for _, file := range ConfigFiles(named, cwd, trusted) {
		src, err := command.ReadFile(file, command.MaxSource)
		if os.IsNotExist(err) && file != named {
			continue
		}
		if err != nil {
			return nil, command.Usagef("cannot read the configuration %s: %v", file, command.WithoutPath(err))
		}
		if err := applyFile(c, file, src, given, file != workspaces); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// UserConfig returns the path of the user's own configuration file, the one of --config if that is given. It may not
// exist; empty: it has no place.
func UserConfig(named string) string {
	if dir := command.ConfigDir(); named == "" && dir != "" {
		return filepath.Join(dir, "config.yaml")
	}
	return named
}

// ConfigFiles returns the paths of the configuration files that are read, the strongest first. They may not exist.
func ConfigFiles(named, cwd string, trusted bool) (files []string) {
	if trusted {
		files = append(files, filepath.Join(cwd, ".arbiter", "config.yaml"))
	}
	if own := UserConfig(named); own != "" {
		files = append(files, own)
	}
	return files
}

// applyFile sets the keys of one file that no stronger source has set. Only a user's own file may have hosts.
func applyFile(c *cli.Context, file string, src []byte, given origins, own bool) error {
	doc, err := yamldoc.Parse(file, src)
	if err != nil {
		return command.Usagef("%v", err)
	}
	set := origins{}
	for _, values := range doc.Values() {
		for _, f := range values.Fields("lines of the form `key: value`") {
			if slices.Contains(hosts.Keys, f.Key) {
				if !own {
					return command.Usagef("%s:%d: %s: a workspace cannot name hosts: move this to your own configuration "+
						"(arbiter hosts shows where it is)", file, f.KeyLine, f.Key)
				}
				continue // read by readHosts
			}
			if f.Key == makesKey {
				if !own {
					return command.Usagef("%s:%d: %s: a workspace cannot name programs to run as agents: move this to your own "+
						"configuration", file, f.KeyLine, f.Key)
				}
				continue // read by readMakes
			}
			entries, err := configEntries(file, f, own)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := applyEntry(c, file, e, given, set); err != nil {
					return err
				}
			}
		}
		if err := doc.Err(); err != nil {
			return command.Usagef("%v", err)
		}
	}
	for name, where := range set {
		if given[name] == "" {
			given[name] = where
		}
	}
	giveTogether(given)
	return nil
}

// applyEntry sets one value of a file, unless a stronger source has set it.
func applyEntry(c *cli.Context, file string, e configEntry, given, set origins) error {
	where := fmt.Sprintf("%s:%d: %s", file, e.line, e.path)
	texts, err := e.texts()
	switch {
	case err != nil:
		return command.Usagef("%s: %v", where, err)
	case set[e.Name] != "":
		return command.Usagef("%s: given twice: this file names %s before", where, e.Name)
	}
	set[e.Name] = where
	if given[e.Name] != "" {
		return nil
	}
	for _, text := range texts {
		if err := c.Set(e.Name, text); err != nil {
			return command.Usagef("%s: %q is not %s", where, text, e.Kind.Article())
		}
	}
	return nil
}

// scalars reads a value as text: one text, or for a list one per item.
func scalars(v yamldoc.Value, k kind) ([]string, error) {
	values := []yamldoc.Value{v}
	if v.Kind() == yamldoc.List {
		if k != KindList {
			return nil, fmt.Errorf("a list is not %s", k.Article())
		}
		values = v.Items("a list")
	}
	var texts []string
	for _, item := range values {
		text, ok := item.Scalar()
		if !ok {
			return nil, fmt.Errorf("give a plain value, not %s", item.Kind())
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// ConfigSchema returns the JSON Schema of the configuration file, generated from the table of settings.
func ConfigSchema() ([]byte, error) {
	props := map[string]any{}
	for _, s := range Table {
		if s.Flagged {
			continue
		}
		doc := command.FlagDoc(s.Flag())
		p := map[string]any{"description": doc.About}
		if words := command.Choices(doc.Value); words != nil {
			p["enum"] = words
		}
		switch s.Kind {
		case KindList:
			p["type"], p["items"] = "array", map[string]any{"type": "string"}
		case KindDuration:
			p["type"], p["pattern"] = "string", `^[0-9.]+(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*$`
		default:
			p["type"] = string(s.Kind)
		}
		if s.Value != nil {
			if s.Kind == KindDuration {
				p["default"] = fmt.Sprint(s.Value)
			} else {
				p["default"] = s.Value
			}
		}
		props[s.Name] = p
	}
	blockSchemas(props)
	hostSchemas(props)
	makeSchema(props)
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "arbiter configuration",
		"description": ".arbiter/config.yaml in a trusted workspace, or config.yaml in the user's configuration " +
			"directory under arbiter. Flags and ARBITER_… environment variables come first.",
		"type": "object", "properties": props, "additionalProperties": false,
	}, "", "  ")
}

// origins has the place of each given setting's value, as error messages name it: --NAME, $VARIABLE, or FILE:LINE:
// KEY.
type origins map[string]string

// setFlags returns the flags for which [cli.Context.IsSet] is true. A flag of a command hides a flag of the program
// with the same name. IsSet compares one name with the names of all flags: calling it for each setting took a fifth
// of the time to the first frame.
func setFlags(c *cli.Context) map[string]bool {
	set := map[string]bool{}
	for _, ctx := range slices.Backward(c.Lineage()) {
		if ctx.Command == nil { // the root context, without flags
			continue
		}
		for _, f := range ctx.Command.Flags {
			set[f.Names()[0]] = false
		}
		for _, name := range ctx.LocalFlagNames() {
			set[name] = true
		}
	}
	return set
}

// givenOrigins returns the origins of values from the command line and the environment.
func givenOrigins(c *cli.Context) origins {
	o, set := origins{}, setFlags(c)
	for _, s := range Table {
		if !set[s.Name] || s.isEmpty(c) || s.Kind == KindText && c.String(s.Name) == "" {
			continue
		}
		o[s.Name] = "--" + s.Name
		for _, variable := range EnvName(s) {
			text := os.Getenv(variable)
			if value, err := s.Parse(text); text != "" && err == nil && value == c.Value(s.Name) {
				o[s.Name] = "$" + variable
			}
		}
	}
	return o
}

// isEmpty reports whether only an empty variable sets a setting: it sets nothing.
func (s Setting) isEmpty(c *cli.Context) bool {
	return slices.ContainsFunc(EnvName(s), func(variable string) bool {
		text, there := os.LookupEnv(variable)
		value := fmt.Sprint(c.Value(s.Name))
		return there && text == "" && (value == "" || value == "false" && c.Count(s.Name) == 0) // not on the line
	})
}

// placed returns an error about a wrong value with the place of that value, instead of a flag that was not given.
func (o origins) placed(err error) error {
	var wrong *command.Error
	if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Text, "--") {
		return err
	}
	name, problem, ok := strings.Cut(wrong.Text[2:], " ")
	at := o[strings.TrimRight(name, ":,")]
	if !ok || at == "" || at == "--"+name {
		return err
	}
	return &command.Error{Code: wrong.Code, Text: fmt.Sprintf("%s %s", at, problem), Cause: wrong.Cause}
}

// configBlocks are the mappings in the configuration file that stand for several settings: their keys, and the
// setting for each key. `decider` may also be a plain value.
var configBlocks = map[string]map[string]string{
	"decider": {
		"kind": "decider", "provider": "decider-provider", "model": "decider-model", "base_url": "decider-base-url",
		"key_env": "decider-key-env", "max_tokens": "decider-max-tokens", "temperature": "decider-temperature",
		"effort": "decider-effort", "timeout": "decider-timeout",
	},
	// names from the decision record for deciders
	"arbiter": {
		"provider": "decider-provider", "model": "decider-model", "maxTokens": "decider-max-tokens",
		"temperature": "decider-temperature",
	},
}

// agentPrograms is the block for the agents' programs: that of each Orchestrator for which none is named, and that of
// the Arbiter.
const agentPrograms = "provider"

// configEntry is the value of one setting in a file.
type configEntry struct {
	Setting
	path  string // of keys, for error messages
	line  int
	value yamldoc.Value
}

// arbiterEnv is the key of the setting arbiter-env, which may be a mapping of names to values.
const arbiterEnv = "arbiter_env"

// texts returns the values of the entry in the form of a flag.
func (e configEntry) texts() ([]string, error) {
	if e.Name != "arbiter-env" || e.value.Kind() != yamldoc.Mapping {
		return scalars(e.value, e.Kind)
	}
	var pairs []string
	for _, f := range e.value.Fields("a mapping of names to values") {
		text, ok := f.Scalar()
		if !ok {
			return nil, fmt.Errorf("%s: give a plain value, not %s", f.Key, f.Kind())
		}
		pairs = append(pairs, f.Key+"="+text)
	}
	return pairs, nil
}

func configEntries(file string, f yamldoc.Field, own bool) ([]configEntry, error) {
	block, isBlock := configBlocks[f.Key]
	switch {
	case f.Key == agentPrograms:
		return nil, checkAgentProgram(file, f, own)
	case isBlock && (f.Value.Kind() == yamldoc.Mapping || f.Key != "decider"):
		var list []configEntry
		for _, inner := range f.Value.Fields("keys of the form `key: value`") {
			name, ok := block[inner.Key]
			if !ok {
				known := slices.Sorted(maps.Keys(block))
				hint := cmp.Or(command.Meant(inner.Key, known), "it takes "+strings.Join(known, ", "))
				return nil, command.Usagef("%s:%d: %s: unknown key %q; %s", file, inner.KeyLine, f.Key, inner.Key, hint)
			}
			s, _ := Named(name)
			list = append(list, configEntry{s, inner.Path, inner.KeyLine, inner.Value})
		}
		return list, nil
	}
	name := f.Key
	if name == arbiterEnv {
		name = "arbiter-env"
	}
	s, ok := Named(name)
	switch {
	case ok && s.Flagged:
		return nil, command.Usagef("%s:%d: %s cannot be set in a file: give --%[3]s on the command line", file, f.KeyLine,
			name)
	case !ok:
		var keys []string
		for _, s := range Table {
			if !s.Flagged {
				keys = append(keys, s.Name)
			}
		}
		hint := cmp.Or(command.Meant(f.Key, keys), "arbiter schema config lists the settings")
		return nil, command.Usagef("%s:%d: unknown setting %q; %s", file, f.KeyLine, f.Key, hint)
	}
	return []configEntry{{s, f.Key, f.KeyLine, f.Value}}, nil
}

// claudeNames are the names of Claude Code as the program of agents.
var claudeNames = []string{runconfig.ClaudeMake, "claude-code", "claude-cli"}

// checkAgentProgram returns an error if a file names a default program of agents that it may not name. readMakes checks
// whether it is there.
func checkAgentProgram(file string, f yamldoc.Field, own bool) error {
	for _, inner := range f.Value.Fields("a mapping such as `default: claude`") {
		if inner.Key != "default" && inner.Key != "arbiter" {
			return command.Usagef("%s:%d: %s: unknown key %q; it takes default and arbiter", file, inner.KeyLine, f.Key,
				inner.Key)
		}
		name, ok := inner.Scalar()
		if !ok {
			return command.Usagef("%s:%d: %s: give a plain value, not %s", file, inner.KeyLine, inner.Path, inner.Kind())
		}
		if !own && !slices.Contains(claudeNames, strings.ToLower(name)) {
			return command.Usagef("%s:%d: %s: a workspace cannot choose %q as the program of agents: move this to your own "+
				"configuration. Another provider's model can decide: set provider and model of the block decider (%s)", file,
				inner.KeyLine, inner.Path, name, alternatives(Providers))
		}
	}
	return nil
}

// together are settings that are taken from one source: the strongest one that has any of them. So a key is never
// sent to an address from another source.
var together = []string{"decider-provider", "decider-base-url", "decider-key-env"}

// giveTogether marks all of these settings as given if one is.
func giveTogether(given origins) {
	i := slices.IndexFunc(together, func(name string) bool { return given[name] != "" })
	if i < 0 {
		return
	}
	where := given[together[i]]
	for _, name := range together {
		given[name] = cmp.Or(given[name], where)
	}
}

// blockSchemas adds the blocks to the properties of the configuration's JSON Schema.
func blockSchemas(props map[string]any) {
	for name, keys := range configBlocks {
		inner := map[string]any{}
		for key, of := range keys {
			inner[key] = props[of]
		}
		block := schema("object", "settings of the decider as one block; its keys are "+
			strings.Join(slices.Sorted(maps.Keys(keys)), ", "), "properties", inner, "additionalProperties", false)
		if plain, ok := props[name]; ok {
			props[name] = map[string]any{"anyOf": []any{plain, block}}
			continue
		}
		props[name] = block
	}
	plain := props["arbiter-env"]
	props["arbiter-env"] = map[string]any{"anyOf": []any{plain, schema("object", "", "additionalProperties",
		schema([]string{"string", "number", "boolean"}, ""))}}
	props[arbiterEnv] = props["arbiter-env"]
	props[agentPrograms] = schema("object", "", "additionalProperties", false, "properties", map[string]any{
		"default": schema("string", "the make of an Orchestrator for which none is named: claude, or one of makes"),
		"arbiter": schema("string", "the make of the Arbiter: claude, or one of makes"),
	})
}

// ConfiguredHosts reads the hosts from the user's own configuration file, and returns its path and content. A
// missing file has no hosts.
func ConfiguredHosts(c *cli.Context) (cfg hosts.Config, file string, src []byte, err error) {
	file = UserConfig(c.String("config"))
	if file == "" {
		return cfg, "", nil, command.Environmentf("there is no place for your configuration: set HOME, or name a file with " +
			"--config")
	}
	src, err = command.ReadFile(file, command.MaxSource)
	if os.IsNotExist(err) {
		return cfg, file, nil, nil
	}
	if err != nil {
		return cfg, file, nil, command.Usagef("cannot read the configuration %s: %v", file, command.WithoutPath(err))
	}
	if cfg, err = hosts.Read(file, src); err != nil {
		return cfg, file, src, command.Usagef("%v", err)
	}
	return cfg, file, src, nil
}

// ChangeConfig replaces the user's configuration file by what edit makes of it, and creates it if it does not exist. It
// excludes other changes by arbiter.
func ChangeConfig(file string, edit func(src []byte) ([]byte, error)) error {
	changed := func(src []byte) ([]byte, error) {
		out, err := edit(src)
		switch {
		case errors.Is(err, yamldoc.ErrForm):
			return nil, command.Usagef("%s: %v", file, err)
		case err != nil:
			return nil, command.Usagef("%v", err)
		}
		return out, nil
	}
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) { // a mistake makes no directory
		if _, err := changed(nil); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return command.Environmentf("create the directory of your configuration: %v", command.WithoutPath(err))
	}
	if lock, err := os.Open(dir); err == nil {
		defer lock.Close()
		if errors.Is(statedir.LockWithin(lock, statedir.ChangeWait), statedir.ErrHeld) { // others: there are no locks
			return command.Environmentf("another process holds %s: try again", dir)
		}
	}
	src, err := command.ReadFile(file, command.MaxSource)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return command.Environmentf("cannot read the configuration %s: %v", file, command.WithoutPath(err))
	}
	out, err := changed(src)
	if err != nil {
		return err
	}
	if err := command.WriteOutput(file, out); err != nil {
		return command.Environmentf("write the configuration %s: %v", file, command.WithoutPath(err))
	}
	return nil
}

// readHosts reads the configured hosts and makes, and the hosts that --hosts selects.
func (s *Choices) readHosts(c *cli.Context) error {
	if UserConfig(c.String("config")) == "" && c.String("hosts") == "" {
		return nil
	}
	var file string
	var src []byte
	var err error
	if s.Hosts, file, src, err = ConfiguredHosts(c); err != nil {
		return err
	}
	if err := parseMakes(file, src, &s.Options); err != nil {
		return command.Usagef("%v", err)
	}
	chosen, err := s.Hosts.Choose(c.String("hosts"))
	if err != nil {
		return command.Usagef("--hosts %q: %v (arbiter hosts add NAME -- COMMAND… adds a host)", c.String("hosts"), err)
	}
	s.Options.HereToo = chosen.Here && len(chosen.Hosts) > 0
	for _, h := range chosen.Hosts {
		s.Options.Hosts = append(s.Options.Hosts, runconfig.Host{Name: h.Name, Slots: h.Slots})
	}
	for _, p := range s.Hosts.Pools {
		if members := slices.DeleteFunc(slices.Clone(p.Hosts), func(name string) bool {
			return !(name == hosts.Here && s.Options.HereToo) &&
				!slices.ContainsFunc(s.Options.Hosts, func(h runconfig.Host) bool { return h.Name == name })
		}); len(members) > 0 {
			s.Options.Pools = append(s.Options.Pools, runconfig.Pool{Name: p.Name, Hosts: members})
		}
	}
	if len(s.Options.Hosts) == 0 {
		s.Options.Pools = nil
	}
	return nil
}

// HostsConfigured returns an error if the user's configuration no longer has the hosts of a run.
func (s Choices) HostsConfigured() error {
	var missing []string
	for _, h := range s.Options.Hosts {
		if _, ok := s.Hosts.Find(h.Name); !ok {
			missing = append(missing, h.Name)
		}
	}
	if len(missing) > 0 {
		return command.Usagef("the run uses hosts that your configuration does not have: %s; add them (arbiter hosts add "+
			"NAME -- COMMAND…), or choose others with --hosts", strings.Join(missing, ", "))
	}
	return nil
}

// schema returns the JSON Schema of a value: a kind, what it is about, and pairs of further members.
func schema(kind any, about string, more ...any) map[string]any {
	s := map[string]any{"type": kind}
	if about != "" {
		s["description"] = about
	}
	for i := 0; i < len(more); i += 2 {
		s[more[i].(string)] = more[i+1]
	}
	return s
}

// hostSchemas adds hosts and pools to the properties of the configuration's JSON Schema.
func hostSchemas(props map[string]any) {
	text := schema("string", "")
	words := func(about string) map[string]any { return schema("array", about, "items", text, "minItems", 1) }
	props["hosts"] = schema("object", "machines on which Orchestrators can run, by name; in your own configuration only",
		"additionalProperties", schema("object", "", "required", []string{"command"}, "additionalProperties", false,
			"properties", map[string]any{
				"command": words("the words that start a program there, such as [ssh, box]"),
				"dir":     schema("string", "where work is kept there: an absolute path, or one below ~/"),
				"slots": schema("integer", "how many Orchestrators may run there at once", "minimum", 1, "default",
					hosts.DefaultSlots),
				"end": words("a command that ends everything that was started there, at once; exit code 0 " +
					"means that it has ended"),
				"connect": schema("string", "how long connecting may take, such as 90s (default: 2m; a day if the command runs "+
					"srun, which waits in a queue)"),
				"pass_env": schema("array", "names of environment variables that agents there get from here", "items", text),
			}))
	props["pools"] = schema("object", fmt.Sprintf("names for several hosts each; %s is this machine; in your own "+
		"configuration only", hosts.Here), "additionalProperties", words(""))
}

// makesKey is the key of the configuration file with the makes of agents besides Claude.
const makesKey = "makes"

var (
	makeName = command.Pattern(`^[a-z0-9][a-z0-9._-]{0,39}$`)
	envName  = command.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secret   = command.Pattern(`(?i)key|token|secret|passw|credential`)
)

// MakesOf returns the makes of the user's own configuration file.
func MakesOf(file string, src []byte) ([]runconfig.Make, error) {
	var o runconfig.Options
	if err := parseMakes(file, src, &o); err != nil {
		return nil, command.Usagef("%v", err)
	}
	return o.Makes, nil
}

// parseMakes reads the makes of a file, and which of them agents are, into the options of a run.
func parseMakes(file string, src []byte, o *runconfig.Options) error {
	doc, err := yamldoc.Parse(file, src)
	if err != nil {
		return err
	}
	var standard []yamldoc.Field
	for _, v := range doc.Values() {
		for _, f := range v.Fields("lines of the form `key: value`") {
			switch f.Key {
			case makesKey:
				for _, m := range f.Value.Fields("a mapping of names to makes") {
					o.Makes = append(o.Makes, readMake(m))
				}
			case agentPrograms:
				standard = f.Value.Fields("a mapping such as `default: claude`")
			}
		}
	}
	slices.SortFunc(o.Makes, func(a, b runconfig.Make) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range standard {
		name, _ := f.Scalar()
		if slices.Contains(claudeNames, strings.ToLower(name)) {
			continue
		}
		if f.Key == "arbiter" {
			o.ArbiterMake = name
		} else {
			o.DefaultMake = name
		}
		if o.MakeProblem(name) != "" {
			f.Errorf("there is no make %q: configure it under makes; there are %s. Another provider's model can decide: set "+
				"provider and model of the block decider", name, strings.Join(o.MakeNames(), ", "))
		}
	}
	return doc.Err()
}

func readMake(v yamldoc.Field) runconfig.Make {
	m := runconfig.Make{MaxTurns: runconfig.DefaultMakeTurns}
	m.Name = v.Key
	switch {
	case v.Key == runconfig.ClaudeMake:
		v.Errorf("claude is the make that is always there: give another name, and say with like what it is")
	case !makeName().MatchString(v.Key):
		v.Errorf("%q is not a name: use small letters, digits and . _ -", v.Key)
	}
	for _, f := range v.Fields("a mapping such as {command: [opencode, acp]}") {
		switch f.Key {
		case "command":
			m.Command = f.Value.Texts()
		case "env":
			m.Env = f.Value.Texts()
			for _, entry := range m.Env {
				name, _, set := strings.Cut(entry, "=")
				switch {
				case !envName().MatchString(name):
					f.Errorf("%q is not the name of a variable", name)
				case set && secret().MatchString(name):
					f.Errorf("write only the name %s: its value is taken from arbiter's environment, and kept nowhere", name)
				}
			}
		case "like":
			m.Like = f.Value.Text()
		case "accept_unasked":
			m.AcceptUnasked = f.Value.Bool()
		case "max_turns":
			m.MaxTurns = f.Value.Integer(1)
		case "input_usd":
			m.InputUSD = dollars(f)
		case "output_usd":
			m.OutputUSD = dollars(f)
		default:
			f.Errorf("unknown field %q; a make takes command, env, like, accept_unasked, max_turns, input_usd and output_usd",
				f.Key)
		}
	}
	if len(m.Command) == 0 {
		v.Errorf("command is missing: name the words that start the agent, such as [opencode, acp]")
	}
	return m
}

func dollars(f yamldoc.Field) float64 {
	text, _ := f.Scalar()
	usd, err := strconv.ParseFloat(text, 64)
	if err != nil || !(usd >= 0 && usd < 1e6) {
		f.Errorf("want US dollars for a million tokens, such as 2.5")
		return 0
	}
	return usd
}

// makeSchema adds the makes to the properties of the configuration's JSON Schema.
func makeSchema(props map[string]any) {
	words := func(about string) map[string]any { return schema("array", about, "items", schema("string", "")) }
	props[makesKey] = schema("object", "makes of agents besides Claude, by name; in your own configuration only",
		"additionalProperties", schema("object", "", "required", []string{"command"}, "additionalProperties", false,
			"properties", map[string]any{
				"command": words("the words that start an agent that speaks the Agent Client Protocol, such as [opencode, acp]"),
				"env": words("variables that it gets besides those of each agent: NAME is taken from the environment, " +
					"NAME=VALUE is set"),
				"like": schema("string", "the make that it behaves like, if it has another name here"),
				"accept_unasked": schema("boolean", "true: it may run without a sandbox although it does not ask about each "+
					"command and edit, so that deny rules do not hold"),
				"max_turns": schema("integer", "after how many messages it hands off while nobody knows how full its context is",
					"minimum", 1, "default", runconfig.DefaultMakeTurns),
				"input_usd":  schema("number", "what a million tokens of input cost, where it reports no costs"),
				"output_usd": schema("number", "what a million tokens of output cost, where it reports no costs"),
			}))
}
