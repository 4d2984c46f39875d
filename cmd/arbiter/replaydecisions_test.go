package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestArbitersToolCallsAreCompared: the Arbiter selects by calling its tool to spawn, and continues by sending
// a message; both are compared. A decision that no other decider can make is skipped.
func TestArbitersToolCallsAreCompared(t *testing.T) {
	session := func(n int, p decider.DecisionPoint, what string, in any) input.Decided {
		d := input.Decided{Number: n, Point: p,
			Decision: decider.Decision{Decision: what, Reason: "so be it", Source: decider.BySession}}
		if in != nil {
			d.Input = encoded(t, in)
		}
		return d
	}
	calls := func(id, tool, raw string) input.ToolCalled {
		return input.ToolCalled{Call: "c",
			Params: bridge.ToolCallParams{AgentRef: bridge.AgentRef{ID: id, Generation: 1}, Tool: tool,
				Input: json.RawMessage(raw)}}
	}
	done := decider.EvaluateProgressInput{
		Task: "Weave", LastExecution: decider.ExecutionSummary{Agent: "developer", Status: decider.StatusSuccess},
		AvailableAgents: aSelection("").AvailableAgents, Constraints: aSelection("").Constraints,
	}
	r := newJournal(t,
		calls("arbiter", "status", `{}`),
		calls("orch-9", "spawn_orchestrator", `{"mode":"developer"}`), // not a call by the Arbiter
		calls("arbiter", "spawn_orchestrator", `{"mode":"planner","prompt":"Plan."}`),
		session(1, decider.PointSelect, "CONTINUE", aSelection("Weave")),
		session(2, decider.PointSelect, "CONTINUE", aSelection("Weave")), // it waits
		session(3, decider.PointEvaluate, "ADDRESS_ORCHESTRATOR", done),
		session(4, decider.PointEvaluate, "ADDRESS_HUMAN", done),
		session(5, decider.PointEvaluate, "HANDOFF", done),
		input.Decided{Number: 6, Point: decider.PointEvaluate, Input: encoded(t, done), Deferred: true},
	)
	raw, _ := r.arbiter(contract.ExitFailed, "replay", r.id, "--decisions", "--decider", "rules", "--json")
	lines := strings.Split(strings.TrimSpace(raw), "\n")
	var got []string
	for _, line := range lines[:len(lines)-1] {
		var x subcommands.Redecision
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		got = append(got, runstore.DecisionText(x.Recorded))
	}
	if text := strings.Join(got, ", "); text != "SELECT_MODE planner, CONTINUE" {
		t.Errorf("compared are %s:\n%s", text, raw)
	}
	if !strings.Contains(lines[0], `"same":true`) || !strings.Contains(lines[len(lines)-1], `"skipped":4`) {
		t.Error(raw)
	}
	if out, _ := r.arbiter(contract.ExitComplete, "decide", "--explain", "--number", "1", r.id); !strings.Contains(out,
		"summoned   planner") {
		t.Error(out)
	}
}

// TestReplayDecisions has the rules repeat decisions that others made: the planner comes out the same, the
// developer differs.
func TestReplayDecisions(t *testing.T) {
	r := newJournal(t, threeDecisions(t)...)
	out, _ := r.arbiter(contract.ExitFailed, "replay", r.id, "--decisions", "--decider", "rules")
	for _, want := range []string{"2 select (record 2)", "recorded  SELECT_MODE developer (session)",
		"now       SELECT_MODE planner (rules)", "rules: 2 asked, 1 the same, 1 differ, 0 failed; 1 skipped"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "1 select") || strings.Contains(out, "\x1b") {
		t.Errorf("what is the same is reported, or escapes:\n%q", out)
	}
	if out, _ = r.arbiter(contract.ExitComplete, "replay", r.id, "--decisions", "--decider", "rules", "--only",
		"1, 3"); !strings.Contains(out, "1 asked, 1 the same, 0 differ, 0 failed; 1 skipped") {
		t.Error(out)
	}
	raw, _ := r.arbiter(contract.ExitFailed, "replay", r.id, "--decisions", "--decider", "rules", "--json")
	lines := strings.Split(strings.TrimSpace(raw), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines:\n%s", len(lines), raw)
	}
	var x subcommands.Redecision
	var sum subcommands.Tally
	for i, v := range []any{nil, &x, &sum} {
		if v == nil {
			continue
		}
		if err := json.Unmarshal([]byte(lines[i]), v); err != nil {
			t.Fatal(err)
		}
	}
	if x.Number != 2 || x.Same || x.Now == nil || x.Now.Mode != "planner" || sum.Differ != 1 || sum.Skipped != 1 ||
		sum.Decider != "rules" {
		t.Errorf("%s", raw)
	}
}

// TestNothingToCompareIsNoPass: a replay that compared no decision fails and says so.
func TestNothingToCompareIsNoPass(t *testing.T) {
	r := newJournal(t, threeDecisions(t)...)
	out, errs := r.arbiter(contract.ExitUsage, "replay", r.id, "--decisions", "--decider", "rules", "--only", "3")
	if !strings.Contains(out, "0 asked") || !strings.Contains(errs, "no decision to compare (1 were skipped") {
		t.Errorf("%s%s", out, errs)
	}
	r = newJournal(t)
	r.arbiter(contract.ExitUsage, "replay", r.id, "--decisions", "--decider", "rules")
	// Likewise, no moment is explained of a run without any inputs.
	if out, errs = r.arbiter(contract.ExitEnvironment, "decide", "--explain", "--at", "last", r.id); out != "" ||
		!strings.Contains(errs, "there is no moment to explain") {
		t.Errorf("%s%s", out, errs)
	}
}
