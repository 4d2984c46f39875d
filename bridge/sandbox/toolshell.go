package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// EnvToolShell is set in the environment if a program with one argument must act as the CLI's tool shell.
const EnvToolShell = "ARBITER_TOOL_SHELL"

// keys are the variables with the CLI's credentials (observed with CLI 2.1.329) that [secret] does not
// recognize by their names.
var keys = []string{
	EnvToolShell, "CLAUDE_CODE_SHELL_PREFIX", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_IDENTITY_TOKEN_FILE",
	"CLAUDE_CODE_RUNNER_MODEL_SOCKET", "AWS_BEARER_TOKEN_BEDROCK", "ALL_INPUTS",
}

// isKey reports whether a variable belongs to the CLI and gives access to its API. Variables that give
// access to a cloud belong to the user, and tools may have them.
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

// withoutKeys returns an environment without the CLI's credentials.
func withoutKeys(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return isKey(name)
	})
}

// ToolShell returns how to run a command of the CLI without its keys: the program, its arguments and its
// environment. The shell is the one that requests it (parent), because the command was written for that
// shell.
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
