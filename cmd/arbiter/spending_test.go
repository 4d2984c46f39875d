package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// spenders is a play in which two Orchestrators are at a command that does not end, after a
// call of the model that is worth a dollar or so.
const spenders = `name: spenders
title: Two at work
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Spin one."}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Spin two."}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: "until [ -e go ]; do sleep 0.1; done", description: Spin}}]
        usage: {cache_creation: 150000}
`

// TestCostsAreSharedWhileTheyArise: what a running turn costs is told while it runs, and two
// agents that together reach --max-cost end the run, though neither has by itself.
func TestCostsAreSharedWhileTheyArise(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.long(t) // the driver's TestLiveSpending counts what the real CLI tells
			t.Parallel()
			one := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, spenders), "--task",
				"Spin")...)
			one.offScript = true // its commands are cut off
			ofOne := await[contract.Cost](one, "the cost of an Orchestrator's turn",
				func(id string, b contract.Cost) bool {
					return strings.HasPrefix(id, "orch-") && b.CostUSD > 0.1
				})
			if ofOne.Usage.CacheCreation < 150_000 || ofOne.RunCostUSD < ofOne.CostUSD {
				t.Errorf("told %+v", ofOne)
			}
			one.send(contract.Cancel{})
			one.finish(contract.ExitFailed)

			limit := ofOne.CostUSD * 1.8
			both := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, spenders), "--task", "Spin",
				"--max-cost", fmt.Sprintf("%.4f", limit))...)
			both.offScript = true
			r := both.finish(contract.ExitLimit)
			if r.Status != contract.StatusLimit || !strings.Contains(r.Summary, "the cost reached") ||
				r.CostUSD < limit || r.CostUSD > 2*limit {
				t.Errorf("limit %v, result %+v", limit, r)
			}
			for _, b := range collect[contract.Cost](both) {
				if b.CostUSD >= limit {
					t.Errorf("one of them had reached the limit by itself: %+v", b)
				}
			}
		})
	}
}
