package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

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
				hint := "it takes " + strings.Join(known, ", ")
				if meant := command.Meant(inner.Key, known); meant != "" {
					hint = meant
				}
				return nil, command.Usagef("%s:%d: %s: unknown key %q; %s", file, inner.KeyLine, f.Key, inner.Key, hint)
			}
			list = append(list, configEntry{settingNamed(name), inner.Path, inner.KeyLine, inner.Value})
		}
		return list, nil
	}
	name := f.Key
	if name == arbiterEnv {
		name = "arbiter-env"
	}
	i := slices.IndexFunc(Table, func(s Setting) bool { return s.Name == name && !s.Flagged })
	if i < 0 {
		if slices.ContainsFunc(Table, func(s Setting) bool { return s.Name == name }) {
			return nil, command.Usagef("%s:%d: %s cannot be set in a file: give --%[3]s on the command line", file, f.KeyLine,
				name)
		}
		hint := "arbiter schema config lists the settings"
		if meant := command.Meant(f.Key, configKeys()); meant != "" {
			hint = meant
		}
		return nil, command.Usagef("%s:%d: unknown setting %q; %s", file, f.KeyLine, f.Key, hint)
	}
	return []configEntry{{Table[i], f.Key, f.KeyLine, f.Value}}, nil
}

// settingNamed returns the setting with a name, which must exist.
func settingNamed(name string) Setting {
	return Table[slices.IndexFunc(Table, func(s Setting) bool { return s.Name == name })]
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
		block := map[string]any{"type": "object", "properties": inner, "additionalProperties": false,
			"description": fmt.Sprintf("settings of the decider as one block; its keys are %s",
				strings.Join(slices.Sorted(maps.Keys(keys)), ", "))}
		if plain, ok := props[name]; ok {
			props[name] = map[string]any{"anyOf": []any{plain, block}}
			continue
		}
		props[name] = block
	}
	plain := props["arbiter-env"]
	props["arbiter-env"] = map[string]any{"anyOf": []any{plain, map[string]any{"type": "object",
		"additionalProperties": map[string]any{"type": []string{"string", "number", "boolean"}}}}}
	props[arbiterEnv] = props["arbiter-env"]
	props[agentPrograms] = map[string]any{"type": "object", "additionalProperties": false,
		"properties": map[string]any{
			"default": map[string]any{"type": "string",
				"description": "the make of an Orchestrator for which none is named: claude, or one of makes"},
			"arbiter": map[string]any{"type": "string", "description": "the make of the Arbiter: claude, or one of makes"},
		}}
}
