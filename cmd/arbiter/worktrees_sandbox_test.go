package main

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// confined is a play in which a sandboxed Orchestrator commits in its clone, and tries to write elsewhere.
const confined = `
name: confined
title: A hand behind glass
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave}}]
      - verdict: {decision: CONTINUE, message: Weave., reason: It is summoned.}
      - expect: "(?s)is woven.*The work is merged"
        verdict: {decision: COMPLETE, message: It is done., summary: It is woven., reason: It was said.}
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: It is at work.}
  - name: weaver
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: "echo in > in.txt && git add in.txt && git commit -qm in", description: Commit}}]
      - use: [{tool: Bash, input: {command: "git -C REPO commit -q --allow-empty -m out && touch escaped-1; true", description: Try}}]
      - use: [{tool: Bash, input: {command: "touch REPO/x REPO/.git/x REPO/.git/objects/x; true", description: Try}}]
      - use: [{tool: Bash, input: {command: "touch ../arbiter/x && touch escaped-3; true", description: Try}}]
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: It is woven.
        handoff: {accomplished: [it], remaining: [], key_context: In in.txt., checks: [{command: "cat in.txt", expect: in}]}
`

// TestSandboxedOrchestratorCommitsInItsClone: it can commit in its clone, and write nowhere else.
func TestSandboxedOrchestratorCommitsInItsClone(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	needSandbox(t)
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t)
			t.Parallel()
			repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
			private, files := repo.Private(), repo.Files()
			s, _ := hiredIn(t, p, strings.ReplaceAll(confined, "REPO", repo.Path), repo.Path,
				"--isolation", "worktree", "--sandbox", "on", "--permissions", "allow-all", "--i-accept-the-risk", "--task",
				"Weave")
			result := await[contract.Result](s, "the result", nil)
			s.finish(contract.ExitComplete)
			w := collect[contract.Workspace](s)
			if len(w) != 1 || w[0].Isolation != "clone" {
				t.Fatalf("it works in %+v", w)
			}
			if names := repo.Git("ls-tree", "--name-only", result.Changes.Branch); names != "in.txt\nold.txt" {
				t.Errorf("the run branch has %q\n%s", names, s.dump())
			}
			if now := repo.Files(); len(now) != len(files) {
				t.Errorf("the user's files are %v", now)
			}
			for name, was := range private {
				if now := repo.Private()[name]; now != was {
					t.Errorf("%s was %q and is %q", name, was, now)
				}
			}
		})
	}
}
