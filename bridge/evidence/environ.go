package evidence

import (
	"maps"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// Variables a check does not get, in upper or lower case: those that open the model's API, a cloud or a
// collector of traces, and those that control how an agent is run. A check needs none of them, and its
// output is shown.
var (
	secretPrefixes = []string{"ANTHROPIC_", "AWS_", "GOOGLE_", "CLAUDE_CODE_", "OTEL_"}
	secretSuffixes = []string{"_TOKEN", "_API_KEY"}
	secretNames    = []string{"TOKEN", "API_KEY"}
	// Variables of proctree: a command that bore the mark of another owner would be ended with that owner's
	// processes.
	reservedPrefix = "ARBITER_"
)

// environ returns the environment of a check: the variables that agents may inherit, those that are added for
// this check, and no secrets of either.
func environ(inherited []string, extra map[string]string) []string {
	env := proctree.EnvFrom(inherited, extra)
	maps.DeleteFunc(env, func(name, _ string) bool { return secret(name) || strings.HasPrefix(name, reservedPrefix) })
	return proctree.EnvList(env)
}

func secret(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(secretNames, name) ||
		slices.ContainsFunc(secretPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(secretSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
