package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestNothingIsLeftOnAHost: when a run is complete, directories and branches on the host whose work was merged
// are removed, and the work is here.
func TestNothingIsLeftOnAHost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repo, s, home := leavesAHost(t, oneHand)
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	data := filepath.Join(home, ".local/share/arbiter/hosts")
	cache := filepath.Join(data, "cache", ".git")
	if left, err := filepath.Glob(filepath.Join(data, "*", "orch-*")); err != nil || len(left) > 0 {
		t.Errorf("left on the host: %v, %v\n%s", left, err, s.stderr.String())
	}
	testkit.Same(t, "left in the cache of the host", "", repo.Git("ls-remote", cache, "refs/*"))
	merged := repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/arbiter/*/main")
	testkit.Same(t, "merged here", "one", repo.Git("show", merged+":one.txt"))
}

// leavesAHost starts a run with a host, and also returns the home directory there.
func leavesAHost(t *testing.T, play string) (repo gittest.Dir, s *script, home string) {
	t.Helper()
	kind := hostKinds()[0]
	start := kind.commands
	kind.commands = func(t *testing.T, claude string) map[string]string {
		commands := start(t, claude)
		_, home, _ = strings.Cut(commands["box"], "HOME=")
		home, _, _ = strings.Cut(home, ",")
		return commands
	}
	repo = gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ = hiredIn(t, players(t)[0], play, repo.Path, "--config", kind.configuration(t, ""), "--hosts", "box",
		"--isolation", "worktree", "--allow", "Write", "--allow", "Bash", "--task", "Weave")
	return repo, s, home
}

// leftHand is a play in which the Orchestrator is released before its work is done.
const leftHand = `
name: left-hand
title: One leaves the cloth
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part one}}]
      - verdict: {decision: CONTINUE, message: Weave., reason: One is summoned.}
      - expect: Which thread
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: orch-1, reason: Enough.}}]
      - verdict: &done {decision: COMPLETE, message: It is done., summary: Without it., reason: Enough.}
    otherwise: {verdict: *done}
  - name: one
    match: {role: orchestrator}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/one.txt", content: "one\n"}}]
      - verdict: {kind: question, expects_response: true, message: Which thread?}
`

// TestUnmergedWorkStaysOnAHost: the directory of an agent whose work was not merged stays and is named; its
// contents are on the agent's branch here.
func TestUnmergedWorkStaysOnAHost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repo, s, home := leavesAHost(t, leftHand)
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	branch := repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/arbiter/*/orch-1.*")
	want := "the work of orch-1 was not merged: it is on branch " + branch
	if output := s.stderr.String(); branch == "" || !strings.Contains(output, want) ||
		!strings.Contains(output, "on host box") {
		t.Errorf("it does not say %q:\n%s", want, output)
	}
	if left, err := filepath.Glob(filepath.Join(home, ".local/share/arbiter/hosts/*/orch-1/one.txt")); len(left) != 1 {
		t.Errorf("on the host there are %v, %v", left, err)
	}
	testkit.Same(t, "the branch here holds", "one", repo.Git("show", branch+":one.txt"))
}
