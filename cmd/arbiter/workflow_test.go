package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// moves returns the run's state changes in short form.
func moves(s *script) []string {
	return testkit.Each(collect[contract.State](s),
		func(m contract.State) string { return m.From + " " + m.Trigger + " " + m.To })
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
		s := p.plays(t, "workflow", "Weave", "--no-input")
		s.decidesThrice()
		r := s.finish(contract.ExitComplete)
		testkit.Check(t, r.Iterations == 4 && r.Crashes == 0, "result %+v", r)
		testkit.Same(t, "states", taskMoves, moves(s))
		testkit.Same(t, "decisions", []string{
			"1 select session: SELECT_MODE planner", "2 evaluate session: SELECT_MODE developer",
			"3 select session: RETRY orch-2", "4 evaluate session: SELECT_MODE tester",
			"5 evaluate session: SELECT_MODE reviewer", "6 evaluate session: COMPLETE",
		}, rulingsOf(s))
		testkit.Same(t, "plan", []string{"ppp", "app", "dpp", "dap", "ddp", "dda", "ddd"}, planned(s))
		if e := collect[contract.Error](s); len(e) > 0 { // the decider answers: no human is asked
			t.Errorf("errors %+v", e)
		}
		s.files(map[string]bool{"loom.txt": true, "warp.txt": false})
		explainsTheFailure(t, s)
		s.replaysExactly()
		// The rules would have made the same decisions.
		out, _ := s.output(int(contract.ExitComplete), "replay", s.run(), "--decisions", "--decider", "rules")
		testkit.Includes(t, "replayed by the rules", out, "rules: 6 asked, 6 the same, 0 differ, 0 failed; 0 skipped")
	})
}

// explainsTheFailure checks the inputs of the third and of the fourth decision.
func explainsTheFailure(t *testing.T, s *script) {
	t.Helper()
	read := func(number string, in any) {
		t.Helper()
		x := besideJSON[subcommands.Explanation](s, "decide", "--explain", s.run(), "--number", number)
		testkit.OK(t, json.Unmarshal(x.Input, in))
	}
	var third decider.SelectAgentInput
	read("3", &third)
	e := third.LastError
	testkit.Need(t, e != nil && e.Agent == "developer" && e.Tool == "Bash" && e.PlanStep == 1 &&
		e.Category == decider.ToolFailure && strings.Contains(e.Attempted, "warp.txt") &&
		strings.Contains(e.Message, "No such file") && strings.Contains(e.Context.CommandExecuted, "cat warp.txt"),
		"the last error: %+v", e)
	actions := testkit.Each(e.RecoveryOptions,
		func(o decider.RecoveryOption) decider.DecisionAction { return o.Action })
	testkit.Same(t, "what can be done",
		[]decider.DecisionAction{decider.DecisionRetry, decider.DecisionSkip, decider.DecisionFallback}, actions)
	c := third.Constraints
	testkit.Check(t, c.CurrentIteration == 2 && c.ConsecutiveFailures == 1 && c.TotalFailures == 1, "constraints %+v", c)
	var fourth decider.EvaluateProgressInput
	read("4", &fourth)
	done := testkit.Each(fourth.History,
		func(x decider.ExecutionSummary) string {
			return fmt.Sprintf("%s %d %s", x.Agent, x.Iteration, x.Status)
		})
	testkit.Same(t, "history", []string{"planner 1 success", "developer 2 failure", "developer 2 success"}, done)
	failed := fourth.History[1].Error
	testkit.Check(t, failed != nil && failed.Tool == "Bash" && failed.Category == decider.ToolFailure &&
		failed.Step == 1 && len(failed.RecoveryOptions) != 0, "the failed execution: %+v", failed)
	testkit.Check(t, fourth.LastExecution.Agent == "developer" && fourth.LastExecution.Error == nil &&
		fourth.Constraints.ConsecutiveFailures == 0, "what is judged: %+v", fourth.LastExecution)
	testkit.Includes(t, "in prose", stdoutOf(s.output(0, "decide", "--explain", s.run(), "--number", "3")), "tool_failure",
		"RETRY")
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
		testkit.Check(s.t, (d.Source == "model") == (d.CostUSD > 0) || d.Source == "fallback",
			"decision %d by %s cost %g", d.Number, d.Source, d.CostUSD)
		sum += d.CostUSD
		rounded++
	}
	testkit.Check(s.t, math.Abs(sum-r.CostUSD) <= rounded*0.5e-6+1e-9, "the run cost %g, its turns and decisions %g",
		r.CostUSD, sum)
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
				s := p.plays(t, "workflow", "Weave", "--no-input", "--decider", c.decider, "--decision-cache")
				s.decidesThrice()
				r := s.finish(contract.ExitComplete)
				testkit.Same(t, "decisions", c.want, rulingsOf(s))
				testkit.Same(t, "states", taskMoves, moves(s))
				for _, turn := range s.lines {
					_, ok := turn.Body.(contract.Turn)
					testkit.Check(t, !ok || turn.ID != contract.Arbiter, "the Arbiter was spoken to")
				}
				diff := cmp.Diff([]string{"ppp", "app", "dpp", "dap", "ddp", "dda", "ddd"}, planned(s))
				testkit.Check(t, diff == "" && r.Iterations == 4, "result %+v, plan (-want +got):\n%s", r, diff)
				s.billed(r)
				s.replaysExactly()
				if c.decider == "stateless" && !p.real {
					// Decisions on the same input come from the cache, except the last.
					cached := s.again(s.cmd.Args[1:]...)
					result := cached.finish(contract.ExitComplete)
					testkit.Same(t, "with what was remembered",
						taskRulings("cache", "cache", "cache", "cache", "cache", "model"), rulingsOf(cached))
					cached.billed(result)
					// A replay asks for every decision.
					again, _ := s.output(0, append([]string{"replay", s.run(), "--decisions", "--scenario", "workflow"}, p.args...)...)
					testkit.Includes(t, "", again, "stateless: 6 asked, 6 the same")
				}
			})
		}
	}
}

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
	done := decider.EvaluateProgressInput{TaskInput: aSelection("Weave").TaskInput,
		LastExecution: decider.ExecutionSummary{Agent: "developer", Status: decider.StatusSuccess}}
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
	got := testkit.Each(lines[:len(lines)-1],
		func(line string) string {
			return runstore.DecisionText(decodedAs[subcommands.Redecision](t, line).Recorded)
		})
	text := strings.Join(got, ", ")
	testkit.Check(t, text == "SELECT_MODE planner, CONTINUE", "compared are %s:\n%s", text, raw)
	testkit.Check(t, strings.Contains(lines[0], `"same":true`) && strings.Contains(lines[len(lines)-1], `"skipped":4`),
		"%v", raw)
	testkit.Includes(t, "", stdoutOf(r.arbiter(contract.ExitComplete, "decide", "--explain", "--number", "1", r.id)),
		"summoned   planner")
}

// TestReplayDecisions has the rules repeat decisions that others made: the planner comes out the same, the
// developer differs.
func TestReplayDecisions(t *testing.T) {
	r := newJournal(t, threeDecisions(t)...)
	out, _ := r.arbiter(contract.ExitFailed, "replay", r.id, "--decisions", "--decider", "rules")
	testkit.Includes(t, "", out, "2 select (record 2)", "recorded  SELECT_MODE developer (session)",
		"now       SELECT_MODE planner (rules)", "rules: 2 asked, 1 the same, 1 differ, 0 failed; 1 skipped")
	testkit.Excludes(t, "what is the same is reported, or escapes", out, "1 select", "\x1b")
	if out, _ = r.arbiter(contract.ExitComplete, "replay", r.id, "--decisions", "--decider", "rules", "--only",
		"1, 3"); !strings.Contains(out, "1 asked, 1 the same, 0 differ, 0 failed; 1 skipped") {
		t.Error(out)
	}
	raw, _ := r.arbiter(contract.ExitFailed, "replay", r.id, "--decisions", "--decider", "rules", "--json")
	lines := strings.Split(strings.TrimSpace(raw), "\n")
	testkit.Need(t, len(lines) == 3, "%d lines:\n%s", len(lines), raw)
	x, sum := decodedAs[subcommands.Redecision](t, lines[1]), decodedAs[subcommands.Tally](t, lines[2])
	testkit.Check(t, x.Number == 2 && !x.Same && x.Now != nil && x.Now.Mode == "planner" && sum.Differ == 1 &&
		sum.Skipped == 1 && sum.Decider == "rules", "%s", raw)
}

// TestNothingToCompareIsNoPass: a replay that compared no decision fails and says so.
func TestNothingToCompareIsNoPass(t *testing.T) {
	r := newJournal(t, threeDecisions(t)...)
	out, errs := r.arbiter(contract.ExitUsage, "replay", r.id, "--decisions", "--decider", "rules", "--only", "3")
	testkit.Check(t, strings.Contains(out, "0 asked") &&
		strings.Contains(errs, "no decision to compare (1 were skipped"), "%s%s", out, errs)
	r = newJournal(t)
	r.arbiter(contract.ExitUsage, "replay", r.id, "--decisions", "--decider", "rules")
	// Likewise, no moment is explained of a run without any inputs.
	if out, errs = r.arbiter(contract.ExitEnvironment, "decide", "--explain", "--at", "last", r.id); out != "" ||
		!strings.Contains(errs, "there is no moment to explain") {
		t.Errorf("%s%s", out, errs)
	}
}

// aside prepares an arbiter process in the directory of a journal. The directory for its temporary files must
// have no files of arbiter at the end of the test. (The CLI leaves some of its own.)
func (r aRun) aside(stdin string, args ...string) (cmd *exec.Cmd, out, errs *testkit.Buffer) {
	r.t.Helper()
	home := testkit.Must(os.Getwd())(r.t)
	tmp := r.t.TempDir()
	cmd = exec.Command("arbiter", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_CACHE_HOME=" + host.CacheHome(), "TMPDIR=" + tmp, "LANG=C.UTF-8", "CLAUDE_CODE_MAX_RETRIES=0"}
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = home, strings.NewReader(stdin), waitTimeout
	out, errs = new(testkit.Buffer), new(testkit.Buffer)
	cmd.Stdout, cmd.Stderr = out, errs
	r.t.Cleanup(func() {
		left, _ := filepath.Glob(filepath.Join(tmp, "arbiter-*"))
		testkit.Check(r.t, len(left) == 0, "left in the temporary directory: %v", left)
	})
	return cmd, out, errs
}

var markInLog = regexp.MustCompile(`msg=bridge run=(\S+)`)

// TestAskingIsCalledOff interrupts a decider whose model is silent: no process is left.
func TestAskingIsCalledOff(t *testing.T) {
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t)
			onlyLinux(t) // elsewhere the process cannot be seen
			r := newJournal(t, threeDecisions(t)...)
			silent := playOf(actor("decider", object{"role": "main"}, []object{{"fault": object{"stall": "300s"}}}))
			args := append([]string{"replay", r.id, "--decisions", "--debug", "--scenario", scenarioFile(t, silent)},
				p.args...)
			cmd, _, errs := r.aside("", args...)
			testkit.OK(t, cmd.Start())
			mark := ""
			testkit.Await(t, "a model that is asked", func() bool {
				if m := markInLog.FindStringSubmatch(errs.String()); m != nil {
					mark = m[1]
				}
				if mark == "" {
					return false
				}
				for _, line := range survivors(mark) {
					if strings.Contains(line, "--system-prompt") {
						return true
					}
				}
				return false
			})
			testkit.OK(t, cmd.Process.Signal(os.Interrupt))
			_ = cmd.Wait()
			code := cmd.ProcessState.ExitCode()
			testkit.Check(t, code == int(contract.ExitInterrupted), "exit code %d\n%s", code, errs)
			testkit.Empty(t, "left behind", survivors(mark))
		})
	}
}

// TestMomentsAreExplained plays a run, and checks what would be decided at its end and at its beginning.
func TestMomentsAreExplained(t *testing.T) {
	testkit.Long(t)
	s := start(t, nil, "--stand-in", "--json", "--task", "Weave it")
	s.finish(contract.ExitComplete)
	out, _ := s.output(int(contract.ExitComplete), "decide", "--at", "last", "--json")
	var points []string
	for line := range bytes.Lines([]byte(out)) {
		var x subcommands.Explanation
		testkit.OK(t, json.Unmarshal(line, &x))
		testkit.Check(t, x.Rehearsal && x.Rules != nil && x.Rendered != nil && x.Rendered.Problem == "" &&
			strings.Contains(string(x.Input), "Weave it"), "%s", line)
		points = append(points, string(x.Point))
	}
	testkit.Check(t, strings.Join(points, " ") == "select evaluate", "points %q:\n%s", points, out)
	out, _ = s.output(int(contract.ExitComplete), "decide", "--explain", "--at", "1",
		s.run())
	testkit.Includes(t, "", out, "after record 1")
	testkit.Excludes(t, "", out, "evaluate")
	// It also shows what was decided.
	out, _ = s.output(int(contract.ExitComplete), "decide", "--explain")
	testkit.Includes(t, "", out, "session", "COMPLETE")
}
