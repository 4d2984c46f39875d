package claude

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
)

// shellPrefix makes the CLI start its Bash commands, shell hooks and stdio MCP servers as the one argument
// of a program (observed with CLI 2.1.329). The CLI's own CLAUDE_CODE_SUBPROCESS_ENV_SCRUB is not used: it
// needs bubblewrap, and leaves twenty empty files in the workspace and as many in the home directory.
const shellPrefix = "CLAUDE_CODE_SHELL_PREFIX"

// toolShellScript is that program. It removes the variables that contain the CLI's login: a variable that belongs to
// the CLI and whose name says that it gives access to the API, and those of the last lines (observed with CLI 2.1.329).
// Variables that give access to a cloud belong to the user, and tools may have them. It is a script because it starts
// before each command: bash needs half of the time in which a program as large as this one starts.
const toolShellScript = `#!%[1]s
# Arbiter wrote this file. Claude runs the commands of its tools, hooks and MCP servers through it, so that they do not
# get the login.
for arbiter_name in ${!ANTHROPIC_*} ${!CLAUDE_CODE_*} ${!INPUT_ANTHROPIC_*} ${!INPUT_CLAUDE_CODE_*}; do
	case $arbiter_name in
	*_MESSAGING_TOKEN) ;;
	*_KEY | *_SECRET | *_TOKEN) unset "$arbiter_name" ;;
	esac
done
unset arbiter_name CLAUDE_CODE_SHELL_PREFIX {,INPUT_}{ANTHROPIC_CUSTOM_HEADERS,ANTHROPIC_IDENTITY_TOKEN_FILE}
unset {,INPUT_}{CLAUDE_CODE_RUNNER_MODEL_SOCKET,AWS_BEARER_TOKEN_BEDROCK,ALL_INPUTS}
exec -a bash %[1]s -c "$1"
`

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

// withToolShell adds the tools' shell to the environment of a CLI. If the user has set the prefix, even to an empty
// value, it is kept.
func (l *Launcher) withToolShell(env []string) ([]string, error) {
	for _, entry := range env {
		if strings.HasPrefix(entry, shellPrefix+"=") {
			return env, nil
		}
	}
	bash, err := toolShell()
	if err != nil {
		return nil, err
	}
	path, err := writeToolShell(l.cache, fmt.Appendf(nil, toolShellScript, bash))
	if err != nil {
		return nil, claudeError(bridge.CatStart, "write the script that keeps the login from tools: %v; set "+
			"XDG_CACHE_HOME to a directory that you may write to", err)
	}
	return append(env, shellPrefix+"="+path), nil
}

// writeToolShell writes the script, unless it is there, and returns its path. Other processes may be about to start
// it, or to mount it in a sandbox: a file that is right is never replaced, and scripts for two shells have two names.
func writeToolShell(dir string, script []byte) (path string, err error) {
	switch {
	case dir == "":
		return "", errors.New("no cache directory is known")
	case strings.Contains(dir, " -"): // observed with CLI 2.1.329
		return "", fmt.Errorf("in %s, Claude Code would read what follows \" -\" as options", dir)
	}
	path = filepath.Join(dir, fmt.Sprintf("tool-shell-%.4x", sha256.Sum256(script)))
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, script) {
		return path, nil
	}
	there := !errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	whole := path + "." + rand.Text()
	defer os.Remove(whole)
	if err := os.WriteFile(whole, script, 0o700); err != nil {
		return "", err
	}
	if !there {
		if err := os.Link(whole, path); err == nil || errors.Is(err, fs.ErrExist) { // or another process wrote it
			return path, nil
		}
	}
	return path, os.Rename(whole, path)
}
