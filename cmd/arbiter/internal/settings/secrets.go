package settings

// This file finds environment variables with secrets, masks their values in records, and restores them for
// the processes that need them.

import (
	"cmp"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

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
		if variable(name, value) && isSpecific(value) {
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

// leastNamed is the minimum length of a named variable's value that is masked. A shorter one may be an ordinary
// word in other texts.
const leastNamed = 8

// variable reports whether a variable has a secret, according to its name or value.
func variable(name, value string) bool {
	pair := name + "=" + value
	return value != "" && sanitize.Redact(pair) != pair
}

// isSpecific reports whether a value is specific enough to mask it in other texts: not an ordinary word or a
// path.
func isSpecific(value string) bool {
	return len(value) >= 12 && (strings.ContainsAny(value, "0123456789") || len(value) >= 24) &&
		!strings.HasPrefix(value, "/")
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
var notSettings = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ARBITER_(RUN|AGENT|BRIDGE|PIDNS|LOCK_FD|REQUIRE_CLAUDE|CLAUDE_ARGS|` +
		`LONG|CHAOS|TOOLS|CAPTURES|FLEET|REPOSITORY|ARCHIVE|ARGS|EXPORT|EXIT_CODE|(TEST|STANDIN|CRASH|HOOK)_.*)$`)
})

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
	return command.Usagef("$%s: no setting has this name; %s", words.Quote(unknown[0]), next)
}
