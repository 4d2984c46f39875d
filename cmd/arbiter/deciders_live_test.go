package main

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
