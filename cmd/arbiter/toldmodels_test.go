package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestTheArbiterLooksUp: the Arbiter is offered the web beside the files, and uses it as the rules allow.
func TestTheArbiterLooksUp(t *testing.T) {
	t.Parallel()
	eachPlayer(t, func(t *testing.T, p player) {
		p.inside(t)
		s, model := hired(t, p, `name: web
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: WebFetch, input: {url: "http://127.0.0.1:1/", prompt: What is it?}}]
    otherwise: {verdict: {decision: COMPLETE, message: It is done., summary: looked up}}
`, nil, "--allow", "WebFetch(domain:127.0.0.1)", "--task", "Look it up")
		if r := s.finish(contract.ExitComplete); !sums(r, "looked up") {
			t.Errorf("%+v", r)
		}
		tools := model.Requests()[0].ToolNames()
		for _, want := range []string{"Read", "Grep", "Glob", "WebSearch", "WebFetch"} {
			if !slices.Contains(tools, want) {
				t.Errorf("the Arbiter has no %s: %q", want, tools)
			}
		}
		for _, b := range collect[contract.Permission](s) {
			if b.Behavior != bridge.Allow {
				t.Errorf("denied: %+v", b)
			}
		}
	})
}

// TestAFullContextOnlyReads: above --context-stop an Orchestrator may read and hand off, from the answer on that has
// filled its context. It reads why it may not write.
func TestAFullContextOnlyReads(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, model := hired(t, p, `name: full
actors:
  - name: worker
    match: {role: orchestrator, contains: Do it}
    steps:
      - {use: [{tool: Bash, input: {command: "printf x > early.txt", description: Write}}], usage: {context: 20000}}
      - {use: [{tool: Bash, input: {command: "printf x > late.txt", description: Write}}], usage: {context: 150000}}
      - {expect: you can only read and commit, use: [{tool: Bash, input: {command: "cat early.txt", description: Read}}]}
    otherwise: {verdict: {kind: handoff, message: Half of it., handoff: {accomplished: [a], remaining: [b], key_context: k}}}
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Do it.}}]
      - verdict: {decision: CONTINUE, message: Patience.}
    otherwise:
      - {expect: Half of it, verdict: {decision: ADDRESS_HUMAN, message: What now?}}
`, nil, "--allow", "Bash(printf *)", "--allow", "Edit(**)", "--context-tokens", "160000", "--context-critical",
			"90", "--context-stop", "92", "--task", "Do it")
		await[contract.Question](s, "the Arbiter's question", nil)
		work := collect[contract.Session](s)[0].CWD
		for name, want := range map[string]bool{"early.txt": true, "late.txt": false} {
			if _, err := os.Stat(filepath.Join(work, name)); (err == nil) != want {
				t.Errorf("%s is there: %v", name, err == nil)
			}
		}
		onScript(t, model)
		s.send(contract.Cancel{})
		s.finish(contract.ExitFailed)
	})
}

// TestAnAssumptionWaits: with a human there, what the Arbiter assumed is asked before anybody works on it.
func TestAnAssumptionWaits(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, _ := hired(t, p, `name: assumed
actors:
  - name: worker
    match: {role: orchestrator}
    otherwise: {verdict: {kind: done, message: All of it., handoff: {accomplished: [a], remaining: [], key_context: k}}}
  - name: arbiter
    match: {role: arbiter}
    steps:
      - {verdict: {decision: SELECT_MODE, mode: developer, message: Build it., assumed: [prices are cents]}}
      - expect: a human is present
        verdict: {decision: ADDRESS_HUMAN, report: true, message: Prices are cents?, assumed: [prices are cents]}
      - {expect: They are, verdict: {decision: SELECT_MODE, mode: developer, message: Build it.}}
    otherwise: {verdict: {decision: COMPLETE, message: It is done., summary: in cents}}
`, nil, "--task", "Build it")
		await[contract.Question](s, "the Arbiter's question", func(_ string, b contract.Question) bool {
			return strings.Contains(b.Text, "Prices are cents?")
		})
		if len(s.spawns("orch-1")) > 0 {
			t.Error("an Orchestrator works before the answer")
		}
		s.send(contract.Say{Text: "They are."})
		if r := s.finish(contract.ExitComplete); !sums(r, "in cents") || len(s.spawns("orch-1")) != 1 {
			t.Errorf("%+v", r)
		}
	})
}
