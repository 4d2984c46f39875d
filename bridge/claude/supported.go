package claude

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
)

// The range of supported CLIs: scripts/drift runs the driver's tests against both of these and some
// between, and testdata/drift.md is the result. An older CLI is refused: in 2.1.310 a tool ran although its
// PreToolUse callback was answered with an error, and in 2.1.300 a resumed session's first turn seemed to
// cost nothing. A newer CLI is used, and doctor says so. They are variables only for scripts/drift, which makes
// the linker set oldest to try older CLIs.
var (
	oldest = "2.1.319"
	newest = "2.1.330"
)

// version of the CLI.
type version [3]int

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// versionPattern matches a line that begins with a version and names the program: the version of another
// program does not count, however new it looks.
var versionPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?mi)^(\d{1,9})\.(\d{1,9})\.(\d{1,9})\b.*claude`)
})

func parseVersion(text string) (version, bool) {
	m := versionPattern().FindStringSubmatch(text)
	if m == nil {
		return version{}, false
	}
	return numbers(m[1:]), true
}

// supported returns an error for a CLI that is too old: what was found, what is needed, and what to do.
func supported(path string, v version) error {
	if v.before(numbers(strings.Split(oldest, "."))) {
		return claudeError(bridge.CatUnsupported,
			"Claude CLI %s (%s) is too old: Arbiter needs %s or later, and is tested up to %s; run claude update", v,
			path, oldest, newest)
	}
	return nil
}

// Untested returns a warning about a CLI that is newer than any that the driver was tested with; empty for
// others. The driver uses such a CLI nevertheless.
func Untested(v string) string {
	if parts := strings.Split(v, "."); len(parts) != 3 || !numbers(strings.Split(newest, ".")).before(numbers(parts)) {
		return ""
	}
	return fmt.Sprintf("Claude CLI %s is newer than any that this arbiter was tested with (%s to %s): it is driven "+
		"as they are; if it misbehaves, update arbiter, or name one of these with --claude PATH", v, oldest, newest)
}

// numbers reads three numbers; a part that is not a number is 0.
func numbers(parts []string) (v version) {
	for i := range v {
		v[i], _ = strconv.Atoi(parts[i])
	}
	return v
}
