// Package toolshell is the shell of the CLI's tools: it runs a command without the variables that contain the CLI's
// login.
//
// The CLI starts this program before each command. So it becomes the shell while packages are initialized: this one
// comes before the larger ones, whose initialization takes longer than the shell's own start.
package toolshell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Env is set in the environment if a program with one argument must act as the tools' shell.
const Env = "ARBITER_TOOL_SHELL"

func init() {
	if len(os.Args) == 2 && os.Getenv(Env) != "" {
		become(os.Args[1])
	}
}

// become replaces this process by the shell. It ends with the exit code that a shell has if that fails.
func become(command string) {
	parent, _ := os.Readlink("/proc/" + strconv.Itoa(os.Getppid()) + "/exe") // without it, the usual shell
	path, args, env := shell(command, os.Environ(), parent)
	err := syscall.Exec(path, args, env)
	fmt.Fprintf(os.Stderr, "arbiter: %s: %v\n", path, err)
	os.Exit(126)
}

// keys are the variables with the CLI's credentials (observed with CLI 2.1.329) whose names do not say so.
var keys = []string{
	Env, "CLAUDE_CODE_SHELL_PREFIX", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_IDENTITY_TOKEN_FILE",
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

// shell returns how to run a command of the CLI without its keys: the program, its arguments and its
// environment. The shell is the one that requests it (parent), because the command was written for that
// shell.
func shell(command string, env []string, parent string) (path string, args, clean []string) {
	path = parent
	if name := filepath.Base(parent); name != "bash" && name != "zsh" {
		var err error
		if path, err = exec.LookPath("bash"); err != nil {
			path = "/bin/sh"
		}
	}
	return path, []string{filepath.Base(path), "-c", command}, withoutKeys(env)
}
