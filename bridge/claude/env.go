package claude

import (
	"os/exec"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

var (
	// envForced sets what the driver needs of the CLI: subagents block, the CLI does not update itself
	// during a run, it reports its state, and a verdict that does not fit its schema is asked for once more, and then
	// ends the turn with the reason: the supervisor corrects it (the default is five times a turn). With 1 it
	// would refuse a good verdict that a model calls beside a tool that writes: it counts the call when the result of
	// that tool is there, before its own.
	envForced = []string{
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
		"MAX_STRUCTURED_OUTPUT_RETRIES=2",
	}
	// envDefaults are set unless the user sets them. The last three keep texts out of each request that contradict the
	// prompt of an Orchestrator: tokens that are left where there is no such limit, a memory of the CLI's own, and that
	// nothing may be committed. TestLiveInstructions has the list of what they remove.
	envDefaults = []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_TOTAL_TOKENS_REMINDER=countdown",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
		"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1",
	}
)

// toolShell returns the path of the shell for the Bash tool. By default the CLI uses the user's zsh where
// there is one (observed with CLI 2.1.329), but the permission rules read command lines as bash does. A
// missing bash is therefore an error: the CLI would ignore a shell that does not exist.
func toolShell() (string, error) {
	path, err := exec.LookPath("bash")
	if err != nil {
		return "", claudeError(bridge.CatStart,
			"no bash is on PATH: Claude Code needs it to run commands by the permission rules; install bash")
	}
	return path, nil
}

// environ builds a child's environment: the inherited variables, those of the configuration, and those that
// the driver forces. The subreaper adds its mark.
func environ(inherited []string, extra map[string]string) []string {
	env := proctree.EnvFrom(inherited, extra)
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
	return proctree.EnvList(env)
}
