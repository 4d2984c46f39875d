package claude

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// onlyTheCLI skips a test if the stand-in, which lacks a feature, takes the CLI's place.
func onlyTheCLI(t *testing.T, lacks string) {
	t.Helper()
	if len(realArgs) > 0 || standInByDay(t) {
		t.Skip("the stand-in " + lacks)
	}
}

// TestLiveToolShell: the Bash tool runs bash for any shell of the user, and the hook receives the
// directory.
func TestLiveToolShell(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "does not keep the shell's directory from one call to the next")
	s, _ := live(t, reply{tools: []call{bash(`echo "version: $BASH_VERSION"; mkdir sub; cd sub`)}},
		reply{tools: []call{bash("pwd -P")}}, reply{text: "done"})
	s.cfg.Judged = true
	s.cfg.Env["SHELL"] = "/bin/zsh"
	var asked questions
	s.host.permission = asked.allow
	judged := make(chan bridge.JudgeParams, 10)
	s.host.judge = func(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
		judged <- p
		return bridge.JudgeResult{Behavior: bridge.Pass}, nil
	}
	s.launch()
	s.turn("go")
	results := of[bridge.ToolResult](s.host)
	if len(results) != 2 || strings.TrimSpace(results[0].Text) == "version:" ||
		!strings.HasPrefix(results[0].Text, "version: ") {
		t.Fatalf("results: %+v of %+v", results, s.host.all())
	}
	dir, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(results[1].Text); got != filepath.Join(dir, "sub") {
		t.Errorf("the second call ran in %q", got)
	}
	close(judged)
	var places []string
	for p := range judged {
		places = append(places, p.CWD)
	}
	if len(places) != 2 || places[0] != dir || places[1] != filepath.Join(dir, "sub") {
		t.Errorf("the calls were judged in %q", places)
	}
}

// TestToolShell: commands get no login, whatever else there is in their environment, and run as in the CLI's own bash.
func TestToolShell(t *testing.T) {
	l := NewLauncher(filepath.Join(t.TempDir(), "cache"))
	env, err := l.withToolShell([]string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=a", "ANTHROPIC_KEY=a",
		"ANTHROPIC_AUTH_TOKEN=b", "CLAUDE_CODE_OAUTH_TOKEN=c", "ANTHROPIC_BASE_URL=http://x",
		"ANTHROPIC_CUSTOM_HEADERS=d\ne", "INPUT_ANTHROPIC_API_KEY=e", "INPUT_ALL_INPUTS=f", "AWS_SECRET_ACCESS_KEY=theirs",
		"AWS_BEARER_TOKEN_BEDROCK=g", "CLAUDE_CODE_MESSAGING_TOKEN=m", "odd-name=1", "arbiterx_name=2"})
	testkit.OK(t, err)
	script, _ := strings.CutPrefix(env[len(env)-1], shellPrefix+"=")
	run := func(command string) (output string, code int) {
		cmd := exec.Command(script, command)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, _ := run("env")
	var names []string
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	testkit.Same(t, "variables", []string{"ANTHROPIC_BASE_URL", "AWS_SECRET_ACCESS_KEY", "CLAUDE_CODE_MESSAGING_TOKEN",
		"PATH", "PWD", "SHLVL", "_", "arbiterx_name", "odd-name"}, names)
	for command, want := range map[string]string{
		`echo "$0 $# it's
two"; exit 3`: "bash 0 it's\ntwo\n",
		"nowhere-to-be-found; exit 3": "bash: line 1: nowhere-to-be-found: command not found\n",
	} {
		if out, code := run(command); out != want || code != 3 {
			t.Errorf("%s: %q, exit code %d", command, out, code)
		}
	}
	testkit.OK(t, os.WriteFile(script, []byte("#!/bin/sh\nenv\n"), 0o700)) // by somebody who wants the login
	testkit.Must(l.withToolShell(nil))(t)
	if out, _ := run("env"); strings.Contains(out, "API_KEY") {
		t.Errorf("the script was not restored: %s", out)
	}
	if own, err := l.withToolShell([]string{shellPrefix + "="}); err != nil || len(own) != 1 {
		t.Errorf("the user's prefix became %q, %v", own, err)
	}
	testkit.OK(t, os.Remove(script))
	testkit.OK(t, os.Mkdir(script, 0o700))
	for what, l := range map[string]*Launcher{"a script that cannot be written": l, "no cache": {},
		"a path with options": NewLauncher(filepath.Join(t.TempDir(), "a -b"))} {
		if _, err := l.withToolShell(nil); err == nil || !strings.Contains(err.Error(), "XDG_CACHE_HOME") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestToolShellIsNotReplaced: many processes write the script at once, while others may have it mounted.
func TestToolShellIsNotReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var work sync.WaitGroup
	for i := range 64 {
		work.Go(func() {
			path, err := writeToolShell(dir, fmt.Appendf(nil, "#!/bin/sh\necho %d\n", i%2))
			if err != nil {
				t.Error(err)
				return
			}
			before, err := os.Stat(path)
			for range 20 {
				if _, err := writeToolShell(dir, fmt.Appendf(nil, "#!/bin/sh\necho %d\n", i%2)); err != nil {
					t.Error(err)
				}
			}
			if after, again := os.Stat(path); err != nil || again != nil || !os.SameFile(before, after) {
				t.Errorf("it was replaced: %v, %v", err, again)
			}
		})
	}
	work.Wait()
	testkit.Same(t, "files", 2, len(testkit.Must(os.ReadDir(dir))(t)))
}

// TestNoToolShell: without bash no agent starts, for the rules could not read its commands.
func TestNoToolShell(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if path, err := toolShell(); err == nil || !strings.Contains(err.Error(), "install bash") {
		t.Errorf("%q, %v", path, err)
	}
}

// TestJudgedCalls: the directory of a call is known until it is over, and whether it ran with the input that was
// judged, however that is spelled.
func TestJudgedCalls(t *testing.T) {
	var d judgedCalls
	d.note("a", "/w", []byte(`{"a":1,"b":[2]}`))
	d.note("b", "/w/sub", []byte(`{"a":1}`))
	if d.directory("b") != "/w/sub" || d.directory("a") != "/w" || d.directory("c") != "" {
		t.Error("a directory is kept wrongly")
	}
	if d.ran("a", []byte(` {"b": [2], "a": 1}`)) || !d.ran("b", []byte(`{"a":2}`)) || d.ran("b", []byte(`{"a":2}`)) {
		t.Error("what ran is compared wrongly")
	}
	for range 3 * maxCallers {
		d.note(strings.Repeat("x", len(d.calls)+1), "/w", nil)
	}
	if len(d.calls) > maxCallers {
		t.Errorf("%d calls are kept", len(d.calls))
	}
}
