package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
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
		testkit.OK(t, json.Unmarshal([]byte(line), &x))
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
		testkit.OK(t, json.Unmarshal([]byte(lines[i]), v))
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

// aside prepares an arbiter process in the directory of a journal. The directory for its temporary files must
// have no files of arbiter at the end of the test. (The CLI leaves some of its own.)
func (r aRun) aside(stdin string, args ...string) (cmd *exec.Cmd, out, errs *shared) {
	r.t.Helper()
	home := testkit.Must(os.Getwd())(r.t)
	tmp := r.t.TempDir()
	cmd = exec.Command("arbiter", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_CACHE_HOME=" + host.CacheHome(), "TMPDIR=" + tmp, "LANG=C.UTF-8", "CLAUDE_CODE_MAX_RETRIES=0"}
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = home, strings.NewReader(stdin), waitTimeout
	out, errs = new(shared), new(shared)
	cmd.Stdout, cmd.Stderr = out, errs
	r.t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(tmp, "arbiter-*")); len(left) > 0 {
			r.t.Errorf("left in the temporary directory: %v", left)
		}
	})
	return cmd, out, errs
}

// asking runs such a process to its end.
func (r aRun) asking(want contract.Exit, stdin string, args ...string) (stdout, stderr string) {
	r.t.Helper()
	cmd, out, errs := r.aside(stdin, args...)
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != int(want) {
		r.t.Errorf("arbiter %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, want, out, errs)
	}
	return out.String(), errs.String()
}

// decidingBy returns the flags for a scenario in which these steps answer each question. Each question is a
// separate conversation, even if it is a repeated question with a correction.
func decidingBy(t *testing.T, steps string) []string {
	t.Helper()
	script := "name: decider\ntitle: Somebody decides\nactors:\n" + corrected +
		"  - name: decider\n    match: {role: main}\n    steps:\n" + steps
	return []string{"--scenario", write(t, script, t.TempDir(), "decider.yaml")}
}

const corrected = `
  - name: corrected
    match: {role: main, contains: "there is no such agent.*(?s).*magician"}
    steps:
      - {verdict: {decision: SELECT_MODE, mode: planner, reason: no magic}}
`

const choosesPlanner = `
      - {expect: Weave, verdict: {decision: SELECT_MODE, mode: planner, reason: nothing is planned}, repeat: forever}
`

// TestDecisionsAreMadeAgainByAModel has a model repeat recorded decisions from their inputs alone: the first
// comes out the same, the second differs.
func TestDecisionsAreMadeAgainByAModel(t *testing.T) {
	testkit.Long(t)
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			r := newJournal(t, threeDecisions(t)...)
			args := append(append([]string{"replay", r.id, "--decisions", "--json"}, decidingBy(t, choosesPlanner)...),
				p.args...)
			out, errs := r.asking(contract.ExitFailed, "", args...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if len(lines) != 3 {
				t.Fatalf("%d lines:\n%s%s", len(lines), out, errs)
			}
			var first subcommands.Redecision
			var sum subcommands.Tally
			testkit.OK(t, json.Unmarshal([]byte(lines[0]), &first))
			testkit.OK(t, json.Unmarshal([]byte(lines[2]), &sum))
			if !first.Same || first.Now.Source != decider.ByModel || !strings.Contains(first.Now.Prompt, "| Weave") {
				t.Errorf("the first: %s", lines[0])
			}
			if sum.Decider != "stateless" || sum.Asked != 2 || sum.Same != 1 || sum.Differ != 1 || sum.Skipped != 1 ||
				sum.CostUSD <= 0 {
				t.Errorf("the figures: %s", lines[2])
			}
			if strings.Contains(errs, "PROBLEM") {
				t.Error(errs)
			}
		})
	}
}

// TestModelIsTriedOnInput: an answer that cannot be used is corrected, and after several such answers there
// is not a decision; a refused login gives the exit code for the environment.
func TestModelIsTriedOnInput(t *testing.T) {
	testkit.Long(t)
	for _, p := range players(t) {
		for _, c := range []struct {
			name, steps string
			want        contract.Exit
			out, errs   string
		}{
			{"decides", choosesPlanner, contract.ExitComplete, "SELECT_MODE planner", ""},
			{"is corrected", `
      - {verdict: {decision: SELECT_MODE, mode: magician, reason: magic}}
`, contract.ExitComplete, "magician", ""},
			{"cannot be used", `
      - {verdict: {decision: SELECT_MODE, mode: wizard, reason: magic}, repeat: forever}
`, contract.ExitFailed, "", "wizard"},
			{"is refused", `
      - {fault: {status: 401}, repeat: forever}
`, contract.ExitEnvironment, "", "auth"},
		} {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				if c.name == "decides" || c.name == "cannot be used" {
					p.long(t)
				}
				r := newJournal(t)
				args := append(append([]string{"decide", "--input", "-"}, decidingBy(t, c.steps)...), p.args...)
				out, errs := r.asking(c.want, string(encoded(t, aSelection("Weave"))), args...)
				if !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
					t.Errorf("stdout:\n%s\nstderr:\n%s", out, errs)
				}
			})
		}
	}
}

var markInLog = regexp.MustCompile(`msg=bridge run=(\S+)`)

// TestAskingIsCalledOff interrupts a decider whose model is silent: no process is left.
func TestAskingIsCalledOff(t *testing.T) {
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t)
			r := newJournal(t, threeDecisions(t)...)
			args := append(append([]string{"replay", r.id, "--decisions", "--debug"},
				decidingBy(t, "      - {fault: {stall: 300s}}\n")...), p.args...)
			cmd, _, errs := r.aside("", args...)
			testkit.OK(t, cmd.Start())
			mark := ""
			until(t, "a model that is asked", func() bool {
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
				return survivors(mark) == nil // without /proc the process cannot be seen
			})
			testkit.OK(t, cmd.Process.Signal(os.Interrupt))
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != int(contract.ExitInterrupted) {
				t.Errorf("exit code %d\n%s", code, errs)
			}
			if left := survivors(mark); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
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
		if x.Rules == nil || x.Rendered == nil || x.Rendered.Problem != "" ||
			!strings.Contains(string(x.Input), "Weave it") {
			t.Errorf("%s", line)
		}
		points = append(points, string(x.Point))
	}
	if strings.Join(points, " ") != "select evaluate" {
		t.Errorf("points %q:\n%s", points, out)
	}
	if out, _ = s.output(int(contract.ExitComplete), "decide", "--explain", "--at", "1",
		s.run()); !strings.Contains(out, "after record 1") || strings.Contains(out, "evaluate") {
		t.Error(out)
	}
	// It also shows what was decided.
	if out, _ = s.output(int(contract.ExitComplete), "decide", "--explain"); !strings.Contains(out, "session") ||
		!strings.Contains(out, "COMPLETE") {
		t.Error(out)
	}
}

// thinking is a task whose first decision takes its model long, and is asked for again.
const thinking = `
name: thinking
actors:
  - name: judge
    match: {role: main, contains: "# What is to be judged"}
    steps: [{verdict: {decision: COMPLETE, reason: it was done, summary: It is woven}, repeat: forever}]
  - name: thinker
    match: {role: main, contains: "which agent works next|# What you decide", nth: 1}
    steps: [{fault: {stall: 300s}}]
  - name: chooser
    match: {role: main}
    steps: [{verdict: {decision: SELECT_MODE, mode: developer, reason: it is small, message: Weave it now}}]
  - name: worker
    match: {role: orchestrator}
    steps: [{verdict: {kind: done, expects_response: true, message: It is woven., handoff: {accomplished: [woven], remaining: [], key_context: k}}}]
`

// TestLostBridgeIsAskedAgain kills the bridge while a decider's model thinks: the question goes to the bridge
// that replaces it.
func TestLostBridgeIsAskedAgain(t *testing.T) {
	scenario := scenarioFile(t, thinking)
	s := start(t, nil, "--json", "--debug", "--stand-in", "--scenario", scenario, "--decider", "stateless", "--task",
		"Weave")
	log := await[contract.Session](s, "a session", nil).Log
	until(t, "a model that is asked", func() bool {
		text, err := os.ReadFile(log)
		return err == nil && bytes.Contains(text, []byte(`"actor":"thinker"`))
	})
	pid, ok := childNamed(s.cmd.Process.Pid, "bridge")
	if !ok {
		t.Skip("no /proc here")
	}
	testkit.OK(t, syscall.Kill(pid, syscall.SIGKILL))
	s.finish(contract.ExitComplete)
	first := collect[contract.Decision](s)[0]
	if first.Decision != "SELECT_MODE" || first.Mode != "developer" || first.Source != "model" ||
		len(first.Warnings) == 0 {
		t.Errorf("the first decision: %+v", first)
	}
}
