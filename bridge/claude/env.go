package claude

import (
	"slices"
	"strings"
)

// Names and prefixes a child may inherit. Everything else stays behind: our own
// variables, other tools' secrets, and what an enclosing session left.
var (
	envNames = []string{
		"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "TMPDIR", "TZ",
		"LANG", "LANGUAGE", "SSH_AUTH_SOCK",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
		"CLOUD_ML_REGION", "CLAUDE_CONFIG_DIR",
	}
	envPrefixes = []string{"LC_", "ANTHROPIC_", "AWS_", "GOOGLE_", "VERTEX_", "CLAUDE_CODE_"}

	// Markers of a session around us, and switches that would undo what the
	// driver relies on: a turn must not start by itself after a resume.
	envNever = []string{"CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN"}

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
	env := map[string]string{}
	for _, entry := range inherited {
		if name, value, ok := strings.Cut(entry, "="); ok && inheritable(name) {
			env[name] = value
		}
	}
	for name, value := range extra {
		env[name] = value
	}
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
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func inheritable(name string) bool {
	if slices.Contains(envNames, name) {
		return true
	}
	if slices.Contains(envNever, name) || strings.HasSuffix(name, "_ENTRYPOINT") ||
		strings.HasSuffix(name, "_SESSION_ID") || strings.Contains(name, "_MESSAGING_") {
		return false
	}
	return slices.ContainsFunc(envPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
