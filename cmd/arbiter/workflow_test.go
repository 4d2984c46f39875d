package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
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

// wrongRuler is an Arbiter that names a mode that does not exist, says nothing, and sends a message to an agent
// that is gone, each until the rules decide.
const wrongRuler = `
  - name: wrong
    match: {role: arbiter}
    otherwise:
      - {expect: "(?s)kind: done.*The loom was read", verdict: {decision: COMPLETE, message: It is done., summary: It stands., reason: r}}
      - {expect: The warp is missing, verdict: {decision: RETRY, to: orch-2, message: Lay the warp., reason: r}}
      - {expect: "(?s)kind: done.*The loom was tried", verdict: {decision: SELECT_MODE, mode: reviewer, message: Read loom.txt with fresh eyes., reason: r}}
      - {expect: "(?s)kind: done.*The loom is built|orch-1. is gone", verdict: {decision: CONTINUE, to: orch-1, message: Go on., reason: r}}
      - {expect: "kind: task|no mode .wizard", verdict: {decision: SELECT_MODE, mode: wizard, message: Enchant it., reason: r}}
      - {say: ""}
`

// TestAnArbiterThatRulesWrongly: a wrong decision of the Arbiter is corrected twice each time; then the rules
// decide. The Arbiter decides again with its next valid decision.
func TestAnArbiterThatRulesWrongly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s := start(t, nil, append(slices.Clone(p.args), "--json", "--no-input", "--scenario",
			workflow(t, wrongRuler), "--task", "Weave")...)
		s.decidesThrice()
		r := s.finish(contract.ExitComplete)
		if diff := cmp.Diff(taskRulings("fallback", "fallback", "session", "fallback", "session", "session"),
			rulingsOf(s)); diff != "" {
			t.Errorf("decisions (-want +got):\n%s", diff)
		}
		var corrections []string
		for _, m := range collect[contract.Message](s) {
			if m.Kind == "correction" && m.To == contract.Arbiter {
				corrections = append(corrections, m.Text)
			}
		}
		want := []string{`no mode "wizard"`, `no mode "wizard"`, "no verdict", "no verdict", "(orch-1) is gone",
			"(orch-1) is gone"}
		for i, text := range want {
			if len(corrections) != len(want) || !strings.Contains(corrections[i], text) {
				t.Fatalf("corrections %q", corrections)
			}
		}
		told := 0
		for _, e := range collect[contract.Error](s) {
			if e.Category == bridge.CatVerdict && strings.Contains(e.Message, "3 times") &&
				strings.Contains(e.Message, "the rules decide") {
				told++
			}
		}
		if told != 3 || !sums(r, "It stands.") {
			t.Errorf("%d errors say so, result %+v", told, r)
		}
	})
}

// steady is a developer that succeeds at once.
const steady = `
  - name: steady
    match: {role: orchestrator, contains: "You work as ` + "`developer`" + `"}
    steps:
      - use: [{tool: Bash, input: {command: echo weft over warp > loom.txt, description: Build it}}]
    otherwise:
      verdict: {expects_response: true, kind: done, message: The loom is built., handoff: {accomplished: [built], remaining: [], key_context: none}}
`

// TestTheArbiterIsLost: the Arbiter never decides, its model is down, or its process crashes repeatedly. The
// rules bring the task to its end, and each decision and the result say so.
func TestTheArbiterIsLost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name, actors string
		ills         sick // faults of the stand-in, which plays these cases alone
		real         bool
		args         []string
		category     bridge.Category
		why          string
	}{
		{"babbles", "\n  - {name: babbler, match: {role: arbiter}, otherwise: {say: Hm.}}\n", nil, false, nil,
			bridge.CatVerdict, "no valid verdict 3 times"},
		{"is down", "\n  - {name: down, match: {role: arbiter}, otherwise: {fault: {status: 503}}}\n" + steady, nil,
			true, []string{"--max-failures", "2"}, bridge.CatServer, "503"},
		{"dies", "", sick{"arbiter.*": "die-mid-turn"}, false, nil, bridge.CatCrash, "parked"},
	} {
		for _, p := range players(t) {
			if p.real && !c.real {
				continue
			}
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				args := p.args
				if c.ills != nil {
					args = []string{"--rehearse", "--claude", sickClaude(t, c.ills)}
				}
				s := start(t, []string{"CLAUDE_CODE_MAX_RETRIES=0"},
					slices.Concat(args, c.args, []string{"--json", "--no-input", "--scenario", workflow(t, c.actors),
						"--task", "Weave"})...)
				s.decidesThrice()
				r := s.finish(contract.ExitComplete)
				if r.Status != contract.StatusComplete || !strings.Contains(r.Summary, "The rules led here") ||
					!strings.Contains(r.Summary, c.why) {
					t.Errorf("result %+v", r)
				}
				s.awaitNotice("The Arbiter can no longer rule: ")
				d := collect[contract.Decision](s)
				for i, one := range d {
					if one.Number != i+1 || one.Source != "fallback" || len(one.Warnings) == 0 {
						t.Errorf("decision %+v", one)
					}
				}
				if n := len(d); n == 0 || !strings.Contains(d[n-1].Warnings[0], c.why) ||
					d[n-1].Decision != "COMPLETE" {
					t.Errorf("%d decisions, the last %+v", n, d[n-1])
				}
				if !slices.ContainsFunc(collect[contract.Error](s),
					func(e contract.Error) bool { return e.Category == c.category }) {
					t.Error("no error says so")
				}
			})
		}
	}
}

// TestTheArbiterIsBroughtBack: while the rules decide, the human restarts the Arbiter: it reads what was
// decided, and makes the remaining decisions.
func TestTheArbiterIsBroughtBack(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := start(t, nil, "--rehearse", "--claude", sickClaude(t, sick{"arbiter.[1-5]": "die-mid-turn"}), "--json",
		"--task", "Weave", "--scenario", workflow(t, `
  - name: patient # so that somebody works when it is brought back
    match: {role: orchestrator, contains: "You work as `+"`tester`"+`"}
    steps:
      - use: [{tool: Bash, input: {command: "`+untilLetGo+`", description: Wait}}]
    otherwise:
      verdict: {expects_response: true, kind: done, message: The loom was tried., handoff: {accomplished: [tried], remaining: [], key_context: none}}
`))
	await[contract.Decision](s, "a tester chosen by the rules", func(_ string, d contract.Decision) bool {
		return d.Mode == "tester" && d.Source == "fallback"
	})
	if q := collect[contract.Question](s); len(q) != 0 {
		t.Errorf("questions %+v", q)
	}
	s.send(contract.Choose{Option: "retry"})
	s.awaitNotice("The Arbiter rules again.")
	s.letGo()
	r := s.finish(contract.ExitComplete)
	d := collect[contract.Decision](s)
	if last := d[len(d)-1]; last.Source != "session" || last.Decision != "COMPLETE" ||
		strings.Contains(r.Summary, "The rules led here") || r.Crashes != 5 {
		t.Errorf("the last decision %+v, result %+v", last, r)
	}
	if n := len(s.spawns(contract.Arbiter)); n != 6 {
		t.Errorf("the Arbiter was started %d times", n)
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

// blocker has the actors of a reviewer that finds a blocker, of a developer that is told about it, and of a
// model that decides by its input alone: it completes if nothing is open.
const blocker = `
  - name: finder
    match: {role: orchestrator, contains: "You work as ` + "`reviewer`" + `|Read loom\\.txt with fresh eyes", nth: 1}
    steps:
      - use:
          - tool: mcp__arbiter__update_plan
            input: {index: 3, status: done}
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: The loom was read.
        handoff:
          accomplished: [loom.txt was read]
          remaining: ["BLOCKER: the selvage is missing"]
          key_context: The edge frays.
          open_questions: ["Which thread is for the selvage?"]
          checks: [{command: grep -c weft loom.txt, expect: '"1"'}]
          claims: [{claim: There is one weft, verified: true, check: 1}]
  - name: mender
    match: {role: orchestrator, contains: "BLOCKER: the selvage is missing[\\s\\S]*Which thread is for the selvage|Sew the selvage"}
    steps:
      - use:
          - tool: Bash
            input: {command: "printf 'selvage\\n' | cat - loom.txt > sewn && mv sewn loom.txt", description: Sew the selvage}
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: The selvage is sewn.
        handoff: {accomplished: [the selvage is sewn], remaining: [], key_context: In the first line., files: [loom.txt]}
  - name: judge
    match: {role: main, contains: "(?s)# Open points, by the last document of each.*BLOCKER: the selvage is missing"}
    otherwise:
      - expect: "since then there has worked: developer"
        verdict: {decision: SELECT_MODE, mode: reviewer, reason: The blocker is said to be mended., message: Look again.}
      - verdict: {decision: SELECT_MODE, mode: developer, reason: "The reviewer has found a blocker.", message: Sew the selvage.}
`

// arbiterMends is an Arbiter of the play that acts on a document with open points.
const arbiterMends = `
  - name: arbiter that reads
    match: {role: arbiter}
    otherwise:
      - expect: COMPLETE while
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: The work is done.}}]
      - expect: "Released: |Nothing is missing"
        verdict: {decision: COMPLETE, message: It is done., summary: The loom stands., reason: Nothing is open.}
      - expect: "The selvage is sewn"
        verdict: {decision: SELECT_MODE, mode: reviewer, message: Read loom.txt with fresh eyes., reason: It was mended.}
      - expect: "(?s)BLOCKER: the selvage is missing.*reviewer, remaining: BLOCKER"
        verdict: {decision: SELECT_MODE, mode: developer, message: Sew the selvage., reason: The reviewer has found a blocker.}
      - expect: (?s)from:? (?P<who>orch-\d+).*The warp is missing
        verdict: {decision: RETRY, to: "{{.who}}", message: Lay the warp first., reason: The order was wrong.}
      - expect: The loom was tried
        verdict: {decision: SELECT_MODE, mode: reviewer, message: Read loom.txt with fresh eyes., reason: Nobody has read it.}
      - expect: The loom is built
        verdict: {decision: SELECT_MODE, mode: tester, message: Try loom.txt by command., reason: Nobody has tried it.}
      - expect: The plan is laid|none is at work
        verdict: {decision: SELECT_MODE, mode: developer, message: Build loom.txt., reason: The plan begins with it.}
      - expect: "kind: task"
        verdict: {decision: SELECT_MODE, mode: planner, message: Lay a plan., reason: There is none.}
      - verdict: {decision: CONTINUE, message: Patience., reason: The thread continues.}
`

// TestAReviewersBlocker: with every decider, an open finding of a reviewer keeps the task from completing. An
// Orchestrator fixes it, a reviewer checks again, and then the task is complete.
func TestAReviewersBlocker(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, by := range []string{"session", "stateless", "hybrid", "rules"} {
		for _, p := range players(t) {
			t.Run(by+"/"+p.name, func(t *testing.T) {
				p.long(t) // TestSmallJob plays the real CLI
				t.Parallel()
				s := start(t, nil, append(slices.Clone(p.args), "--json", "--no-input", "--max-orchestrators", "8",
					"--scenario", workflow(t, blocker+arbiterMends[1:]), "--task", "Weave", "--decider", by)...)
				s.finish(contract.ExitComplete)
				var modes []string
				for _, d := range collect[contract.Decision](s) {
					if d.Decision == "SELECT_MODE" {
						modes = append(modes, d.Mode)
					}
				}
				want := []string{"planner", "developer", "tester", "reviewer", "developer", "reviewer"}
				if !slices.Equal(modes, want) {
					t.Fatalf("%s has summoned %v, want %v", by, modes, want)
				}
				s.blockerExplained()
			})
		}
	}
}

// blockerExplained checks the input of the decision on the reviewer's work.
func (s *script) blockerExplained() {
	s.t.Helper()
	number := 0
	for _, d := range collect[contract.Decision](s) {
		if d.Mode == "reviewer" {
			number = d.Number + 1
			break
		}
	}
	out, _ := s.output(0, "decide", "--explain", s.run(), "--number", strconv.Itoa(number), "--json")
	var x struct {
		Input    decider.EvaluateProgressInput
		Decision decider.Decision
		Rendered *subcommands.Rendered
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	read, session := x.Decision.Prompt, x.Decision.Source == decider.BySession
	if x.Decision.Source != decider.ByRules && !strings.Contains(read, "BLOCKER: the selvage is missing") ||
		session != strings.Contains(read, "| kind: done |") {
		s.t.Errorf("by %s, read:\n%s", x.Decision.Source, read)
	}
	if session && x.Rendered != nil {
		s.t.Errorf("the explanation shows a prompt that no model received: %+v", x.Rendered)
	}
	d := x.Input.LastExecution.Document
	if d == nil || len(d.Remaining) != 1 || len(d.OpenQuestions) != 1 || d.KeyContext != "The edge frays." ||
		len(d.Checks) != 1 || d.Checks[0].Result != "passed" || len(d.Claims) != 1 || d.Claims[0].Proof != "verified" {
		s.t.Errorf("the document in the input: %+v", d)
	}
	if o := x.Input.OpenPoints; len(o) != 1 || o[0].Agent != "reviewer" ||
		!strings.HasPrefix(o[0].Remaining[0], "BLOCKER") {
		s.t.Errorf("open points: %+v", o)
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
	testkit.Long(t)
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
				p.long(t)
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

// badAnswers are models that give wrong answers.
const badAnswers = `
  - name: talker # fences, and prose around them
    match: {role: main, contains: "Nothing was done yet"}
    otherwise:
      say: |
        There is {no} plan yet, so:
        ` + "```json" + `
        {"decision": "SELECT_MODE", "mode": "planner", "reason": "There is no plan {yet}."}
        ` + "```" + `
        So be it.
  - name: decided # at the third time
    match: {role: main, contains: "quoted: .*Hm, hm\\."}
    otherwise: {verdict: {decision: SELECT_MODE, mode: developer, reason: Step 1 is next.}}
  - name: wavering
    match: {role: main, contains: "quoted: .*Hm\\."}
    otherwise: {say: "Hm, hm."}
  - name: waverer
    match: {role: main, contains: "# What is to be judged\\s+- agent: planner"}
    otherwise: {say: Hm.}
`

// worseAnswers are none, or none that could be used.
const worseAnswers = `
  - name: babbler # never decides
    match: {role: main, contains: "# The last error\\s+- agent: developer"}
    otherwise: {verdict: {decision: SELECT_MODE, mode: wizard, reason: Magic.}}
  - name: ruin
    match: {role: main, contains: "# What is to be judged\\s+- agent: developer"}
    otherwise: {fault: {status: 500}}
`

// TestDecidersThatAnswerBadly: text around the JSON is taken, nonsense is corrected
// twice; beyond that, and where the API fails, the rules decide and say why.
func TestDecidersThatAnswerBadly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		actors, sources := badAnswers, taskRulings("model", "model", "model", "model", "model", "model")
		warnings := make([][]string, 6)
		warnings[1] = []string{"answer 1 could not be used", "answer 2 could not be used"}
		if !p.real { // to which they are answers like any other
			actors, sources = badAnswers+worseAnswers[1:],
				taskRulings("model", "model", "fallback", "fallback", "model", "model")
			warnings[2] = []string{"answer 1 could not be used", "answer 2 could not be used",
				"none of 3 answers could be used"}
			warnings[3] = []string{"asked again", "asked again", "the rules decide: "}
		}
		s := start(t, []string{"CLAUDE_CODE_MAX_RETRIES=0"},
			append(slices.Clone(p.args), "--json", "--no-input", "--scenario", workflow(t, actors),
				"--task", "Weave", "--decider", "stateless")...)
		s.decidesThrice()
		r := s.finish(contract.ExitComplete)
		if diff := cmp.Diff(sources, rulingsOf(s)); diff != "" {
			t.Fatalf("decisions (-want +got):\n%s", diff)
		}
		for i, want := range warnings {
			got := collect[contract.Decision](s)[i].Warnings
			if len(got) != len(want) {
				t.Errorf("decision %d warns of %q", i+1, got)
				continue
			}
			for k := range want {
				if !strings.Contains(got[k], want[k]) {
					t.Errorf("decision %d warns of %q, want %q", i+1, got[k], want[k])
				}
			}
		}
		if c := collect[contract.Decision](s)[2].CostUSD; c <= 0 {
			t.Errorf("three answers that could not be used cost %g", c)
		}
		s.billed(r)
	})
}

// TestTheDeciderIsSilent: its time runs out once, and the rules decide.
func TestTheDeciderIsSilent(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--no-input", "--task", "Weave", "--decider", "hybrid",
		"--decider-timeout", "5s", "--scenario", workflow(t, `
  - name: silent
    match: {role: main, contains: "# The last error"}
    otherwise: {fault: {stall: 300s}}
`))
	s.finish(contract.ExitComplete)
	d := collect[contract.Decision](s)
	if len(d) != 6 || d[2].Decision != "RETRY" || d[2].Source != "fallback" || len(d[2].Warnings) != 1 ||
		!strings.Contains(d[2].Warnings[0], "no answer within 5s") {
		t.Errorf("decisions %+v", d)
	}
}

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
			testkit.Same(t, "states", c.moves, got[max(0, len(got)-len(c.moves)):])
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
	eachPlayerLong(t, func(t *testing.T, p player) {
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
		testkit.Same(t, "states", taskMoves, moves(s))
		var waits []string
		for _, r := range collect[contract.Retry](s) {
			category, _, _ := strings.Cut(r.Reason, ":")
			waits = append(waits, category)
		}
		testkit.Same(t, "waited for", []string{string(bridge.CatRateLimit)}, waits)
		if e := collect[contract.Error](s); len(e) != 0 {
			t.Errorf("errors %+v", e)
		}
	})
}
