package claude

import (
	"os/exec"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/childenv"
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

// toolShell is the shell of the Bash tool. Left to itself the CLI takes the user's zsh, where
// there is one (observed with CLI 2.1.329), but the permission rules read lines as bash does.
// bash is required for that reason: the CLI would ignore a shell that is not there.
func toolShell() (string, error) {
	path, err := exec.LookPath("bash")
	if err != nil {
		return "", claudeError(bridge.CatStart,
			"no bash is on PATH: Claude Code needs it to run commands by the permission rules; install bash")
	}
	return path, nil
}

// environ builds a child's environment: what may be inherited, what the
// configuration adds, and what the driver forces. The subreaper adds its mark.
func environ(inherited []string, extra map[string]string) []string {
	env := childenv.From(inherited, extra)
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
	return childenv.List(env)
}
