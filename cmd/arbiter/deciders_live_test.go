package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// aloneDecided is a task that is completed without a decision by the Arbiter: a model that sees only the inputs
// has the developer spawned, then the tester, and ends the task.
const aloneDecided = `
name: alone
title: A decider of its own
actors:
  - name: content
    match: {role: main, contains: "(?s)# What is to be judged\\s+- agent: tester"}
    steps:
      - verdict: {decision: COMPLETE, reason: the tester has looked, summary: It is woven and was looked at}
        repeat: forever
  - name: careful
    match: {role: main, contains: "# What is to be judged"}
    steps:
      - verdict: {decision: SELECT_MODE, mode: tester, reason: nobody has looked yet}
        repeat: forever
  - name: chooser
    match: {role: main}
    steps:
      - verdict: {decision: SELECT_MODE, mode: developer, reason: it is small, message: Weave it now}
  - name: worker
    match: {role: orchestrator}
    steps:
      - verdict:
          expects_response: true
          kind: done
          message: It is woven.
          handoff: {accomplished: [woven], remaining: [], key_context: It hangs on the loom.}
`

// TestOtherDeciderDecides plays a run with a stateless decider, plays the same task again with the
// decision cache, and then replays the run with its decisions made again.
func TestOtherDeciderDecides(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) { // TestDecisionsAreMadeAgainByAModel uses the real CLI
		scenario := write(t, aloneDecided, t.TempDir(), "alone.yaml")
		flags := append([]string{"--json", "--scenario", scenario, "--decider", "stateless", "--decision-cache",
			"--no-input", "--task", "Weave"}, p.args...)
		s := start(t, nil, flags...)
		r := s.finish(contract.ExitComplete)
		if !sums(r, "done") { // the Arbiter was asked about the open points, and insisted
			t.Errorf("result %+v", r)
		}
		if got, want := reasonsOf(s),
			"SELECT_MODE developer by model, SELECT_MODE tester by model, COMPLETE by model, COMPLETE by session"; got != want {
			t.Errorf("decided %s\nwant    %s", got, want)
		}
		for _, d := range collect[contract.Decision](s) {
			if d.Number == 0 || d.CostUSD <= 0 && d.Source != "session" || len(d.Warnings) > 0 {
				t.Errorf("%+v", d)
			}
		}
		if r.CostUSD < collect[contract.Decision](s)[0].CostUSD {
			t.Errorf("the decider's cost is missing in %g", r.CostUSD)
		}
		// The same task in another run: cached decisions are not asked for again, only the end is.
		again := s.again(flags...)
		again.finish(contract.ExitComplete)
		if got, want := reasonsOf(again),
			"SELECT_MODE developer by cache, SELECT_MODE tester by cache, COMPLETE by model, COMPLETE by session"; got != want {
			t.Errorf("with what was remembered: %s\nwant %s", got, want)
		}
		// A replay asks for every decision.
		out, _ := s.output(int(contract.ExitComplete),
			append([]string{"replay", s.run(), "--decisions", "--scenario", scenario}, p.args...)...)
		if !strings.Contains(out, "stateless: 4 asked, 4 the same") {
			t.Error(out)
		}
		if out, _ = s.output(int(contract.ExitFailed), "replay", s.run(), "--decisions", "--decider",
			"rules"); !strings.Contains(out, "now       SELECT_MODE planner (rules)") {
			t.Error(out)
		}
	})
}

// TestLostBridgeIsAskedAgain kills the bridge while a decider's model thinks: the question goes to the bridge
// that replaces it.
func TestLostBridgeIsAskedAgain(t *testing.T) {
	stalls := strings.Replace(aloneDecided, "  - name: chooser\n", `  - name: thinker
    match: {role: main, contains: "which agent works next|# What you decide", nth: 1}
    steps:
      - {fault: {stall: 300s}}
  - name: chooser
`, 1)
	scenario := write(t, stalls, t.TempDir(), "stalls.yaml")
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

// reasonsOf returns the decisions of a run in short form.
func reasonsOf(s *script) string {
	var list []string
	for _, d := range collect[contract.Decision](s) {
		list = append(list, strings.TrimSpace(d.Decision+" "+d.Mode)+" by "+d.Source)
	}
	return strings.Join(list, ", ")
}

// TestBrokenAgentFilesAreReported: a broken agent file is left out, and the run reports it.
func TestBrokenAgentFilesAreReported(t *testing.T) {
	s := prepare(t, nil, "--json", "--stand-in", "--trust", "--task", "Weave")
	write(t, "---\nname: seer\n---\nSees.\n", s.cmd.Dir, ".claude", "agents", "seer.md")
	write(t, "---\nname: scribe\ndescription: to write\n---\nWrites.\n", s.cmd.Dir, ".claude", "agents", "scribe.md")
	s.launch()
	s.finish(contract.ExitComplete)
	if got := s.stderr.String(); !strings.Contains(got, "seer.md") || strings.Contains(got, "scribe.md") {
		t.Errorf("stderr: %s", got)
	}
	await(s, "a notice", func(_ string, n contract.Notice) bool { return strings.Contains(n.Text, "seer.md") })
}
