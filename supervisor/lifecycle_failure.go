package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AffectsAllAgents reports whether a failure of one agent affects every agent: neither another agent nor a
// retry would help.
func AffectsAllAgents(c bridge.Category) bool {
	return c == bridge.CatClaudeMissing || c == bridge.CatUnsupported || c == bridge.CatAuth || c == bridge.CatSandbox
}

// ParksHost reports whether a failure to start the bridge of another host cannot be solved by a retry: a person
// has to solve it.
func ParksHost(c bridge.Category) bool {
	return AffectsAllAgents(c) || c == bridge.CatHost || c == bridge.CatWorkspace || c == bridge.CatProtocol
}

// IsEnvironmental reports whether the cause of a failure that ended the run lies outside the run. An Arbiter
// that cannot even start is such a failure; about an Orchestrator that cannot, the Arbiter decides.
func IsEnvironmental(c bridge.Category) bool {
	return AffectsAllAgents(c) || c == bridge.CatStart || c == bridge.CatWorkspace
}

// RecoveryOptions lists what a person can do about a failure, as the command `choose` accepts it.
func RecoveryOptions(c bridge.Category, of Role) []string {
	switch c {
	case bridge.CatAuth:
		return []string{"log in with `claude` (or set ANTHROPIC_API_KEY) and start again"}
	case bridge.CatClaudeMissing:
		return []string{
			"install Claude Code: npm install -g @anthropic-ai/claude-code", "name it with --claude PATH",
			"try without it: --rehearse",
		}
	case bridge.CatUnsupported:
		return []string{
			"update Claude Code: npm install -g @anthropic-ai/claude-code", "name another with --claude PATH",
			"try without it: --stand-in",
		}
	case bridge.CatWorkspace:
		return []string{"put right what Git complains about, or let all agents share one directory: --isolation shared"}
	case bridge.CatStart:
		return []string{"run `claude -p hi` by hand and see what it says", "name another with --claude PATH"}
	}
	if of == RoleOrchestrator {
		return []string{"retry", "skip", "cancel"}
	}
	return []string{}
}

// Categories are the categories of the errors reported for parked agents, by the class of the failure.
var Categories = map[runconfig.RestartClass]bridge.Category{
	runconfig.RestartCrash:    bridge.CatCrash,
	runconfig.RestartHung:     bridge.CatTimeout,
	runconfig.RestartResource: bridge.CatCrash,
	runconfig.CouldNotStart:   bridge.CatStart,
	runconfig.RestartOverload: bridge.CatOverloaded,
	runconfig.UsageLimit:      bridge.CatUsageLimit,
	runconfig.RestartAuth:     bridge.CatAuth,
	runconfig.InvalidResume:   bridge.CatResume,
	runconfig.UserStop:        bridge.CatCrash, // never parks an agent
}

// StartClass classifies a failed start. If the cause can pass – a lack of processes, memory or descriptors, or
// a killed process – the start is retried like after a crash.
func StartClass(c bridge.Category, message string) runconfig.RestartClass {
	if c == bridge.CatResume {
		return runconfig.InvalidResume
	}
	for _, text := range []string{
		"(signal: ", "resource temporarily unavailable", "cannot allocate memory", "too many open files",
	} {
		if strings.Contains(message, text) {
			return runconfig.RestartCrash
		}
	}
	return runconfig.CouldNotStart
}

// RetryCategory is the category of a failure that the CLI itself retries.
func RetryCategory(r bridge.Retry) bridge.Category {
	switch {
	case r.Status == 529 || r.Reason == string(bridge.CatOverloaded):
		return bridge.CatOverloaded
	case r.Status == 429 || r.Reason == string(bridge.CatRateLimit):
		return bridge.CatRateLimit
	}
	return bridge.CatServer
}

// ExitText says in words how a process ended.
func ExitText(e bridge.Exit) string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		text = "signal: " + e.Signal
	}
	if e.Stderr != "" {
		text += "; " + e.Stderr
	}
	return text
}
