package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// early makes the CLI compact at 167,000 tokens of a model with a window of a million. (A model with a window
// of 200,000 reports the same threshold, but was not seen to compact.)
var early = []string{"--model", "claude-opus-5-5", "--env", settings.CompactWindow + "=200000"}

// TestCompactionBlocked: if an agent ignores the context warning, its compaction is blocked, and it hands off.
func TestCompactionBlocked(t *testing.T) {
	testkit.Long(t)
	eachPlayer(t, func(t *testing.T, p player) {
		p.inside(t)
		s := start(t, nil,
			slices.Concat(p.args, early,
				[]string{"--json", "--no-input", "--scenario", absolute(t, "testdata/scenarios/cornered.yaml"),
					"--task", "Dig"})...)
		r := s.finish(contract.ExitComplete)
		if !sums(r, "filled in") {
			t.Errorf("result %+v", r)
		}
		c := collect[contract.Compact](s)
		if len(c) != 1 || !c[0].Blocked || c[0].Trigger != "auto" {
			t.Errorf("compactions %+v", c)
		}
		if l := collect[contract.ContextWarning](s); len(l) != 1 || l[0].Level != "critical" {
			t.Errorf("warnings %+v", l)
		}
	})
}

const loop = `
name: refill
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Bail out the boat.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: (?s)is parked. its context fills as fast as it is compacted.*written by the supervisor.*echo bail
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Mend the leak.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: (?s)kind. done
        verdict: {decision: COMPLETE, message: It is done., summary: mended, reason: r}
  - name: second
    match: {role: orchestrator, contains: Mend the leak}
    steps:
      - expect: (?s)Its author could not hand off.*written by the supervisor.*echo bail
        verdict: {kind: done, expects_response: true, message: Mended., handoff: {accomplished: [mended], remaining: [], key_context: k}}
  - name: first
    match: {role: orchestrator, contains: Bail out}
    steps:
      - {usage: {context: 175000}, repeat: forever, use: [{tool: Bash, input: {command: echo bail, description: Bail}}]}
`

// TestCompactionLoop: an agent whose context fills up again as fast as it is compacted is parked, and its
// successor gets a record of its work.
func TestCompactionLoop(t *testing.T) {
	testkit.Long(t)
	eachPlayer(t, func(t *testing.T, p player) {
		p.inside(t)
		s := start(t, nil,
			slices.Concat(p.args, early, []string{"--json", "--no-input", "--scenario", scenarioFile(t, loop),
				"--task", "Stay afloat"})...)
		r := s.finish(contract.ExitComplete)
		if !sums(r, "mended") {
			t.Errorf("result %+v", r)
		}
		s.oneError(bridge.CatCompaction)
		happened := 0
		for _, c := range collect[contract.Compact](s) {
			if !c.Blocked {
				happened++
			}
		}
		if happened < 2 {
			t.Errorf("%d compactions", happened)
		}
		h := collect[contract.Handoff](s)
		if len(h) != 2 || h[0].From != "orch-1" || !strings.Contains(h[0].GeneratedBecause, "fills as fast") {
			t.Errorf("hand-offs %+v", h)
		}
	})
}
