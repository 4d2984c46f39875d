package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// orchestratorStorm is a play in which the Arbiter spawns and releases Orchestrators without end.
const orchestratorStorm = `name: storm
title: One after the other
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      use:
        - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin.}}
        - {tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}
  - name: weaver
    match: {role: orchestrator}
    otherwise: {verdict: {kind: progress, expects_response: false, message: Spun.}}
`

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
			for range 2 {
				await[contract.SubagentStart](s, "a subagent", nil)
			}
			if err := os.WriteFile(filepath.Join(began.CWD, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r := s.finish(contract.ExitComplete); !sums(r, "spun") {
				t.Errorf("result %+v", r)
			}
			if n := len(collect[contract.SubagentStart](s)); n != 2 {
				t.Errorf("%d subagents started, want 2", n)
			}
		})
		t.Run("Orchestrators/"+who.name, func(t *testing.T) {
			who.long(t)
			t.Parallel()
			s := start(t, nil, append(who.args, "--json", "--no-input", "--scenario", scenarioFile(t, orchestratorStorm),
				"--task", "Spin", "--max-iterations", "3")...)
			s.offScript = true // the Arbiter is stopped in its turn
			r := s.finish(contract.ExitLimit)
			if r.Status != contract.StatusLimit || r.Iterations != 3 {
				t.Errorf("result %+v", r)
			}
		})
	}
}
