package main

import (
	"encoding/json"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// priced is a play with a plan of one step, which an Orchestrator does.
const priced = `
name: planned
title: One step
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__set_plan, input: {steps: [{text: Spin.}]}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin.}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}
    otherwise: {verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}}
  - name: weaver
    match: {role: orchestrator}
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: Spun.
        handoff: {accomplished: [spun], remaining: [], key_context: none}
`

// TestTheSecondRunHasAPrice: a run says that nothing is known, and the next one in the directory what its plan and its
// summons will cost. arbiter usage prints the same.
func TestTheSecondRunHasAPrice(t *testing.T) {
	t.Parallel()
	p := players(t)[0] // what is stored does not depend on who plays
	work, state := t.TempDir(), t.TempDir()
	run := func() (*script, []contract.Forecast) {
		s, _ := hiredIn(t, p, priced, work, "--no-input", "--state-dir", state, "--task", "Weave")
		s.finish(contract.ExitComplete)
		return s, collect[contract.Forecast](s)
	}
	if _, told := run(); len(told) != 1 || told[0] != (contract.Forecast{Unknown: 1}) {
		t.Errorf("the first run told %+v", told)
	}
	s, told := run()
	if len(told) != 3 || told[0].Step != 0 || told[0].From != 1 || told[0].Tokens == 0 || told[1].Step != 1 {
		t.Fatalf("the second run told %+v", told)
	}
	out, _ := s.output(int(contract.ExitComplete), "usage", "--forecast", "--json", "--state-dir", state, "--cwd", work)
	var list []contract.Forecast
	err := json.Unmarshal([]byte(out), &list)
	if err != nil || len(list) != 1 || list[0].From != 2 || list[0].Tokens == 0 {
		t.Errorf("%v, %s", err, out)
	}
}
