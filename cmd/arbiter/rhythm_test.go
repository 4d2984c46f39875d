package main

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
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
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.long(t)
			t.Parallel()
			s := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, looks(failing)),
				"--task", "Look")...)
			if r := s.finish(contract.ExitComplete); !sums(r, "looked") {
				t.Errorf("result %+v", r)
			}
		})
	}
}

// TestReportsPause: the third report in a row without a changed file is answered after a pause.
func TestReportsPause(t *testing.T) {
	const reporting = `
    steps:
      - {verdict: {kind: progress, expects_response: false, message: It is not there.}, repeat: 3}
      - verdict:` + neverCame
	testkit.Long(t) // the supervisor's TestReportsWithoutAChangePause needs no pause
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, looks(reporting)),
				"--task", "Look")...)
			n := await[contract.Notice](s, "word of the pause", func(_ string, b contract.Notice) bool {
				return strings.Contains(b.Text, "it continues in 5s")
			})
			at := time.Now()
			if r := s.finish(contract.ExitComplete); !sums(r, "looked") || time.Since(at) < 4*time.Second {
				t.Errorf("%v after %q: %+v", time.Since(at), n.Text, r)
			}
		})
	}
}
