package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// workflow is the play of a task from a plan to its end. The given actors come before all others: the first
// that matches a conversation plays it.
func workflow(t *testing.T, actors string) string {
	t.Helper()
	raw, err := rehearsal.BuiltinSource("workflow")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), "\nactors:\n", "\nactors:\n"+actors, 1)
	if text == string(raw) && actors != "" {
		t.Fatal("the play has no actors")
	}
	return scenarioFile(t, text)
}

// moves returns the run's state changes in short form.
func moves(s *script) []string {
	var list []string
	for _, m := range collect[contract.State](s) {
		list = append(list, m.From+" "+m.Trigger+" "+m.To)
	}
	return list
}

// taskMoves are the task's state changes of the play, for every decider: the failed attempt stays in executing.
var taskMoves = []string{
	"idle START_TASK selecting",
	"selecting AGENT_SELECTED executing", "executing AGENT_COMPLETE evaluating",
	"evaluating ARBITER_DECISION selecting", "selecting AGENT_SELECTED executing",
	"executing AGENT_COMPLETE evaluating", "evaluating ARBITER_DECISION selecting",
	"selecting AGENT_SELECTED executing", "executing AGENT_COMPLETE evaluating",
	"evaluating ARBITER_DECISION selecting", "selecting AGENT_SELECTED executing",
	"executing AGENT_COMPLETE evaluating", "evaluating ARBITER_DECISION complete",
}

// rulingsOf returns the run's decisions in short form, with number, point and source.
func rulingsOf(s *script) []string {
	var list []string
	for _, d := range collect[contract.Decision](s) {
		what := d.Decision
		for _, more := range []string{d.Mode, d.To} {
			if more != "" {
				what += " " + more
			}
		}
		list = append(list, fmt.Sprintf("%d %s %s: %s", d.Number, d.Point, d.Source, what))
	}
	return list
}

// planned returns the statuses of the plan's steps after each change: p(ending), a(ctive), d(one), f(ailed),
// s(kipped).
func planned(s *script) []string {
	var list []string
	for _, p := range collect[contract.Plan](s) {
		stood := ""
		for _, step := range p.Steps {
			stood += step.Status[:1]
		}
		if len(list) == 0 || list[len(list)-1] != stood {
			list = append(list, stood)
		}
	}
	return list
}

// decidesThrice waits for the third decision, so that the whole play gets more time than one wait.
func (s *script) decidesThrice() {
	s.t.Helper()
	await[contract.Decision](s, "a third decision", func(_ string, d contract.Decision) bool { return d.Number == 3 })
}

// TestWorkflow plays a task from a plan over a failed attempt to its end, with the Arbiter as the decider, and
// checks the decisions' inputs.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil, append(slices.Clone(p.args), "--json", "--no-input", "--scenario", "workflow", "--task",
				"Weave")...)
			s.decidesThrice()
			r := s.finish(contract.ExitComplete)
			if r.Status != contract.StatusComplete || r.Iterations != 4 || r.Crashes != 0 {
				t.Errorf("result %+v", r)
			}
			if diff := cmp.Diff(taskMoves, moves(s)); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{
				"1 select session: SELECT_MODE planner", "2 evaluate session: SELECT_MODE developer",
				"3 select session: RETRY orch-2", "4 evaluate session: SELECT_MODE tester",
				"5 evaluate session: SELECT_MODE reviewer", "6 evaluate session: COMPLETE",
			}, rulingsOf(s)); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"ppp", "app", "dpp", "ddp", "ddd"}, planned(s)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if e := collect[contract.Error](s); len(e) > 0 { // the decider answers: no human is asked
				t.Errorf("errors %+v", e)
			}
			s.files(map[string]bool{"loom.txt": true, "warp.txt": false})
			explainsTheFailure(t, s)
			s.replaysExactly()
			// The rules would have made the same decisions.
			out, _ := s.output(int(contract.ExitComplete), "replay", s.run(), "--decisions", "--decider", "rules")
			if !strings.Contains(out, "rules: 6 asked, 6 the same, 0 differ, 0 failed; 0 skipped") {
				t.Errorf("replayed by the rules:\n%s", out)
			}
		})
	}
}

// explainsTheFailure checks the inputs of the third and of the fourth decision.
func explainsTheFailure(t *testing.T, s *script) {
	t.Helper()
	read := func(number string, in any) {
		t.Helper()
		out, _ := s.output(0, "decide", "--explain", s.run(), "--number", number, "--json")
		var x subcommands.Explanation
		if err := json.Unmarshal([]byte(out), &x); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if err := json.Unmarshal(x.Input, in); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var third decider.SelectAgentInput
	read("3", &third)
	e := third.LastError
	if e == nil || e.Agent != "developer" || e.Tool != "Bash" || e.PlanStep != 1 ||
		e.Category != decider.ToolFailure ||
		!strings.Contains(e.Attempted, "warp.txt") || !strings.Contains(e.Message, "No such file") ||
		!strings.Contains(e.Context.CommandExecuted, "warp.txt > loom.txt") {
		t.Fatalf("the last error: %+v", e)
	}
	var actions []decider.DecisionAction
	for _, o := range e.RecoveryOptions {
		actions = append(actions, o.Action)
	}
	if !slices.Equal(
		actions,
		[]decider.DecisionAction{decider.DecisionRetry, decider.DecisionSkip, decider.DecisionFallback},
	) {
		t.Errorf("what can be done: %v", actions)
	}
	if c := third.Constraints; c.CurrentIteration != 2 || c.ConsecutiveFailures != 1 || c.TotalFailures != 1 {
		t.Errorf("constraints %+v", c)
	}
	var fourth decider.EvaluateProgressInput
	read("4", &fourth)
	var done []string
	for _, x := range fourth.History {
		done = append(done, fmt.Sprintf("%s %d %s", x.Agent, x.Iteration, x.Status))
	}
	if diff := cmp.Diff([]string{"planner 1 success", "developer 2 failure", "developer 2 success"}, done); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if failed := fourth.History[1].Error; failed == nil || failed.Tool != "Bash" ||
		failed.Category != decider.ToolFailure || failed.Step != 1 || len(failed.RecoveryOptions) == 0 {
		t.Errorf("the failed execution: %+v", failed)
	}
	if fourth.LastExecution.Agent != "developer" || fourth.LastExecution.Error != nil ||
		fourth.Constraints.ConsecutiveFailures != 0 {
		t.Errorf("what is judged: %+v", fourth.LastExecution)
	}
	if out, _ := s.output(0, "decide", "--explain", s.run(), "--number", "3"); !strings.Contains(out, "tool_failure") ||
		!strings.Contains(out, "RETRY") {
		t.Errorf("in prose:\n%s", out)
	}
}

// replaysExactly checks that the replay of a run with one process equals what was printed.
func (s *script) replaysExactly() {
	s.t.Helper()
	out, _ := s.output(0, "replay", s.run())
	lines, err := contractLines(out)
	if err != nil {
		s.t.Fatal(err)
	}
	want, _ := json.Marshal(s.lines)
	if got, _ := json.Marshal(lines); string(got) != string(want) {
		s.t.Errorf("the replay is another (-printed +replayed):\n%s", cmp.Diff(s.lines, lines))
	}
}
