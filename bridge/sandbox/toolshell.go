package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// EnvToolShell says in the environment that a program with one argument is to be the
// CLI's tool shell.
const EnvToolShell = "ARBITER_TOOL_SHELL"

// keys are what the CLI logs in with (observed with CLI 2.1.329), beside what
// [secret] tells by its name.
var keys = []string{
	EnvToolShell, "CLAUDE_CODE_SHELL_PREFIX", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_IDENTITY_TOKEN_FILE",
	"CLAUDE_CODE_RUNNER_MODEL_SOCKET", "AWS_BEARER_TOKEN_BEDROCK", "ALL_INPUTS",
}

// isKey reports whether a variable is the CLI's own and opens its API. What opens a cloud is
// the user's, for tools, too.
func isKey(name string) bool {
	name = strings.TrimPrefix(strings.ToUpper(name), "INPUT_")
	if slices.Contains(keys, name) {
		return true
	}
	if !strings.HasPrefix(name, "ANTHROPIC_") && !strings.HasPrefix(name, "CLAUDE_CODE_") {
		return false
	}
	return strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_SECRET") ||
		strings.HasSuffix(name, "_TOKEN") && !strings.HasSuffix(name, "_MESSAGING_TOKEN")
}

// withoutKeys is an environment without what the CLI logs in with.
func withoutKeys(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return isKey(name)
	})
}

// ToolShell says how a command of the CLI's is to be run without its keys: the program,
// its arguments and its environment. The shell is the one that asks for it, so that what
// was prepared for that is understood.
func ToolShell(command string, env []string, parent string) (path string, args, clean []string) {
	shell := parent
	if name := filepath.Base(parent); name != "bash" && name != "zsh" {
		var err error
		if shell, err = exec.LookPath("bash"); err != nil {
			shell = "/bin/sh"
		}
	}
	return shell, []string{filepath.Base(shell), "-c", command}, withoutKeys(env)
}

// IsToolShell reports whether this program was started as a tool shell.
func IsToolShell(args []string) bool { return len(args) == 2 && os.Getenv(EnvToolShell) != "" }
