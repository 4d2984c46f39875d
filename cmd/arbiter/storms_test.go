package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// subagentStorm is a play in which an Orchestrator starts four subagents at once.
const subagentStorm = `name: storm
title: Four at once
allow: ["Bash(*)", Agent]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin all four.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}
  - name: weaver
    match: {role: orchestrator}
    steps:
      - use:
          - {tool: Agent, input: {description: North, subagent_type: general-purpose, prompt: Spin.}}
          - {tool: Agent, input: {description: East, subagent_type: general-purpose, prompt: Spin.}}
          - {tool: Agent, input: {description: South, subagent_type: general-purpose, prompt: Spin.}}
          - {tool: Agent, input: {description: West, subagent_type: general-purpose, prompt: Spin.}}
      - expect: (?s)Denied.*--max-subagents
        verdict:
          expects_response: true
          kind: done
          message: Two are spun.
          handoff: {accomplished: [two], remaining: [], key_context: none}
  - name: spinner
    match: {role: subagent}
    steps:
      - use: [{tool: Bash, input: {command: "until [ -e go ]; do sleep 0.1; done", description: Spin}}]
      - say: It is spun.
`

// nestedStorm is a play in which each subagent starts two more.
const nestedStorm = `name: storm
title: Each starts two
allow: ["Bash(*)", Agent]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}
  - name: weaver
    match: {role: orchestrator}
    steps:
      - use: [{tool: Agent, input: {description: Root, subagent_type: general-purpose, prompt: Spin.}}]
      - verdict:
          expects_response: true
          kind: done
          message: Spun.
          handoff: {accomplished: [spun], remaining: [], key_context: none}
  - name: spinner
    match: {role: subagent}
    steps:
      - use:
          - {tool: Agent, input: {description: Left, subagent_type: general-purpose, prompt: Spin.}}
          - {tool: Agent, input: {description: Right, subagent_type: general-purpose, prompt: Spin.}}
      - say: It is spun.
`

// awaitSubagents waits until so many subagents have started.
func awaitSubagents(s *script, n int) {
	s.t.Helper()
	started := map[string]bool{}
	await[contract.SubagentStart](s, "subagents", func(_ string, b contract.SubagentStart) bool {
		started[b.ToolUse] = true
		return len(started) >= n
	})
}

// TestStormsAreBounded: no more subagents work at the same time than allowed, and others are denied before they
// start. An Arbiter that spawns without end reaches the limit of its task.
func TestStormsAreBounded(t *testing.T) {
	for _, who := range players(t) {
		t.Run("subagents/"+who.name, func(t *testing.T) {
			who.long(t)
			t.Parallel()
			s := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, subagentStorm), "--task", "Spin",
				"--max-subagents", "2")...)
			began := await[contract.Session](s, "the session", nil)
			for range 2 {
				await[contract.Permission](s, "a denial", func(_ string, b contract.Permission) bool {
					return b.Behavior == "deny" && b.By == contract.ByLimit && strings.Contains(b.Reason, "--max-subagents")
				})
			}
			awaitSubagents(s, 2)
			testkit.OK(t, os.WriteFile(filepath.Join(began.CWD, "go"), nil, 0o600))
			if r := s.finish(contract.ExitComplete); !sums(r, "spun") {
				t.Errorf("result %+v", r)
			}
			if n := len(collect[contract.SubagentStart](s)); n != 2 {
				t.Errorf("%d subagents started, want 2", n)
			}
		})
		t.Run("nested/"+who.name, func(t *testing.T) {
			who.inside(t)
			who.long(t)
			t.Parallel()
			s := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, nestedStorm), "--task", "Spin",
				"--max-subagents", "3", "--max-subagents-total", "5")...)
			s.offScript = true // some of the subagents do not start
			if r := s.finish(contract.ExitComplete); !sums(r, "spun") {
				t.Errorf("result %+v", r)
			}
			if n := len(collect[contract.SubagentStart](s)); n > 5 {
				t.Errorf("%d subagents started, want at most 5", n)
			}
			denied := 0
			for _, b := range collect[contract.Permission](s) {
				if b.Behavior == "deny" && b.By == contract.ByLimit {
					denied++
				}
			}
			if denied == 0 {
				t.Error("nothing was denied")
			}
		})
	}
}
