package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// asking: one Orchestrator asks a question that the human has reserved for themselves, while two others work.
// It is reported as a question, and stays open until the human answers, although the others are done by then
// and the Arbiter has decided on their work.
var asking = seamPlay{
	name: "a question to the human while two work",
	long: true,
	play: always(`name: asking
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Unpick the old thread.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin the west.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin the north.}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      - {expect: May the old thread go, verdict: {decision: ADDRESS_HUMAN, message: "You kept this for yourself: may the old thread go?", reason: r}}
      - {expect: "(?s)kind. answer.*it may go", verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: It may go., reason: r}}
      - {expect: The old thread is gone, verdict: {decision: COMPLETE, message: It is done., summary: All three are done., reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: old
    match: {role: orchestrator, contains: Unpick the old}
    otherwise:
      - {expect: It may go, verdict: {kind: done, expects_response: true, message: The old thread is gone., handoff: {accomplished: [unpicked], remaining: [], key_context: none}}}
      - verdict: {kind: question, expects_response: true, message: May the old thread go?}
  - name: spinner
    match: {role: orchestrator, contains: "Spin the (?P<side>west|north)"}
    steps:
      - expect: Spin the (?P<side>west|north)
        use: [{tool: Bash, input: {command: "while [ ! -e go ]; do sleep 0.05; done; echo spun", description: Spin}}]
      - verdict: {kind: done, expects_response: true, message: "The {{.side}} is spun.", handoff: {accomplished: ["{{.side}}"], remaining: [], key_context: none}}
`),
	human: func(h *modelHome, f frontendDriver) {
		f.await("the question", func(l contract.Line) bool {
			q, ok := l.Body.(contract.Question)
			return ok && strings.Contains(q.Text, "may the old thread go")
		})
		h.touch("go")
		sendMessageAs(f, "orch-2", "arbiter", "The west is spun")
		sendMessageAs(f, "orch-3", "arbiter", "The north is spun")
		f.say("", "", "it may go")
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`,
		"hands to arbiter: unpicked, proofs [], drawn up: false", "ends: complete",
	},
}

// halting: the human stops the same command three times. None of these stops counts as a failure of the agent,
// and the fourth try completes the task.
var halting = seamPlay{
	name: "stopped by the human three times",
	long: true,
	play: always(`name: halting
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      - {expect: "What now after the (?P<n>\\d)", verdict: {decision: RETRY, to: orch-1, message: "Take up try {{.n}}.", reason: r}}
      - {expect: It is spun, verdict: {decision: COMPLETE, message: It is done., summary: It is spun., reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: spinner
    match: {role: orchestrator}
    otherwise:
      - {expect: Take up try 3, verdict: {kind: done, expects_response: true, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none}}}
      - {expect: "not like this, for the (?P<n>\\d)", verdict: {kind: question, expects_response: true, message: "What now after the {{.n}}?"}}
      - {expect: "Take up try (?P<n>\\d)", use: [{tool: Bash, input: {command: "touch begun-{{.n}}; exec sleep 1000", description: Spin}}]}
      - use: [{tool: Bash, input: {command: "touch begun-0; exec sleep 1000", description: Spin}}]
`),
	human: func(h *modelHome, f frontendDriver) {
		for n := range 3 {
			awaitFile(h.t, filepath.Join(h.work, fmt.Sprintf("begun-%d", n)))
			f.say("orch-1", contract.Stop, fmt.Sprintf("not like this, for the %d. time", n+1))
		}
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`, "hands to arbiter: spun, proofs [], drawn up: false",
		"ends: complete",
	},
}

// TestMessageBeforeAnInterruptIsRead: a message that is accepted right before an interrupt, or before a message
// that stops the turn, is still delivered, and the model reads it.
func TestMessageBeforeAnInterruptIsRead(t *testing.T) {
	const play = `name: overtaken
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - {expect: That is all, verdict: {decision: COMPLETE, message: It is done., summary: Heard., reason: r}}
      - {expect: "Heed (?P<n>\\d)", verdict: {decision: ADDRESS_HUMAN, message: "Heard to {{.n}}.", reason: r}}
      - {expect: Remember, delay: 600s, verdict: {decision: ADDRESS_HUMAN, message: Too late., reason: r}}
      - verdict: {decision: ADDRESS_HUMAN, message: Speak., reason: r}
`
	eachPlayerLong(t, func(t *testing.T, who player) {
		// the driver's TestInterruptIsReadAfterTheMessage covers the real CLI
		h := build(t, who, play)
		s := h.script()
		asked := func(text string) {
			t.Helper()
			await(s, "the question "+text, func(_ string, q contract.Question) bool {
				return strings.Contains(q.Text, text)
			})
		}
		asked("Speak.")
		for n := range 3 {
			s.send(contract.Say{Text: fmt.Sprintf("Remember word %d.", n)})
			s.send(contract.Say{Text: fmt.Sprintf("Heed %d.", n), Strength: contract.Stop})
			asked(fmt.Sprintf("Heard to %d.", n))
		}
		s.send(contract.Say{Text: "Remember the last."})
		last := await(s, "the last word", func(_ string, m contract.Message) bool {
			return m.Text == "Remember the last."
		})
		for at := len(collect[contract.Turn](s)); ; at++ {
			s.send(contract.Interrupt{})
			until(t, "an interrupted turn", func() bool { return len(collect[contract.Turn](s)) > at })
			if slices.Contains(collect[contract.Turn](s)[at].MessageIDs, last.MessageID) {
				break
			}
			// The interrupted turn was that of an earlier message, which "Heed" had overtaken and which was
			// sent again.
			await(s, "the last word's delivery", func(_ string, d contract.Delivered) bool {
				return d.MessageID == last.MessageID
			})
		}
		asked("was interrupted")
		s.send(contract.Say{Text: "That is all."})
		s.finish(contract.ExitComplete)
		var latest rehearsal.Request
		for _, r := range h.model.Requests() {
			if r.Role == rehearsal.RoleArbiter {
				latest = r
			}
		}
		for _, word := range []string{"Remember word 0.", "Remember word 1.", "Remember word 2.",
			"Remember the last."} {
			if n := strings.Count(string(latest.Messages), word); n != 1 {
				t.Errorf("the model read %q %d times", word, n)
			}
		}
		h.sound(s)
	})
}
