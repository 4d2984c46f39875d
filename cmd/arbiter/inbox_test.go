package main

import (
	"context"
	"encoding/json"
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
		// It is made again when its agent asks again, and not before.
		heard := slices.IndexFunc(n.lines, func(l contract.Line) bool {
			_, ok := l.Body.(contract.Delivered)
			return ok && l.ID == "orch-2"
		})
		open := slices.IndexFunc(n.lines, func(l contract.Line) bool {
			b, ok := l.Body.(contract.PermissionRequest)
			return ok && b.Request == request.Request
		})
		if heard < 0 || open < heard || len(collect[contract.PermissionRequest](n)) != 1 {
			t.Errorf("it is reported as open in line %d, and its agent hears in line %d", open, heard)
		}
		n.files(map[string]bool{"touched.txt": true})
	})
}
