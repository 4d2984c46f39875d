package claude

import (
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/inherit"
)

var (
	// envForced is how the driver needs the CLI: subagents block, it does not
	// replace itself in mid-run, and it tells its state.
	envForced = []string{
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
	}
	envDefaults = []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
)

// environ builds a child's environment: what may be inherited, what the
// configuration adds, and what the driver forces. The leash adds its mark.
func environ(inherited []string, extra map[string]string) []string {
	env := inherit.From(inherited, extra)
	for _, entry := range envDefaults {
		name, value, _ := strings.Cut(entry, "=")
		if _, set := env[name]; !set {
			env[name] = value
		}
	}
	for _, entry := range envForced {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return inherit.List(env)
}
