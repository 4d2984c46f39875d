// Package secrets finds the variables of an environment that hold secrets, masks their values
// in records, and restores them for the processes that need them.
package secrets

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// Masker masks secrets: those of known formats, the values that variables of this process
// and of the given environments hold under names such as *_TOKEN, and the values of the
// variables named.
func Masker(envs []map[string]string, named ...string) func(string) string {
	var values []string
	for _, name := range named {
		if value := strings.TrimSpace(os.Getenv(name)); len(value) >= leastNamed {
			values = append(values, value)
		}
	}
	note := func(name, value string) {
		if variable(name, value) && tellingApart(value) {
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

// leastNamed is how long the value of a named variable is at least that is masked: a shorter one is a word that
// stands in other texts for itself.
const leastNamed = 8

// variable reports whether a variable holds a secret, by its name or by its value.
func variable(name, value string) bool {
	pair := name + "=" + value
	return value != "" && sanitize.Redact(pair) != pair
}

// tellingApart reports whether a value is one to look for in other texts: not a word that
// stands there for itself.
func tellingApart(value string) bool {
	return len(value) >= 12 && (strings.ContainsAny(value, "0123456789") || len(value) >= 24) &&
		!strings.HasPrefix(value, "/")
}

// Without is an environment as the journal keeps it. Those who start processes get
// the values by [Revealed]; a run that is taken up is given them again.
func Without(env map[string]string) map[string]string {
	kept := maps.Clone(env)
	for name, value := range env {
		if variable(name, value) {
			kept[name] = sanitize.Mark(len(value))
		}
	}
	return kept
}

// Forgotten removes from an environment what an earlier process did not record, and names it.
func Forgotten(env map[string]string) (kept map[string]string, names []string) {
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

// Revealed has the values again that Without took out: those of given. What is not among
// them is left out.
func Revealed(env, given map[string]string) map[string]string {
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
