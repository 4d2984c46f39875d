package evidence

import (
	"maps"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/childenv"
)

// Variables a check does not get, in any case of letters: what opens the model's
// API, a cloud or a collector of traces, and what says how an agent is to be run. A check needs
// none of them, and its output is shown.
var (
	secretPrefixes = []string{"ANTHROPIC_", "AWS_", "GOOGLE_", "CLAUDE_CODE_", "OTEL_"}
	secretSuffixes = []string{"_TOKEN", "_API_KEY"}
	secretNames    = []string{"TOKEN", "API_KEY"}
	// The proctree's own: a command that bore another's mark would be ended with that.
	reservedPrefix = "ARBITER_"
)

// environ returns the environment of a check: the variables that agents may inherit, those that are added for
// this check, and no secrets of either.
func environ(inherited []string, extra map[string]string) []string {
	env := childenv.From(inherited, extra)
	maps.DeleteFunc(env, func(name, _ string) bool { return secret(name) || strings.HasPrefix(name, reservedPrefix) })
	return childenv.List(env)
}

func secret(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(secretNames, name) ||
		slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
