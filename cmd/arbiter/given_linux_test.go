package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// hostileEnvironment lists variables that a shell, another tool or an enclosing session may have set, and that
// would change the agents, load code into them, or be read by them.
var hostileEnvironment = []string{
	"NODE_OPTIONS=--require /tmp/x.js", "NODE_PATH=/tmp", "BUN_OPTIONS=--preload /tmp/x.js", "ELECTRON_RUN_AS_NODE=1",
	"LD_PRELOAD=", "LD_AUDIT=", "LD_LIBRARY_PATH=/nowhere", "DYLD_INSERT_LIBRARIES=/tmp/x.dylib", "BASH_ENV=/tmp/x.sh",
	"ENV=/tmp/x.sh", "PROMPT_COMMAND=id", "BASH_FUNC_ls%%=() { id; }", "SHELLOPTS=xtrace", "PS4=$(id)",
	"GIT_SSH_COMMAND=id", "GIT_EXTERNAL_DIFF=id", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.pager",
	"GIT_CONFIG_VALUE_0=id", "GIT_DIR=/tmp", "PYTHONSTARTUP=/tmp/x.py", "PYTHONPATH=/tmp", "PERL5OPT=-Mx",
	"RUBYOPT=-rx", "JAVA_TOOL_OPTIONS=-javaagent:x", "EDITOR=id", "VISUAL=id", "PAGER=id", "BROWSER=id",
	"GITHUB_TOKEN=ghp_0", "NPM_TOKEN=n", "DATABASE_URL=postgres://u:p@h/d", "KUBECONFIG=/tmp/k", "DOCKER_HOST=tcp://h",
	"SUDO_ASKPASS=/tmp/x", "DBUS_SESSION_BUS_ADDRESS=unix:path=/x", "CLAUDECODE=1", "CLAUDE_PID=1",
	"CLAUDE_ENV_FILE=/tmp/x", "CLAUDE_PROJECT_DIR=/tmp", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=s",
	"CLAUDE_CODE_SSE_PORT=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_MESSAGING_SOCKET=s",
	"CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "CLAUDE_CODE_TASK_LIST_ID=l",
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0", "DISABLE_AUTOUPDATER=0", "IS_SANDBOX=1",
	"ARBITER_LOCK_FD=9", "ARBITER_HOOK_TOKEN=t", "ARBITER_HOOK_SOCKET=/tmp/s",
}

// TestWhatAnAgentIsGiven starts arbiter with this environment and with files left open. A program in place of
// claude writes down what it was given.
func TestWhatAnAgentIsGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	claude, secret := filepath.Join(dir, "claude"), filepath.Join(dir, "secret")
	program := `#!/bin/sh
case "$1" in --version) echo '2.1.329 (Claude Code)'; exit;; esac
mkdir '` + dir + `/first' || exit 1
cd '` + dir + `/first'
tr '\0' '\n' </proc/$$/environ >environ
printf '%s\n' "$@" >arguments
exec ls -l /proc/self/fd/ 2>/dev/null >files
`
	testkit.OK(t, os.WriteFile(claude, []byte(program), 0o700), os.WriteFile(secret, []byte("secret"), 0o600))
	s := prepare(t, append(slices.Clone(hostileEnvironment), "ANTHROPIC_API_KEY=sk-ant-rehearsal-0000"), "--json",
		"--claude", claude, "--task", "Weave")
	for range 3 { // as a shell may leave them open
		f := testkit.Must(os.Open(secret))(t)
		defer f.Close()
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, f)
	}
	s.launch()
	s.finish(contract.ExitEnvironment) // the program is not claude

	read := func(name string) []string {
		raw := testkit.Must(os.ReadFile(filepath.Join(dir, "first", name)))(t)
		return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	}
	var names []string
	for _, entry := range read("environ") {
		name, value, _ := strings.Cut(entry, "=")
		names = append(names, name)
		testkit.Check(t, !slices.Contains(hostileEnvironment, entry), "it was given %s=%s", name, value)
	}
	slices.Sort(names)
	want := []string{
		"ANTHROPIC_API_KEY", "ARBITER_AGENT", "ARBITER_BRIDGE", "ARBITER_RUN",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
		"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_SHELL_PREFIX",
		"CLAUDE_CODE_TOTAL_TOKENS_REMINDER", "DISABLE_AUTOUPDATER", "HOME", "LANG", "MAX_STRUCTURED_OUTPUT_RETRIES",
		"PATH", "TMPDIR",
	}
	testkit.Same(t, "variables", want, names)
	arguments := read("arguments")
	for _, pair := range [][2]string{{"--setting-sources", "user"}, {"--permission-prompt-tool", "stdio"},
		{"--permission-mode", "default"}} {
		if at := slices.Index(arguments, pair[0]); at < 0 || at+1 >= len(arguments) || arguments[at+1] != pair[1] {
			t.Errorf("%s is not %s: %q", pair[0], pair[1], arguments)
		}
	}
	testkit.Check(t, slices.Contains(arguments, "--strict-mcp-config"), "MCP servers of others are not kept out: %q",
		arguments)
	for _, line := range read("files")[1:] {
		_, line, _ = strings.Cut(line, ":") // the colon in the time
		_, line, _ = strings.Cut(line, " ")
		fd, target, _ := strings.Cut(line, " -> ")
		if !slices.Contains([]string{"0", "1", "2"}, fd) && !strings.HasPrefix(target, "/proc/") { // opened by ls
			t.Errorf("it has %s open, as %s", target, fd)
		}
	}
}

// TestModesOfARun: even under a umask of 000, only the user can read what a run stores: files 0600, directories
// 0700, sockets 0600. Its agents inherit no files except their pipes and the run's lock.
func TestModesOfARun(t *testing.T) {
	t.Parallel()
	s := prepare(t, nil, "--stand-in", "--json", "--scenario", absolute(t, "testdata/scenarios/asks.yaml"), "--task",
		"Two files", "--debug")
	program := testkit.Must(exec.LookPath("arbiter"))(t)
	s.cmd.Args = append([]string{"sh", "-c", `umask 000; exec "$0" "$@"`, program}, s.cmd.Args[1:]...)
	s.cmd.Path = testkit.Must(exec.LookPath("sh"))(t)
	s.launch()
	state := filepath.Join(s.cmd.Dir, ".local", "state", "arbiter")
	for _, tool := range []string{"Bash", "Write"} {
		asked := s.wants(tool)
		oursAlone(t, state)
		agents := 0
		for pid, line := range survivors(s.run()) {
			if !strings.Contains(line, host.StandInCommand) || !strings.Contains(line, "--input-format") {
				continue
			}
			agents++
			open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
			for _, fd := range open {
				target, _ := os.Readlink(fd)
				testkit.Check(t, !strings.HasPrefix(target, state) || strings.Contains(filepath.Base(target), "lock") ||
					strings.Contains(target, "/home/"), "agent %d has %s: %s", pid, fd, target)
			}
		}
		testkit.Check(t, agents != 0, "no agent was looked at")
		s.send(contract.Permit{Request: asked.Request, Behavior: bridge.Deny, Action: asked.Action})
	}
	s.completes()
	oursAlone(t, state)
}

// oursAlone checks the modes of everything below a directory, except Claude's own home in a rehearsal.
func oursAlone(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		n++
		testkit.Check(t, info.Mode()&fs.ModeSymlink != 0 || info.Mode().Perm()&0o077 == 0, "%s has mode %v", path,
			info.Mode())
		if e.IsDir() && e.Name() == "home" {
			return filepath.SkipDir
		}
		return nil
	})
	testkit.Check(t, err == nil && n >= 5, "%d files in %s: %v", n, dir, err)
}
