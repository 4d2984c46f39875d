package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// after returns the rest of the line that contains a mark.
func after(t *testing.T, text, mark string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, mark)
	if !ok {
		t.Fatalf("nothing says %q:\n%s", mark, text)
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// TestResumesAsPrinted: the printed resume command resumes the run when a shell executes it unchanged, even if
// only a flag selected the state directory and arbiter is not on PATH. The same holds for the other printed
// commands that name the run.
func TestResumesAsPrinted(t *testing.T) {
	t.Parallel()
	const mark = "To resume: "
	s := start(t, []string{"PATH=/usr/bin:/bin"}, "--stand-in", "--json", "--state-dir", "it's here", "--scenario",
		"dialogue", "--task", "Name it")
	run := await[contract.Session](s, "the beginning", nil).Session
	await[contract.Question](s, "a question", nil)
	testkit.OK(t, s.cmd.Process.Signal(os.Interrupt))
	s.finish(contract.ExitInterrupted)
	line := after(t, s.stderr.String(), mark)
	program, _, _ := strings.Cut(line, " ")             // the shell finds no arbiter
	onScreen := strings.Replace(line, "--json ", "", 1) // a human reads `sessions show`
	if shown, _ := s.output(0, "sessions", "show", "--state-dir", "it's here", command.ShortID(run)); after(t, shown,
		mark) != onScreen {
		t.Errorf("shown:\n%s\nwant %s", shown, onScreen)
	}
	shell := func(line string) (string, string) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = s.cmd.Dir, s.cmd.Env
		var errs strings.Builder
		cmd.Stderr = &errs
		out, _ := cmd.Output()
		return string(out), errs.String()
	}
	_, output := shell(program + " decide --explain --number 99 --state-dir \"it's here\" " + command.ShortID(run))
	explain, _, _ := strings.Cut(after(t, output, "(arbiter decide"), " lists them")
	if _, errs := shell(program + " decide" + explain); errs != "" {
		t.Errorf("arbiter decide%s: %s", explain, errs)
	}
	out, errs := shell(line)
	lines, err := contractLines(out)
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", line, err, out, errs)
	}
	if first := lines[0].Body.(contract.Session); first.Session != run || !first.Resumed {
		t.Errorf("%s: %+v", line, first)
	}
}

// TestStateIsNamedWhereNeeded: a printed command names the state directory if the command would otherwise use
// another one or none. The configuration counts for the command arbiter that begins or resumes a run, not for
// other commands.
func TestStateIsNamedWhereNeeded(t *testing.T) {
	home := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{home}, names...)...) }
	usual, other, link := at(".local", "state", "arbiter"), at("other"), at("link")
	for _, dir := range []string{other, at("work", ".arbiter"), at(".config", "arbiter"), at(".claude")} {
		testkit.OK(t, os.MkdirAll(dir, 0o700))
	}
	testkit.OK(t, os.Symlink(other, link))
	own, works := at(".config", "arbiter", "config.yaml"), at("work", ".arbiter", "config.yaml")
	const resumes, commands, trusts = 1, 2, 4
	for name, tt := range map[string]struct {
		state, variable string
		files           map[string]string
		names           int
	}{
		"usual":             {state: usual},
		"by flag":           {state: other, names: resumes | commands},
		"variable":          {state: other, variable: other},
		"variable, a link":  {state: other, variable: link},
		"variable, nearby":  {state: other, variable: "../other"},
		"variable, another": {state: usual, variable: other, names: resumes | commands},
		"own file":          {state: other, files: map[string]string{own: "state-dir: " + other}, names: commands},
		"own file, flag":    {state: usual, files: map[string]string{own: "state-dir: " + other}, names: resumes},
		"own file, beneath": {state: usual, variable: usual, files: map[string]string{own: "state-dir: " + other}},
		"broken file":       {state: usual, files: map[string]string{own: "state-dir: ["}, names: resumes},
		"not trusted": {state: other, files: map[string]string{works: "state-dir: " + other},
			names: resumes | commands},
		"trusted": {state: other, files: map[string]string{works: "state-dir: " + other}, names: commands | trusts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", home)
			for _, unset := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "ARBITER_CONFIG"} {
				t.Setenv(unset, "")
			}
			t.Setenv("ARBITER_STATE_DIR", tt.variable)
			t.Chdir(at("work"))
			for path, text := range tt.files {
				testkit.OK(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
				t.Cleanup(func() { _ = os.Remove(path) })
			}
			var out strings.Builder
			if tt.names&trusts != 0 {
				if code := run([]string{"arbiter", "trust", "--yes"}, strings.NewReader(""), &out, &out); code != 0 {
					t.Fatalf("%d %s", code, out.String())
				}
				t.Cleanup(func() { _ = os.RemoveAll(usual) })
			}
			for does, output := range map[int]string{resumes: settings.StateForResume(tt.state),
				commands: settings.StateForCommand(tt.state)} {
				want := ""
				if tt.names&does != 0 {
					want = " --state-dir " + tt.state
				}
				if output != want {
					t.Errorf("%d: %q, want %q", does, output, want)
				}
			}
			if _, err := os.Stat(usual); err == nil && tt.names&trusts == 0 {
				t.Error("a state directory was made")
			}
		})
	}
}
