package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// localHost is a host that is a local command with a home and a search path of its own: it writes the configuration of
// a user who has it, and returns that file's directory as the flags need it.
func localHost(t *testing.T, claude string, slots int) (config string) {
	t.Helper()
	dir := gittest.Temp(t)
	bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
	for _, d := range []string{bin, home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	arbiter, err := exec.LookPath("arbiter")
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"arbiter": arbiter, "claude": claude} {
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := bin + ":/usr/local/bin:/usr/bin:/bin"
	return write(t, fmt.Sprintf("hosts:\n  box:\n    command: [env, -i, HOME=%s, 'PATH=%s']\n    slots: %d\n"+
		"    pass_env: [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n",
		home, path, slots), dir, "config.yaml")
}

// TestOrchestratorsOnAHost: four work on another host, two of them on the same line. Their work is brought back and
// merged here, a conflict goes back to its author, and the run ends as if they had worked here.
func TestOrchestratorsOnAHost(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
			claude := p.args[len(p.args)-1]
			if !p.real {
				claude = standInProgram(t)
			}
			config := localHost(t, claude, 4)
			play := strings.ReplaceAll(fourHands, "MEET", t.TempDir())
			s, model := hiredIn(t, p, play, repo.Path, "--config", config, "--hosts", "box", "--isolation", "worktree",
				"--lease", "30s", "--allow", "Bash", "--allow", "Write", "--allow", "Edit",
				"--accept", "test -f three.txt && test -f dir/four.txt", "--task", "Weave")
			await[contract.Result](s, "the result", nil)
			s.finish(contract.ExitComplete)
			if list := model.Problems(); len(list) > 0 {
				t.Errorf("the play left its script: %v\n%s", list, s.dump())
			}
			var hosts []string
			for _, b := range collect[contract.Spawn](s) {
				hosts = append(hosts, b.Host)
			}
			if !slices.Contains(hosts, "box") {
				t.Errorf("agents lived on %q", hosts)
			}
			var stands []string
			for _, b := range collect[contract.Host](s) {
				stands = append(stands, b.Status)
			}
			if got := strings.Join(stands, " "); !strings.HasPrefix(got, "waiting up") {
				t.Errorf("the host was %s\n%s", got, s.dump())
			}
		})
	}
}
