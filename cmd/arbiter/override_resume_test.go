package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// broken is a play that goes through all states, and stays in each for the delay of an answer (PONDER-state in
// its text).
const broken = `name: broken
title: Broken off
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - expect: COMPLETE while
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]
      - {expect: "Released: ", verdict: &end {decision: COMPLETE, message: It is done., summary: spun, reason: r}}
      - {expect: It is spun, delay: PONDER-evaluating, verdict: *end}
      - {expect: "from:? (?P<who>orch-\\d+)|Orchestrator I \\(orch-1\\) failed", delay: PONDER-error_handling, verdict: {decision: RETRY, to: orch-1, message: Again., reason: r}}
      - {expect: human reset, verdict: {decision: ADDRESS_HUMAN, message: What is wanted?, reason: r}}
      - {expect: "kind: task|nothing is under way", delay: PONDER-selecting, verdict: {decision: SELECT_MODE, mode: developer, message: Spin it., reason: r}}
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
  - name: judge
    match: {role: main, contains: "# What is to be judged"}
    steps: [{delay: PONDER-judge, verdict: {decision: COMPLETE, reason: r, summary: spun}, repeat: forever}]
  - name: chooser
    match: {role: main}
    steps: [{delay: PONDER-chooser, verdict: {decision: SELECT_MODE, mode: developer, reason: r, message: Spin it.}, repeat: forever}]
  - name: worker
    match: {role: orchestrator}
    steps:
      - FAULT
      - use: [{tool: Bash, input: {command: "WORK", description: Spin}}]
      - verdict: {expects_response: true, kind: done, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none}}
    otherwise:
      verdict: {expects_response: true, kind: done, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none}}
`

// pondering is the play in which the answer named who takes ten minutes. with has pairs of old and new text.
func pondering(who string, with ...string) string {
	text := broken
	for i := 0; i+1 < len(with); i += 2 {
		text = strings.ReplaceAll(text, with[i], with[i+1])
	}
	text = strings.ReplaceAll(text, "      - FAULT\n", "")
	text = strings.ReplaceAll(text, "WORK", "true")
	if who != "" {
		text = strings.ReplaceAll(text, "PONDER-"+who, "600s")
	}
	for _, other := range []string{"evaluating", "error_handling", "selecting", "judge", "chooser"} {
		text = strings.ReplaceAll(text, "PONDER-"+other, "1ms")
	}
	return text
}

// once is a command that does not end on its first run.
const once = "mkdir once && exec sleep 1000; true"

// atOnce waits until that command has run far enough to end when it is run again.
func (s *script) atOnce(id string) {
	s.t.Helper()
	s.at(id)
	awaitFile(s.t, filepath.Join(collect[contract.Session](s)[0].CWD, "once"))
}

// TestKilledInEachState kills arbiter in each state of the task, and in the middle of a decision that a model
// other than the Arbiter makes. The run resumes in that state, the numbers of decisions continue, and the work
// is completed.
func TestKilledInEachState(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	refused := []string{"FAULT", "{fault: {status: 400}, repeat: forever}"}
	for _, c := range []struct {
		name  string // the state, and the decider that is asked
		play  string
		args  []string
		reach func(s *script)
		real  bool
		word  string // the human's message in the second process
	}{
		{name: "selecting", play: pondering("selecting")},
		{name: "executing", play: pondering("", "WORK", once), reach: func(s *script) { s.atOnce("orch-1") }},
		{name: "evaluating", play: pondering("evaluating"), real: true},
		{name: "error_handling", play: pondering("error_handling", refused...)},
		{name: "idle", play: pondering("", "WORK", once), word: "Spin on", reach: func(s *script) {
			s.atOnce("orch-1")
			s.accepts(contract.Reset{})
			await[contract.Question](s, "a question", nil)
		}},
		{name: "selecting, stateless", play: pondering("chooser"), args: []string{"--decider", "stateless"},
			real: true},
		{name: "evaluating, stateless", play: pondering("judge"), args: []string{"--decider", "stateless"}},
		{name: "evaluating, hybrid", play: pondering("judge"), args: []string{"--decider", "hybrid"}},
	} {
		for _, p := range players(t) {
			if p.real && !c.real {
				continue
			}
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				p.long(t) // TestCutAndTakenUp kills with the real CLI
				t.Parallel()
				scenario := scenarioFile(t, c.play)
				s := start(t, nil, append(append(p.args, "--json", "--debug", "--scenario", scenario, "--task", "Spin"),
					c.args...)...)
				state, _, asked := strings.Cut(c.name, ",")
				if state != "idle" {
					await(s, "the state "+state, func(_ string, b contract.State) bool { return b.To == state })
				}
				if c.reach != nil {
					c.reach(s)
				} else if !asked {
					s.reads()
				} else {
					until(t, "a model that is asked", func() bool { return s.asksAside() })
				}
				if err := s.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				s.gone()
				awaitGone(t, s.run())
				if err := os.WriteFile(scenario, []byte(pondering("")), 0o600); err != nil {
					t.Fatal(err)
				}
				n := s.again("--json", "--resume")
				if c.word != "" {
					await[contract.Question](n, "the question again", nil)
					n.accepts(contract.Say{Text: c.word})
				}
				await[contract.Result](n, "the result", nil)
				n.finish(contract.ExitComplete)
				n.continuesFrom(state)
			})
		}
	}
}

// reads waits until the Arbiter has received a message since the last change of state.
func (s *script) reads() {
	s.t.Helper()
	s.mu.Lock()
	from := 0
	for i, l := range s.lines {
		if _, ok := l.Body.(contract.State); ok {
			from = i
		}
	}
	s.mu.Unlock()
	s.after(from, "what the Arbiter reads", func(l contract.Line) bool {
		_, ok := l.Body.(contract.Delivered)
		return ok && l.ID == contract.Arbiter
	})
}

// asksAside reports whether a one-shot process asks a model.
func (s *script) asksAside() bool {
	for _, cmd := range survivors(s.run()) {
		if strings.Contains(cmd, "--no-session-persistence") {
			return true
		}
	}
	return false
}

// continuesFrom reads the recorded events of all processes of a run: the task's state continues from where it was,
// and decisions are numbered consecutively.
func (s *script) continuesFrom(state string) {
	s.t.Helper()
	out, _ := s.output(0, "replay", s.run())
	lines, err := contractLinesOf(out)
	if err != nil {
		s.t.Fatal(err)
	}
	var states []string
	at, processRuns, resumedIn, number := "idle", 0, "", 0
	for _, l := range lines {
		switch b := l.Body.(type) {
		case contract.Session:
			if processRuns++; processRuns == 2 {
				resumedIn = at
			}
		case contract.State:
			if b.From != at {
				s.t.Errorf("from %s, and it was in %s", b.From, at)
			}
			at = b.To
			states = append(states, b.To)
		case contract.Decision:
			if b.Point == "talk" && b.Decision == "SELECT_MODE" {
				s.t.Errorf("what the task machine asked is recorded as talk: %+v", b)
			}
			if number++; b.Number != number {
				s.t.Errorf("decision %d is number %d: %+v", number, b.Number, b)
			}
		}
	}
	if processRuns != 2 || resumedIn != state || at != "complete" {
		s.t.Errorf("%d lives, taken up in %q, want %q: %s", processRuns, resumedIn, state, fmt.Sprint(states))
	}
}

// TestALostBridgeLeavesTheState: the bridge dies while a tool runs, and the task's state is unchanged.
func TestALostBridgeLeavesTheState(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	onlyLinux(t)
	s := start(t, nil, "--stand-in", "--json", "--scenario", scenarioFile(t, pondering("", "WORK", once)), "--task",
		"Spin")
	s.atOnce("orch-1")
	pid, ok := childNamed(s.cmd.Process.Pid, "bridge")
	if !ok {
		t.Fatal("no bridge")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	var states []string
	for _, b := range collect[contract.State](s) {
		states = append(states, b.To)
	}
	if got := strings.Join(states, " "); got != "selecting executing evaluating complete" {
		t.Errorf("states %s", got)
	}
}
