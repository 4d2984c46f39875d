package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestNothingIsLeftOnAHost: when a run is complete, the directories and branches on the host whose work is merged are
// gone, and the work is here.
func TestNothingIsLeftOnAHost(t *testing.T) {
	t.Parallel()
	p := players(t)[0]
	kind, home := hostKinds()[0], ""
	start := kind.commands
	kind.commands = func(t *testing.T, claude string) map[string]string {
		commands := start(t, claude)
		_, home, _ = strings.Cut(commands["box"], "HOME=")
		home, _, _ = strings.Cut(home, ",")
		return commands
	}
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ := hiredIn(t, p, oneHand, repo.Path, "--config", kind.configuration(t, ""), "--hosts", "box",
		"--isolation", "worktree", "--allow", "Write", "--allow", "Bash", "--task", "Weave")
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	data := filepath.Join(home, ".local/share/arbiter/hosts")
	cache := filepath.Join(data, "cache", ".git")
	if left, err := filepath.Glob(filepath.Join(data, "*", "orch-*")); err != nil || len(left) > 0 {
		t.Errorf("left on the host: %v, %v\n%s", left, err, s.stderr.String())
	}
	if refs := repo.Git("ls-remote", cache, "refs/*"); refs != "" {
		t.Errorf("left in the cache of the host:\n%s", refs)
	}
	merged := repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/arbiter/*/main")
	if got := repo.Git("show", merged+":one.txt"); got != "one" {
		t.Errorf("merged here: %q", got)
	}
}
