package main

import (
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// looks is a scenario of an Orchestrator with these steps.
func looks(steps string) string {
	return `
name: looks
allow: ["Bash(*)"]
actors:
  - name: worker
    match: {role: orchestrator}
` + steps + `
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Look for it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - {expect: It never came, verdict: {decision: COMPLETE, message: It is done., summary: looked, reason: r}}
`
}

const neverCame = `
          kind: done
          expects_response: true
          message: It never came.
          handoff: {accomplished: [looked], remaining: [], key_context: none}
`

// TestTheSameCallFails: an agent that repeats a failing call reads, within its turn, that it should stop.
func TestTheSameCallFails(t *testing.T) {
	const failing = `
    steps: []
    otherwise:
      - expect: the same call failed 5 times in a row
        verdict:` + neverCame + `
      - {use: [{tool: Bash, input: {command: cat never, description: Look}}]}
`
	eachPlayerLong(t, func(t *testing.T, who player) {
		s := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, looks(failing)),
			"--task", "Look")...)
		if r := s.finish(contract.ExitComplete); !sums(r, "looked") {
			t.Errorf("result %+v", r)
		}
	})
}
