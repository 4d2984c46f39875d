package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestWorkflowLimits runs the task into each limit: it ends in the state that belongs to the limit, and its
// result says which limit was reached.
func TestWorkflowLimits(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   []string
		actors string
		exit   contract.Exit
		status string
		moves  []string // the last state changes
		plan   string   // final statuses of the steps
		told   []string // texts in the summary
	}{
		{
			name: "iterations", args: []string{"--max-iterations", "2"}, exit: contract.ExitLimit,
			status: contract.StatusLimit,
			moves:  []string{"evaluating ARBITER_DECISION selecting", "selecting AGENT_SELECTED complete"}, plan: "dpp",
			told: []string{"2 Orchestrators summoned", "--max-iterations", "1 of 3 steps",
				"At hand: Prove that it weaves.",
				"Executions: 3, the last by orch-2 (developer, success): The loom is built"},
		},
		{
			name: "failures in a row", args: []string{"--max-failures", "1"}, exit: contract.ExitFailed,
			status: contract.StatusFailed,
			moves:  []string{"selecting AGENT_SELECTED executing", "executing ARBITER_DECISION failed"}, plan: "app",
			told: []string{"1 execution in a row failed", "warp.txt", "0 of 3 steps",
				"At hand: Build the loom", "(developer, failure)"},
		},
		{
			name: "failures in all", args: []string{"--max-total-failures", "1"}, exit: contract.ExitFailed,
			status: contract.StatusFailed,
			moves:  []string{"selecting AGENT_SELECTED executing", "executing ARBITER_DECISION failed"}, plan: "app",
			told: []string{"1 execution of this task failed", "--max-total-failures", "0 of 3 steps"},
		},
		{
			name: "cost", args: []string{"--max-cost", "0.5"}, exit: contract.ExitLimit, status: contract.StatusLimit,
			moves: []string{"executing LIMIT complete"}, plan: "dpp",
			told: []string{"the cost reached $", "of $0.5000", "1 of 3 steps"}, actors: `
  - name: dear
    match: {role: orchestrator, contains: Try loom\.txt by command}
    steps:
      - use: [{tool: Bash, input: {command: "true", description: Try}}]
        usage: {input: 200000}
    otherwise: {verdict: {kind: progress, expects_response: false, message: It is dear.}, usage: {input: 200000}}
`,
		},
		{
			name: "time", args: []string{"--timeout", "10s"}, exit: contract.ExitLimit, status: contract.StatusLimit,
			moves: []string{"executing LIMIT complete"}, plan: "", told: []string{"10s"},
			actors: "\n  - {name: slow, match: {role: orchestrator}, otherwise: {fault: {stall: 300s}}}\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil, append(slices.Clone(c.args), "--stand-in", "--json", "--no-input", "--scenario",
				workflow(t, c.actors), "--task", "Weave")...)
			r := s.finish(c.exit)
			if r.Status != c.status {
				t.Errorf("result %+v", r)
			}
			for _, text := range c.told {
				if !strings.Contains(r.Summary, text) {
					t.Errorf("the summary lacks %q: %s", text, r.Summary)
				}
			}
			got := moves(s)
			if diff := cmp.Diff(c.moves, got[max(0, len(got)-len(c.moves)):]); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			stood := ""
			if list := planned(s); len(list) > 0 {
				stood = list[len(list)-1]
			}
			if stood != c.plan {
				t.Errorf("the plan stood at %q, want %q", stood, c.plan)
			}
			s.replaysExactly()
		})
	}
}

// TestOrchestratorRecoversFromErrors: arbiter waits until a rate limit has passed; the task stays in executing,
// and nothing counts as a failure.
func TestOrchestratorRecoversFromErrors(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t)
			t.Parallel()
			s := start(t, []string{"CLAUDE_CODE_MAX_RETRIES=0"},
				append(slices.Clone(p.args), "--json", "--no-input", "--task", "Weave", "--max-failures", "1",
					"--decider", "rules", "--scenario", workflow(t, `
  - name: hurried
    match: {role: orchestrator, contains: "You work as `+"`developer`"+`"}
    steps:
      - fault: {status: 429}
      - use: [{tool: Bash, input: {command: echo weft over warp > loom.txt, description: Build it}}]
    otherwise:
      verdict: {expects_response: true, kind: done, message: The loom is built., handoff: {accomplished: [built], remaining: [], key_context: none}}
`))...)
			s.decidesThrice()
			s.finish(contract.ExitComplete)
			if diff := cmp.Diff(taskMoves, moves(s)); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			var waits []string
			for _, r := range collect[contract.Retry](s) {
				category, _, _ := strings.Cut(r.Reason, ":")
				waits = append(waits, category)
			}
			if diff := cmp.Diff([]string{string(bridge.CatRateLimit)}, waits); diff != "" {
				t.Errorf("waited for (-want +got):\n%s", diff)
			}
			if e := collect[contract.Error](s); len(e) != 0 {
				t.Errorf("errors %+v", e)
			}
		})
	}
}
