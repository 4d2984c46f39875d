package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// overridden is a play in which the human decides: each Orchestrator behaves as its mode says, and the Arbiter
// asks what to do.
//
//   - a developer runs a command that does not end; on a retry, it is done
//   - a tester stops at a tool that fails, without a verdict; on a retry, it is done
//   - a reviewer stops at a command that timed out
//   - a planner is done at once; on a retry, it runs a command too
//
// The Arbiter takes a long time to evaluate a planner's work.
const overridden = `name: overridden
title: The human rules
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - expect: COMPLETE while
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]
      - {expect: "Released: |it is enough|It is spun", verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}}
      - {expect: A plan is laid, delay: 600s, verdict: {decision: ADDRESS_HUMAN, message: "And now?", reason: r}}
      - {expect: another agent takes up, verdict: {decision: SELECT_MODE, mode: tester, message: Spin it otherwise., reason: r}}
      - expect: "kind: task.*\n(?P<mode>\\w+)"
        verdict: {decision: SELECT_MODE, mode: "{{.mode}}", message: "Spin it, {{.mode}}.", reason: r}
      - {expect: told .* to try again|human summoned, verdict: {decision: CONTINUE, message: Patience., reason: r}}
      - verdict: {decision: ADDRESS_HUMAN, message: "And now?", reason: r}
  - name: tester
    match: {role: orchestrator, contains: "Spin it otherwise|Spin it, tester"}
    otherwise:
      - {expect: "kind: retry", verdict: &done {expects_response: true, kind: done, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none}}}
      - {expect: no wheel, say: There is no wheel.}
      - use: [{tool: Bash, input: {command: "echo no wheel; exit 3", description: Spin}}]
  - name: planner
    match: {role: orchestrator, contains: "Spin it, planner"}
    otherwise:
      - {expect: "kind: retry", use: [{tool: Bash, input: {command: "WORK", description: Spin}}]}
      - {verdict: {expects_response: true, kind: done, message: A plan is laid., handoff: {accomplished: [laid], remaining: [], key_context: none}}}
  - name: worker
    match: {role: orchestrator}
    otherwise:
      - {expect: "kind: retry", verdict: *done}
      - {expect: timed out, say: The wheel turns no more.}
      - use: [{tool: Bash, input: {command: "WORK", description: Spin}}]
`

const spinning = "exec sleep 1000"

// override starts the play; the task is for an agent of the mode, whose command is work.
func override(t *testing.T, p player, mode, work string, args ...string) *script {
	t.Helper()
	scenario := scenarioFile(t, strings.ReplaceAll(overridden, "WORK", work))
	return start(t, nil, append(append(p.args, "--json", "--scenario", scenario, "--task", mode), args...)...)
}

// answer is the answer to a command.
type answer struct {
	ok      bool
	message string
}

// command gives a command and waits for its answer.
func (s *script) command(b contract.CommandBody) (ok bool, message string) {
	s.t.Helper()
	one := s.together(b)[0]
	return one.ok, one.message
}

// together sends commands in one write, so that nothing happens between them, and waits for their answers.
func (s *script) together(bodies ...contract.CommandBody) []answer {
	s.t.Helper()
	s.mu.Lock()
	from := len(s.lines)
	s.mu.Unlock()
	var written []byte
	refs := make([]string, len(bodies))
	for i, b := range bodies {
		refs[i] = fmt.Sprintf("%T-%d-%d", b, from, i)
		line, err := contract.MarshalCommand(contract.Command{Ref: refs[i], Body: b})
		if err != nil {
			s.t.Fatal(err)
		}
		written = append(append(written, bytes.TrimSpace(line)...), '\n')
	}
	if _, err := s.stdin.Write(written); err != nil {
		s.t.Fatal(err)
	}
	answers := make([]answer, len(bodies))
	for i, ref := range refs {
		s.after(0, "an answer to "+ref, func(l contract.Line) bool {
			switch b := l.Body.(type) {
			case contract.Accepted:
				answers[i] = answer{true, b.Message}
				return b.Ref == ref
			case contract.Rejected:
				answers[i] = answer{false, b.Message}
				return b.Ref == ref
			}
			return false
		})
	}
	return answers
}

// after waits for a line from number from on, and returns the number of the line after it. It fails at once
// when the output ends without such a line.
func (s *script) after(from int, what string, fits func(contract.Line) bool) int {
	s.t.Helper()
	deadline := time.After(waitTimeout)
	for over := false; ; {
		s.mu.Lock()
		from = min(from, len(s.lines))
		i := slices.IndexFunc(s.lines[from:], fits)
		s.mu.Unlock()
		switch {
		case i >= 0:
			return from + i + 1
		case over:
			s.t.Fatalf("arbiter ended without %s\n%s", what, s.dump())
		}
		select {
		case <-s.change:
		case <-s.ended:
			over = true
		case <-deadline:
			s.t.Fatalf("no %s within %s\n%s", what, waitTimeout, s.dump())
		}
	}
}

func (s *script) accepts(b contract.CommandBody, words ...string) {
	s.t.Helper()
	ok, message := s.command(b)
	s.holds(fmt.Sprintf("%T %+v", b, b), message, words)
	if !ok {
		s.t.Fatalf("%T %+v is rejected: %s\n%s", b, b, message, s.dump())
	}
}

func (s *script) rejects(b contract.CommandBody, words ...string) {
	s.t.Helper()
	ok, message := s.command(b)
	s.holds(fmt.Sprintf("%T %+v", b, b), message, words)
	if ok {
		s.t.Fatalf("%T %+v is accepted: %s\n%s", b, b, message, s.dump())
	}
}

func (s *script) holds(what, text string, words []string) {
	s.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			s.t.Errorf("%s: %q lacks %q", what, text, w)
		}
	}
}

// moves waits for a transition of the task's state.
func (s *script) moves(from, to, trigger string) {
	s.t.Helper()
	await(s, fmt.Sprintf("the state %s", to), func(_ string, b contract.State) bool {
		return b == contract.State{From: from, To: to, Trigger: trigger}
	})
}

// at waits until an Orchestrator calls its command.
func (s *script) at(id string) {
	s.t.Helper()
	await(s, id+" at its command", func(who string, b contract.ToolUse) bool { return who == id && b.Tool == "Bash" })
}

func steps(text ...string) contract.SetPlan {
	var p contract.SetPlan
	for _, s := range text {
		mode, what, ok := strings.Cut(s, ":")
		if !ok {
			mode, what = "", s
		}
		p.Steps = append(p.Steps, contract.Step{Text: what, Status: contract.StepPending, Mode: mode})
	}
	return p
}

// aPlan waits for a plan whose steps have these texts and statuses.
func (s *script) aPlan(want ...string) {
	s.t.Helper()
	await(s, fmt.Sprintf("the plan %v", want), func(_ string, p contract.Plan) bool {
		var got []string
		for _, step := range p.Steps {
			got = append(got, step.Text+" "+step.Status)
		}
		return slices.Equal(got, want)
	})
}

// whoWas finds the spawns of an agent.
func (s *script) whoWas(id string) contract.Spawn {
	s.t.Helper()
	return await(s, "the spawn of "+id, func(who string, _ contract.Spawn) bool { return who == id })
}

// TestOverridesWhileOneWorks: while an agent works, the plan is set, steps are skipped, others are spawned,
// and all is reset. A command that is not possible in a state is refused, with what would be possible.
func TestOverridesWhileOneWorks(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t)
			t.Parallel()
			s := override(t, p, "developer", spinning)
			s.at("orch-1")
			s.moves("selecting", "executing", "AGENT_SELECTED")
			s.accepts(steps("card", "spin", "tester:try"))
			s.rejects(steps("wizard:conjure"), `no mode "wizard"`, "tester")
			s.accepts(contract.SkipStep{}, "step 1: card")
			s.aPlan("card skipped", "spin pending", "try pending")
			s.rejects(contract.RetryLast{}, "orch-1 is already at work")
			s.rejects(contract.Choose{Option: "retry"}, "there is nothing to choose now")
			s.rejects(contract.ForceAgent{Mode: "wizard"}, `no mode "wizard"`, "developer, planner, reviewer, tester")
			s.accepts(contract.ForceAgent{Mode: "reviewer"}, "orch-2 as reviewer")
			if w := s.whoWas("orch-2"); w.Mode != "reviewer" || !strings.Contains(w.Prompt, "developer") {
				t.Errorf("summoned: %+v", w)
			}
			await(s, "the decision", func(id string, d contract.Decision) bool {
				return id == contract.Human && d.Source == "human" && d.Mode == "reviewer" && d.To == "orch-2"
			})
			s.at("orch-2")
			s.accepts(contract.Reset{})
			s.moves("executing", "idle", "RESET")
			s.aPlan()
			for _, id := range []string{"orch-1", "orch-2"} {
				await(s, "the end of "+id, func(who string, d contract.Done) bool {
					return who == id && d.Reason == "reset by the human"
				})
			}
			s.rejects(contract.SkipStep{}, "no step", "set_plan")
			s.rejects(contract.RetryLast{}, "no living Orchestrator")
			s.rejects(contract.ForceAgent{Mode: "tester"}, "no task yet", "message")
			await[contract.Question](s, "what is wanted now", nil)
			s.accepts(contract.Say{Text: "tester"})
			s.moves("idle", "selecting", "START_TASK")
			s.accepts(contract.ForceAgent{Mode: "planner"}, "orch-")
			s.accepts(contract.Cancel{})
			s.moves("executing", "cancelled", "CANCEL")
			if r := s.finish(contract.ExitFailed); r.Status != contract.StatusCancelled ||
				!strings.Contains(r.Summary, "by the human") {
				t.Errorf("result %+v", r)
			}
		})
	}
}

// TestOverridesInEvaluation: while the Arbiter evaluates the work, the human sends it back, or gives it to
// another agent.
func TestOverridesInEvaluation(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	t.Run("retry", func(t *testing.T) {
		t.Parallel()
		s := override(t, player{args: []string{"--stand-in"}}, "planner", spinning)
		s.moves("executing", "evaluating", "AGENT_COMPLETE")
		s.accepts(contract.RetryLast{}, "orch-1")
		s.moves("evaluating", "executing", "RETRY")
		s.at("orch-1")
		s.rejects(contract.RetryLast{}, "orch-1 is already at work")
		s.accepts(steps("spin"))
		s.accepts(contract.Cancel{})
		s.moves("executing", "cancelled", "CANCEL")
		r := s.finish(contract.ExitFailed)
		if len(r.InterruptedWork) != 1 {
			t.Fatalf("half done: %q", r.InterruptedWork)
		}
		s.holds("half done", r.InterruptedWork[0], []string{"Orchestrator I (orch-1) was at Bash `exec sleep 1000` for",
			"step 1 of the plan: spin"})
	})
	t.Run("another", func(t *testing.T) {
		t.Parallel()
		s := override(t, player{args: []string{"--stand-in"}}, "planner", spinning)
		s.moves("executing", "evaluating", "AGENT_COMPLETE")
		s.accepts(contract.ForceAgent{Mode: "reviewer"}, "orch-2 as reviewer")
		s.moves("evaluating", "executing", "FORCE_AGENT")
		s.at("orch-2")
		s.accepts(contract.Kill{ID: "orch-2"}, "orch-2")
		s.moves("executing", "evaluating", "AGENT_STOPPED")
		await(s, "what is left half-done", func(_ string, m contract.Message) bool {
			return m.To == contract.Arbiter &&
				strings.Contains(m.Text, "Left half-done: Orchestrator II (orch-2) was at Bash `exec sleep 1000` for")
		})
		s.accepts(contract.Cancel{})
		s.finish(contract.ExitFailed)
	})
}

// troubled waits for an error of an Orchestrator that offers these ways out, from a line on. It returns the
// number of the next line.
func (s *script) troubled(from int, id string, ways ...string) int {
	s.t.Helper()
	return s.after(from, "trouble of "+id, func(l contract.Line) bool {
		e, ok := l.Body.(contract.Error)
		return ok && l.ID == id && slices.Equal(e.RecoveryOptions, ways)
	})
}

// TestWaysOutOfAFailure takes each way out that is offered.
func TestWaysOutOfAFailure(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		t.Run("another agent, then again/"+p.name, func(t *testing.T) {
			p.long(t)
			t.Parallel()
			s := override(t, p, "tester", spinning)
			at := s.troubled(0, "orch-1", "retry", "skip", "fallback")
			s.rejects(contract.Choose{Option: "abort"}, "offered: retry, skip, fallback")
			s.rejects(contract.Choose{Option: "skip"}, "no step to skip")
			s.accepts(contract.Choose{Option: "fallback"}, "another agent")
			s.moves("executing", "selecting", "AGENT_STOPPED")
			await(s, "the end of orch-1", func(id string, d contract.Done) bool {
				return id == "orch-1" && strings.Contains(d.Reason, "takes its place")
			})
			s.troubled(at, "orch-2", "retry", "skip", "fallback")
			// The second try soon ends the run.
			told := s.together(contract.Choose{Option: "retry"}, contract.Choose{Option: "retry"})
			if !told[0].ok || told[1].ok {
				t.Errorf("two choices are reported as %+v", told)
			}
			s.holds("the first", told[0].message, []string{"orch-2"})
			s.holds("the second", told[1].message, []string{"there is nothing to choose now"})
			await[contract.Result](s, "the result", nil)
			if r := s.finish(contract.ExitComplete); r.Iterations != 2 || r.Summary != "spun" {
				t.Errorf("result %+v", r)
			}
		})
	}
	t.Run("the next step", func(t *testing.T) {
		t.Parallel()
		s := override(t, player{args: []string{"--stand-in"}}, "tester", spinning)
		s.troubled(0, "orch-1", "retry", "skip", "fallback")
		s.accepts(steps("card", "spin"))
		s.accepts(contract.Choose{Option: "skip"}, "step 1: card")
		s.aPlan("card skipped", "spin pending")
		s.accepts(contract.RetryLast{}, "orch-1")
		await[contract.Result](s, "the result", nil)
		if r := s.finish(contract.ExitComplete); r.Iterations != 1 {
			t.Errorf("result %+v", r)
		}
	})
	t.Run("no way", func(t *testing.T) {
		t.Parallel()
		s := override(t, player{args: []string{"--stand-in"}}, "reviewer", "echo timed out; exit 4")
		s.troubled(0, "orch-1", "abort", "fallback")
		s.accepts(contract.Choose{Option: "abort"})
		if r := s.finish(contract.ExitFailed); r.Status != contract.StatusCancelled {
			t.Errorf("result %+v", r)
		}
	})
}
