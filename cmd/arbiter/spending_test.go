package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// spenders is a play in which four Orchestrators wait for a file after a model call that costs about a dollar.
// Then each reports progress again and again, at the same cost each time.
const spenders = `name: spenders
title: Four at work
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Spin one."}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Spin two."}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Spin three."}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Spin four."}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: "until [ -e go ]; do sleep 0.1; done", description: Spin}}]
        usage: {cache_creation: 150000}
    otherwise:
      verdict: {kind: progress, expects_response: false, message: Spun.}
      usage: {cache_creation: 150000}
`

// finishesAtLimit waits until the human is asked about a cost limit, and ends the run there.
func (s *script) finishesAtLimit() {
	s.t.Helper()
	await(s, "the question about a limit", func(_ string, b contract.Question) bool {
		return b.Question == supervisor.LimitQuestion && slices.Contains(b.Options, "finish")
	})
	s.send(contract.Choose{Option: "finish"})
}

// TestCostsAreSharedWhileTheyArise: the cost of a running turn is reported while it runs, and four agents that
// together reach --max-cost exceed it by at most one turn of one agent. A run that is killed while it asks
// about the limit asks again.
func TestCostsAreSharedWhileTheyArise(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) { // the driver's TestLiveSpending covers the real CLI's reports
		one := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, spenders), "--task",
			"Spin")...)
		one.offScript = true // its commands are interrupted
		ofOne := await[contract.Cost](one, "the cost of an Orchestrator's turn",
			func(id string, b contract.Cost) bool {
				return strings.HasPrefix(id, "orch-") && b.CostUSD > 0.1
			})
		if ofOne.Usage.CacheCreation < 150_000 || ofOne.RunCostUSD < ofOne.CostUSD {
			t.Errorf("told %+v", ofOne)
		}
		one.send(contract.Cancel{})
		one.finish(contract.ExitFailed)

		limit := ofOne.CostUSD * 3.3
		all := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, spenders), "--task", "Spin",
			"--max-cost", fmt.Sprintf("%.4f", limit), "--fuse", "100")...)
		all.offScript = true
		began := await[contract.Session](all, "the session", nil)
		testkit.OK(t, os.WriteFile(filepath.Join(began.CWD, "go"), nil, 0o600))
		q := await(all, "the question about the limit", func(_ string, b contract.Question) bool {
			return b.Question == supervisor.LimitQuestion
		})
		if len(q.Options) != 2 {
			t.Errorf("asked %+v", q)
		}
		_ = all.cmd.Process.Kill()
		<-all.ended
		again := all.again("--json", "--resume")
		again.offScript = true
		again.finishesAtLimit()
		r := again.finish(contract.ExitLimit)
		turn := 0.0
		for _, s := range []*script{all, again} {
			for _, b := range collect[contract.Turn](s) {
				turn = max(turn, b.CostUSD)
			}
			for _, b := range collect[contract.Cost](s) {
				turn = max(turn, b.CostUSD)
			}
		}
		if r.Status != contract.StatusLimit || !strings.Contains(r.Summary, "the cost reached") ||
			r.CostUSD < limit || r.CostUSD > limit+turn {
			t.Errorf("limit %v, a turn cost %v, result %+v", limit, turn, r)
		}
	})
}
