package proctree

// This file decides which variables of our environment a child process inherits, and where a Claude CLI with
// such an environment keeps its sessions. All processes that the bridge starts use the same list. The package
// has no state.

import (
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// Names and prefixes of the variables that a child may inherit. All others are withheld: our own variables,
// other tools' secrets, and those that an enclosing session left.
var (
	names = []string{
		"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "TMPDIR", "TZ",
		"LANG", "LANGUAGE", "SSH_AUTH_SOCK",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		"GIT_SSL_CAINFO", "CLOUD_ML_REGION", "CLAUDE_CONFIG_DIR", "TRACEPARENT", "TRACESTATE",
	}
	prefixes = []string{"LC_", "ANTHROPIC_", "AWS_", "GOOGLE_", "VERTEX_", "CLAUDE_CODE_", "OTEL_"}

	// Markers of an enclosing session, and switches that would break what the driver relies on: a turn must
	// not start unrequested after a resume.
	never = []string{"CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
		// Agents must not share one list of tasks.
		"CLAUDE_CODE_TASK_LIST_ID"}
)

// EnvAllowed reports whether a child may inherit the variable of that name.
func EnvAllowed(name string) bool {
	if slices.Contains(names, name) {
		return true
	}
	if slices.Contains(never, name) || strings.HasSuffix(name, "_ENTRYPOINT") ||
		strings.HasSuffix(name, "_SESSION_ID") || strings.Contains(name, "_MESSAGING_") {
		return false
	}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// EnvFrom returns the variables that a child may inherit from an environment (NAME=value entries), plus extra.
// The caller owns the map.
func EnvFrom(inherited []string, extra map[string]string) map[string]string {
	env := map[string]string{}
	for _, entry := range inherited {
		if name, value, ok := strings.Cut(entry, "="); ok && EnvAllowed(name) {
			env[name] = value
		}
	}
	for name, value := range extra {
		env[name] = value
	}
	return env
}

// EnvList renders an environment as sorted NAME=value entries.
func EnvList(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// ConfigDir returns the directory in which a CLI with this environment and working directory keeps its
// sessions; empty if that cannot be determined.
func ConfigDir(env []string, cwd string) string {
	if dir := EnvLookup(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		return dir
	}
	home := EnvLookup(env, "HOME")
	if home == "" {
		me, err := user.Current()
		if err != nil {
			return ""
		}
		home = me.HomeDir
	}
	return filepath.Join(home, ".claude")
}

// EnvLookup finds a variable in an environment; empty if it is not there.
func EnvLookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
