package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// workflow is the play of a task from a plan to its end. The given actors come before all others: the first
// that matches a conversation plays it.
func workflow(t *testing.T, actors string) string {
	t.Helper()
	raw := testkit.Must(rehearsal.BuiltinSource("workflow"))(t)
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
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := start(t, nil, append(slices.Clone(p.args), "--json", "--no-input", "--scenario", "workflow", "--task",
			"Weave")...)
		s.decidesThrice()
		r := s.finish(contract.ExitComplete)
		if r.Status != contract.StatusComplete || r.Iterations != 4 || r.Crashes != 0 {
			t.Errorf("result %+v", r)
		}
		testkit.Same(t, "states", taskMoves, moves(s))
		if diff := cmp.Diff([]string{
			"1 select session: SELECT_MODE planner", "2 evaluate session: SELECT_MODE developer",
			"3 select session: RETRY orch-2", "4 evaluate session: SELECT_MODE tester",
			"5 evaluate session: SELECT_MODE reviewer", "6 evaluate session: COMPLETE",
		}, rulingsOf(s)); diff != "" {
			t.Errorf("decisions (-want +got):\n%s", diff)
		}
		testkit.Same(t, "plan", []string{"ppp", "app", "dpp", "ddp", "ddd"}, planned(s))
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
		!strings.Contains(e.Context.CommandExecuted, "cat warp.txt") {
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
	testkit.Same(t, "history", []string{"planner 1 success", "developer 2 failure", "developer 2 success"}, done)
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
	lines := testkit.Must(contractLines(out))(s.t)
	want, _ := json.Marshal(s.lines)
	if got, _ := json.Marshal(lines); string(got) != string(want) {
		s.t.Errorf("the replay is another (-printed +replayed):\n%s", cmp.Diff(s.lines, lines))
	}
}

// TestHumanIsAskedInsteadOfArbiter: if the Arbiter makes no valid decision and there is a human, the human
// is asked. After the answer, the Arbiter is asked again.
func TestHumanIsAskedInsteadOfArbiter(t *testing.T) {
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--task", "Weave", "--scenario", workflow(t, `
  - name: babbler
    match: {role: arbiter}
    otherwise:
      - {expect: Try it once more, verdict: {decision: RETRY, to: orch-2, message: Lay the warp., reason: the human has said so}}
      - {expect: "(?s)kind: done.*The loom is built", verdict: {decision: COMPLETE, message: It is done., summary: It stands., reason: r}}
      - say: Hm.
`))
	q := await[contract.Question](s, "a question", nil)
	if !strings.Contains(q.Text, "can no longer rule") {
		t.Errorf("question %q", q.Text)
	}
	s.send(contract.Say{Text: "Try it once more."})
	if r := s.finish(contract.ExitComplete); !sums(r, "It stands.") || r.Iterations != 2 {
		t.Errorf("result %+v", r)
	}
}

// taskRulings returns the decisions of the play, with these sources.
func taskRulings(sources ...string) []string {
	list := []string{
		"1 select S: SELECT_MODE planner", "2 evaluate S: SELECT_MODE developer", "3 select S: RETRY orch-2",
		"4 evaluate S: SELECT_MODE tester", "5 evaluate S: SELECT_MODE reviewer", "6 evaluate S: COMPLETE",
	}
	for i, source := range sources {
		list[i] = strings.Replace(list[i], "S", source, 1)
	}
	return list
}

// billed checks that the cost of the run is the sum of its turns and decisions.
func (s *script) billed(r contract.Result) {
	s.t.Helper()
	sum, rounded := 0.0, 1.0 // each amount is reported with six decimals
	for _, turn := range collect[contract.Turn](s) {
		sum += turn.CostUSD
		rounded++
	}
	for _, d := range collect[contract.Decision](s) {
		if asked := d.Source == "model"; asked != (d.CostUSD > 0) && d.Source != "fallback" {
			s.t.Errorf("decision %d by %s cost %g", d.Number, d.Source, d.CostUSD)
		}
		sum += d.CostUSD
		rounded++
	}
	if math.Abs(sum-r.CostUSD) > rounded*0.5e-6+1e-9 {
		s.t.Errorf("the run cost %g, its turns and decisions %g", r.CostUSD, sum)
	}
}

// TestWorkflowByDeciders plays the same task with deciders other than the Arbiter, which gets no messages.
func TestWorkflowByDeciders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		decider string
		want    []string
	}{
		{"stateless", taskRulings("model", "model", "model", "model", "model", "model")},
		// Rules decide the clear cases: the planner at the beginning, and steps that name their mode.
		{"hybrid", taskRulings("rules", "rules", "model", "rules", "rules", "model")},
		{"rules", taskRulings("rules", "rules", "rules", "rules", "rules", "rules")},
	} {
		for _, p := range players(t) {
			if p.real && c.decider != "stateless" {
				continue // the other deciders use the CLI less
			}
			t.Run(c.decider+"/"+p.name, func(t *testing.T) {
				if p.long(t); c.decider != "stateless" {
					testkit.Long(t)
				}
				t.Parallel()
				flags := append(slices.Clone(p.args), "--json", "--no-input", "--scenario", "workflow", "--task",
					"Weave", "--decider", c.decider, "--decision-cache")
				s := start(t, nil, flags...)
				s.decidesThrice()
				r := s.finish(contract.ExitComplete)
				testkit.Same(t, "decisions", c.want, rulingsOf(s))
				testkit.Same(t, "states", taskMoves, moves(s))
				for _, turn := range s.lines {
					if _, ok := turn.Body.(contract.Turn); ok && turn.ID == contract.Arbiter {
						t.Error("the Arbiter was spoken to")
					}
				}
				if diff := cmp.Diff([]string{"ppp", "app", "dpp", "dap", "ddp", "dda", "ddd"},
					planned(s)); diff != "" || r.Iterations != 4 {
					t.Errorf("result %+v, plan (-want +got):\n%s", r, diff)
				}
				s.billed(r)
				s.replaysExactly()
				if c.decider == "stateless" && !p.real {
					remembers(t, s, flags)
					// A replay asks for every decision.
					again, _ := s.output(0, append([]string{"replay", s.run(), "--decisions", "--scenario", "workflow"}, p.args...)...)
					if !strings.Contains(again, "stateless: 6 asked, 6 the same") {
						t.Error(again)
					}
				}
			})
		}
	}
}

// remembers plays the run once more: decisions on the same input come from the cache, except the last.
func remembers(t *testing.T, s *script, flags []string) {
	t.Helper()
	again := s.again(flags...)
	r := again.finish(contract.ExitComplete)
	if diff := cmp.Diff(taskRulings("cache", "cache", "cache", "cache", "cache", "model"),
		rulingsOf(again)); diff != "" {
		t.Errorf("with what was remembered (-want +got):\n%s", diff)
	}
	again.billed(r)
}
