package settings

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// notSettings matches Arbiter's variables that are not settings: marks of processes, and what tests, scripts and the
// templates for CI read.
var notSettings = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ARBITER_(RUN|AGENT|BRIDGE|PIDNS|LOCK_FD|TOOL_SHELL|REQUIRE_CLAUDE|CLAUDE_ARGS|` +
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
