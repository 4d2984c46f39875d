package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// overriding starts the play in which the human decides, on the screen or with --plain.
func (h *testHome) overriding(mode, work string, args ...string) *pane {
	h.t.Helper()
	scenario := scenarioFile(h.t, strings.ReplaceAll(overridden, "WORK", work))
	return h.play(scenario, append(args, "--task", mode)...)
}

// replayed returns the lines of the only run there.
func (h *testHome) replayed() []contract.Line {
	h.t.Helper()
	lines := testkit.Must(contractLines(h.output("replay", h.runs()[0])))(h.t)
	return lines
}

// tasksStates returns the state changes of the task, with their triggers.
func tasksStates(lines []contract.Line) []string {
	var list []string
	for _, l := range lines {
		if b, ok := l.Body.(contract.State); ok {
			list = append(list, b.Trigger+" "+b.To)
		}
	}
	return list
}

// TestScreenWaysOutOfAFailure: a person uses the keys of a dialog to have another agent go on, and slash
// commands to skip a step and to have that agent try again.
func TestScreenWaysOutOfAFailure(t *testing.T) {
	testkit.Long(t)
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.overriding("tester", spinning)
		p.await("And now?", "Alt+c: retry")
		p.Type("/skip\n")
		p.await("no step to skip")
		p.press("Alt+c")
		p.await("Ways out", "Try again", "Go on with another agent")
		p.press("g")
		p.await("Orchestrator II", "Alt+c: retry")
		p.Type("/plan set card\n")
		p.await("[pending] card")
		p.Type("/choose skip\n")
		p.await("The human skipped step 1 of the plan: card")
		p.Type("/retry\n")
		p.await("It is done.", "Speak again, or depart.")
		h.over(p)
		want := []string{"START_TASK selecting", "AGENT_SELECTED executing", "AGENT_STOPPED selecting",
			"AGENT_SELECTED executing", "AGENT_COMPLETE evaluating", "ARBITER_DECISION complete"}
		testkit.Same(t, "the task went", want, tasksStates(h.replayed()))
	})
}

// TestScreenOverrides: another agent is spawned, everything is reset, and the next task is cancelled in the
// middle of a tool. Each command that cannot be undone asks first, and the end says what was left half-done.
func TestScreenOverrides(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.overriding("developer", spinning)
	p.await("Orchestrator I", "Bash")
	p.Type("/summon wizard\n")
	p.await(`There is no mode "wizard"`)
	p.clear()
	p.Type("/retry\n")
	p.await("orch-1 is already at work")
	p.Type("/summon reviewer\n")
	p.await("Orchestrator II")
	p.Type("/reset\n")
	p.await("Reset?", "Every Orchestrator is released")
	p.press("y")
	p.await("And now?", "The Arbiter awaits your answer.")
	p.Type("developer\n")
	p.until(func(s pty.Screen) bool { // the agent's row shows its tool
		return slices.ContainsFunc(s.Rows(), func(row string) bool {
			return strings.Contains(row, "Orchestrator III") && strings.Contains(row, "Bash")
		})
	})
	p.Type("/cancel\n")
	p.await("End the run?", "half-done is said at the end")
	p.press("y")
	p.await("Left half-done:", "(orch-3) was at Bash", "Speak again, or depart.")
	p.press("Ctrl+C")
	h.ended(p, contract.ExitFailed)
	states := tasksStates(h.replayed())
	for _, want := range []string{"RESET idle", "START_TASK selecting", "CANCEL cancelled"} {
		if !slices.Contains(states, want) {
			t.Errorf("the task went %q, without %s", states, want)
		}
	}
}

// TestPlainReportsInterruptedWork: after an interruption in the middle of a tool, --plain says what was left
// half-done.
func TestPlainReportsInterruptedWork(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.overriding("developer", spinning, "--plain")
	p.await("Spin it, developer.")
	p.Type("/retry\n")
	p.await("orch-1 is already at work")
	until(t, "a command that runs", func() bool {
		for _, cmd := range h.alive() {
			if strings.HasPrefix(cmd, "sleep 1000") {
				return true
			}
		}
		return false
	})
	p.press("Ctrl+C")
	if text := h.ended(p, contract.ExitInterrupted); !strings.Contains(text, "Left half-done:") ||
		!strings.Contains(text, "(orch-1) was at Bash") {
		t.Errorf("it says:\n%s", text)
	}
}
