package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestPermissionOverAResume: a request that was open when all processes were killed is made again, with the
// same id, when its agent asks again, and not before.
func TestPermissionOverAResume(t *testing.T) {
	testkit.Long(t)
	path := scenarioFile(t, `name: asks
title: It asks
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Touch it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: (?s)kind. done.*It is touched
        verdict: {decision: COMPLETE, message: It is done., summary: It was touched., reason: r}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: touch touched.txt, description: Touch}}]
      - verdict:
          expects_response: true
          kind: done
          message: It is touched.
          handoff: {accomplished: [touched], remaining: [], key_context: none, decisions: [], constraints: [], files: [], checks: [], open_questions: [], claims: []}
`)
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil, append(p.args, "--json", "--scenario", path, "--task", "Weave")...)
			asked := await[contract.PermissionRequest](s, "a request", nil)
			_ = s.cmd.Process.Kill()
			s.gone()
			awaitGone(t, s.run())
			n := s.again("--json", "--resume")
			again := await[contract.PermissionRequest](n, "the request again", nil)
			if again.Request != asked.Request || again.Tool != "Bash" {
				t.Errorf("asked %+v, and then %+v", asked, again)
			}
			n.send(contract.Permit{Request: again.Request, Behavior: "allow"})
			n.finish(contract.ExitComplete)
			spoken := slices.IndexFunc(n.lines, func(l contract.Line) bool { // to the agent, which asks then
				_, ok := l.Body.(contract.Delivered)
				return ok && l.ID == "orch-1"
			})
			open := slices.IndexFunc(n.lines, func(l contract.Line) bool {
				_, ok := l.Body.(contract.PermissionRequest)
				return ok
			})
			if spoken < 0 || open < spoken {
				t.Errorf("it is reported as open (line %d) before anybody asks again (line %d)", open, spoken)
			}
			if list := collect[contract.PermissionRequest](n); len(list) != 1 {
				t.Errorf("asked %d times in the second process run: %+v", len(list), list)
			}
			if _, err := os.Stat(filepath.Join(collect[contract.Session](n)[0].CWD, "touched.txt")); err != nil {
				t.Error(err)
			}
		})
	}
}
