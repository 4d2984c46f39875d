package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// oneHand is a play in which one Orchestrator works on a host.
const oneHand = `
name: one-hand
title: One at the cloth
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part one}}]
      - verdict: {decision: CONTINUE, message: Weave., reason: One is summoned.}
      - expect: "part is woven"
        verdict: {decision: COMPLETE, message: It is done., summary: The cloth is woven., reason: All are done.}
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: It is at work.}
  - name: one
    match: {role: orchestrator, contains: Weave part one}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/one.txt", content: "one\n"}}]
      - &done
        verdict:
          expects_response: true
          kind: done
          message: The part is woven.
          handoff:
            accomplished: [a part]
            remaining: []
            key_context: In the files.
            checks: [{command: "test -f one.txt", expect: exit 0}]
    otherwise: *done
`

// TestTrustedSettingsOnAHost: hooks of the workspace run on a host if the workspace is trusted and its copy on
// the host has the same hooks. Only the real CLI runs hooks.
func TestTrustedSettingsOnAHost(t *testing.T) {
	for _, p := range players(t) {
		if !p.real {
			continue
		}
		p.long(t)
		for _, c := range []struct {
			name string
			args []string
			ran  bool
		}{{"trusted", []string{"--trust"}, true}, {"not trusted", nil, false}} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				mark := filepath.Join(t.TempDir(), "mark")
				settings := fmt.Sprintf(`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"pwd >> %s"}]}]}}`,
					mark)
				repo := gittest.New(t, map[string]string{".claude/settings.json": settings})
				config := hostKinds()[0].configuration(t, p.args[len(p.args)-1])
				s, _ := hiredIn(t, p, oneHand, repo.Path, append([]string{"--config", config, "--hosts", "box",
					"--allow", "Write", "--allow", "Bash", "--task", "Weave"}, c.args...)...)
				await[contract.Result](s, "the result", nil)
				s.finish(contract.ExitComplete)
				raw, _ := os.ReadFile(mark)
				if ran := strings.Contains(string(raw), "/orch-1"); ran != c.ran {
					t.Errorf("the hook ran on the host: %v, in %q\n%s", ran, raw, s.dump())
				}
			})
		}
	}
}
