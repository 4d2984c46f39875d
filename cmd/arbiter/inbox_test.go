package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// waiting lists what waits for a human, as the control socket reports it.
func (s *script) waiting() []control.InboxItem {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	client, st, err := control.Dial(ctx, filepath.Join(s.stateDir(), "runs", s.run(), control.SocketName), nil)
	if err != nil {
		s.t.Fatalf("ask for the status: %v", err)
	}
	client.Close()
	return st.Inbox
}

// kindsOf lists the waiting items by kind and agent.
func kindsOf(list []control.InboxItem) string {
	var lines []string
	for _, i := range list {
		lines = append(lines, i.Kind+" "+i.Agent)
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// puzzled is a play in which one Orchestrator asks a question that only a human may decide, and another one
// keeps working and asks for permission.
const puzzled = `name: puzzled
title: One asks, the other works
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Choose a colour.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Touch it.}}
    otherwise:
      - {expect: "Red or blue", verdict: {decision: ADDRESS_HUMAN, message: "Shall it be red or blue?", reason: r}}
      - expect: "kind: answer"
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: "Blue, says the human.", reason: r}
      - {expect: It is blue, verdict: {decision: COMPLETE, message: It is done., summary: done, reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: chooser
    match: {role: orchestrator, contains: Choose a colour}
    otherwise:
      - expect: "Blue, says"
        verdict:
          expects_response: true
          kind: done
          message: It is blue.
          handoff: {accomplished: [coloured], remaining: [], key_context: none}
      - verdict: {expects_response: true, kind: question, message: "Red or blue?"}
  - name: toucher
    match: {role: orchestrator, contains: Touch it}
    steps:
      - use: [{tool: Bash, input: {command: touch touched.txt, description: Touch}}]
      - verdict:
          expects_response: true
          kind: done
          message: It is touched.
          handoff: {accomplished: [touched], remaining: [], key_context: none}
`

// TestOpenItemsOfAHuman: one list contains a question that was asked while another agent works, and that agent's
// permission request. After a crash the list contains the items that are really open, and answers to them count.
func TestOpenItemsOfAHuman(t *testing.T) {
	path := scenarioFile(t, puzzled)
	eachPlayerLong(t, func(t *testing.T, p player) { // TestOneRunManyClients covers the real CLI
		s := start(t, nil, append(p.args, "--json", "--scenario", path, "--task", "Weave")...)
		asked := await[contract.Question](s, "the question", nil)
		request := await[contract.PermissionRequest](s, "the request", nil)
		list := s.waiting()
		testkit.Same(t, "what waits", "permission orch-2, question arbiter", kindsOf(list))
		for _, i := range list {
			if i.Since.IsZero() || i.Kind == "question" && (i.ID != asked.Question || i.Text != asked.Text) ||
				i.Kind == "permission" && i.ID != request.Request {
				t.Errorf("%+v is not %+v, or not %+v", i, asked, request)
			}
		}
		s.killed()
		var show subcommands.SessionReport
		stdout, _ := s.output(0, "sessions", "show", s.run(), "--json")
		if err := json.Unmarshal([]byte(stdout), &show); err != nil || len(show.Inbox) != 2 {
			t.Errorf("sessions show: %v, %+v", err, show.Inbox)
		}

		n := s.again("--json", "--resume")
		again := await[contract.Question](n, "the question again", nil)
		testkit.Same(t, "asked again", asked, again)
		await[contract.PermissionRequest](n, "the request again", nil)
		testkit.Same(t, "what waits after the resume", "permission orch-2, question arbiter", kindsOf(n.waiting()))
		n.accepts(contract.Permit{Request: request.Request, Behavior: "allow"})
		await(n, "the end of the other's work", func(_ string, m contract.Message) bool {
			return strings.HasPrefix(m.Text, "It is touched.")
		})
		n.accepts(contract.Say{Text: "Blue."})
		n.completes()
	})
}

// fourAsk is a play of four Orchestrators that each ask for permission.
const fourAsk = `name: busy
title: Four ask
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Touch one.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Touch two.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Write three.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Move four.}}
    otherwise:
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: one
    match: {role: orchestrator, contains: Touch one}
    steps:
      - use: [{tool: Bash, input: {command: git fetch one, description: Fetch}}]
      - verdict: &done
          expects_response: true
          kind: done
          message: My part is done.
          handoff: {accomplished: [it], remaining: [], key_context: none}
  - name: two
    match: {role: orchestrator, contains: Touch two}
    steps: [{use: [{tool: Bash, input: {command: git fetch two, description: Fetch}}]}, {verdict: *done}]
  - name: three
    match: {role: orchestrator, contains: Write three}
    steps: [{use: [{tool: Write, input: {file_path: "{{.cwd}}/three.txt", content: three}}]}, {verdict: *done}]
  - name: four
    match: {role: orchestrator, contains: Move four}
    steps: [{use: [{tool: Bash, input: {command: mkdir four, description: Make}}]}, {verdict: *done}]
`

// TestGrantAnswersRequestsOfOthers: a granted rule answers at once the open requests of all agents with which it was
// offered, and a configured deny rule those that it is about; each request has its own events. An invalid mode or rule
// is refused.
func TestGrantAnswersRequestsOfOthers(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, p player) { // the CLI gets the same answer in each case
		path := scenarioFile(t, fourAsk)
		s := start(t, nil, append(p.args, "--json", "--scenario", path, "--task", "Weave")...)
		for n := 1; n <= 4; n++ {
			agent := fmt.Sprintf("orch-%d", n)
			s.after(0, "the request of "+agent, func(l contract.Line) bool {
				_, ok := l.Body.(contract.PermissionRequest)
				return ok && l.ID == agent
			})
		}
		settled := func(agent, behavior, by string) {
			t.Helper()
			s.after(0, agent+" is answered", func(l contract.Line) bool {
				b, ok := l.Body.(contract.Permission)
				return ok && l.ID == agent && b.Behavior == behavior && b.By == by &&
					!strings.HasPrefix(b.Request, "judge-")
			})
		}
		var one contract.PermissionRequest
		for _, b := range s.waiting() {
			if b.Agent == "orch-1" {
				testkit.OK(t, json.Unmarshal(b.Request, &one))
			}
		}
		ok, why := s.command(contract.Configure{Permissions: "yolo"})
		if ok || !strings.Contains(why, "accept-edits") {
			t.Errorf("a mode that is none: %v, %s", ok, why)
		}
		if ok, why = s.command(contract.Configure{Deny: "Bash("}); ok || !strings.Contains(why, "deny:") {
			t.Errorf("a rule that is none: %v, %s", ok, why)
		}
		s.accepts(contract.Permit{Request: one.Request, Behavior: "allow", Scope: "run", Rule: "Bash(git fetch *)"})
		settled("orch-1", "allow", "human")
		settled("orch-2", "allow", "human") // the same rule was offered with it
		s.accepts(contract.Configure{Permissions: "accept-edits"})
		for _, b := range s.waiting() { // what waits stays a human's to answer
			var r contract.PermissionRequest
			if err := json.Unmarshal(b.Request, &r); err == nil && b.Agent == "orch-3" {
				s.accepts(contract.Permit{Request: r.Request, Behavior: "allow"})
			}
		}
		settled("orch-3", "allow", "human")
		testkit.Same(t, "what waits", "permission orch-4", kindsOf(s.waiting()))
		s.accepts(contract.Configure{Deny: "Bash(mkdir *)"})
		settled("orch-4", "deny", "rule")
		s.accepts(contract.Cancel{})
		s.finish(contract.ExitFailed)
		if asked := collect[contract.PermissionRequest](s); len(asked) != 4 {
			t.Errorf("asked: %+v", asked)
		}
	})
}
