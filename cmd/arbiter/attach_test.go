package main

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// hand is a play in which an Orchestrator asks a question and waits, so that a test can attach to its session.
// The attached session is an ordinary one.
const hand = `name: hand
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}]
    otherwise:
      - {expect: It is spun, verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}}
      - {expect: Which thread, verdict: {decision: ADDRESS_HUMAN, message: Which thread shall it be?, reason: r}}
      - {expect: the red one, verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: Take the red one., reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: orchestrator
    match: {role: orchestrator}
    otherwise:
      - expect: Take the red one
        verdict:
          expects_response: true
          kind: done
          message: It is spun.
          handoff: {accomplished: [spun], remaining: [], key_context: none, decisions: [], constraints: [], files: [], checks: [], open_questions: [], claims: []}
      - expect: Spin it
        verdict: {expects_response: true, kind: question, message: Which thread?}
  - name: person
    match: {role: any}
    otherwise:
      say: I-shall-remember-it.
`

// twoTerminals is a run in one terminal, and a place from which other terminals can attach.
type twoTerminals struct {
	*testHome
	run   *script
	model *rehearsal.Server
}

// openTwoTerminals starts a run with `--json`, and waits until its Orchestrator waits for the human.
func openTwoTerminals(t *testing.T, who player, play string) *twoTerminals {
	t.Helper()
	h := build(t, who, play)
	h.args = []string{"--trust", "--claude", h.claude, "--permissions", "rules", "--allow", "Bash(*)", "--task",
		"Weave"}
	return &twoTerminals{h.testHome, h.script(), h.model}
}

// asks waits until the Orchestrator waits for the human's answer.
func (w *twoTerminals) asks() {
	w.t.Helper()
	await[contract.Question](w.run, "the question", nil)
}

// attach opens a second terminal.
func (w *twoTerminals) attach(args ...string) *pane {
	w.t.Helper()
	return w.testHome.open(append([]string{"attach"}, args...)...)
}

// awaitIdle waits until the session in the terminal accepts typed input.
func (w *twoTerminals) awaitIdle(p *pane) {
	w.t.Helper()
	if w.player.real {
		p.await("Spin it.", "for shortcuts")
	} else {
		p.await("stand-in, session", "> ")
	}
}

// takeover waits for a takeover event with a state.
func (w *twoTerminals) takeover(state string) contract.Takeover {
	w.t.Helper()
	return await[contract.Takeover](w.run, "a takeover that is "+state, func(id string, b contract.Takeover) bool {
		return id == "orch-1" && b.State == state
	})
}

// sent returns the request that an actor received, as JSON.
func (w *twoTerminals) sent(incoming string) string {
	w.t.Helper()
	for _, r := range w.model.Requests() {
		if strings.Contains(r.Incoming, incoming) {
			return string(r.Messages)
		}
	}
	w.t.Fatalf("no request had %q", incoming)
	return ""
}

// TestAttachFromAnotherTerminal: a person takes an Orchestrator's session into a second terminal, speaks
// with it, and gives it back; the run continues, the Orchestrator knows what was said, and the Arbiter is notified.
func TestAttachFromAnotherTerminal(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) { // the driver's TestTakeoverInATerminal covers the real CLI
		w := openTwoTerminals(t, who, hand)
		w.takenAndGivenBack("Orchestrator I")
	})
}

// takenAndGivenBack takes the session of an Orchestrator into a terminal, speaks with it, and gives it back; a
// second terminal is refused meanwhile. It then finishes the run and checks that no process of it is left.
func (w *twoTerminals) takenAndGivenBack(name string) {
	w.t.Helper()
	w.asks()
	p := w.attach("orch-1")
	p.await("This is the session of "+name, "Ctrl+] gives it back")
	w.takeover("open")
	second := w.attach("orch-1")
	second.await("attached already", "process")
	w.left(second, contract.ExitUsage)
	w.awaitIdle(p)
	p.Type("my word is sesame")
	p.await("my word is sesame")
	p.Type("\r")
	p.await("I-shall-remember-it.")
	p.press("Ctrl+]")
	p.await(name + " continues. The Arbiter learns of one message of yours.")
	w.left(p, contract.ExitComplete)
	if ended := w.takeover("ended"); ended.Words != 1 {
		w.t.Errorf("it ended with %+v", ended)
	}
	w.run.send(contract.Say{Text: "the red one"})
	w.run.completes()
	if got := w.sent("Take the red one"); !strings.Contains(got, "my word is sesame") ||
		!strings.Contains(got, "I-shall-remember-it") {
		w.t.Errorf("the Orchestrator does not know what was said:\n%.3000s", got)
	}
	if got := w.sent("the red one"); !strings.Contains(got, "sesame") {
		w.t.Errorf("the Arbiter was not told:\n%.3000s", got)
	}
	if left := w.alive(); len(left) > 0 {
		w.t.Errorf("left behind: %v", left)
	}
}

// TestTerminalOfAnAttachmentIsClosed: a window that is closed in the middle gives the session back.
func TestTerminalOfAnAttachmentIsClosed(t *testing.T) {
	testkit.Long(t)
	for name, goes := range map[string]func(p *pane){
		"closed": func(p *pane) { p.HangUp() },
		"killed": func(p *pane) { _ = p.Process().Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := players(t)
			who := list[0]
			if name == "closed" {
				who = list[len(list)-1] // the real CLI, if it is installed
			}
			w := openTwoTerminals(t, who, hand)
			w.asks()
			p := w.attach("orch-1")
			p.await("This is the session of Orchestrator I")
			w.takeover("open")
			w.awaitIdle(p)
			goes(p)
			testkit.Must(p.Exit(p.ctx))(t)
			w.takeover("ended")
			w.run.send(contract.Say{Text: "the red one"})
			w.run.completes()
		})
	}
}

// TestAttachRefuses: if a target cannot be attached to, attach says why and exits with the documented code.
func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	w := openTwoTerminals(t, players(t)[0], hand)
	w.asks()
	for _, tt := range []struct {
		args   []string
		want   contract.Exit
		output string
	}{
		{[]string{"orch-9"}, contract.ExitUsage, `no agent "orch-9"`},
		{[]string{"orch-1", "orch-2"}, contract.ExitUsage, "one AGENT"},
		{[]string{"--session", "", "orch-1"}, contract.ExitUsage, "--session is empty"},
		{[]string{"--session", "0000", "orch-1"}, contract.ExitUsage, "0000"},
		{[]string{"--detach-key", "ctrl+m", "orch-1"}, contract.ExitUsage, "use another key"},
		{[]string{"--detach-key", "F12", "orch-1"}, contract.ExitUsage, "use ctrl+"},
	} {
		p := w.attach(tt.args...)
		if text := w.left(p, tt.want); !strings.Contains(text, tt.output) {
			t.Errorf("%v: it says\n%s", tt.args, text)
		}
	}
	w.fails(contract.ExitEnvironment, "attach", "orch-1") // without a terminal
	w.run.send(contract.Cancel{})
	w.run.finish(contract.ExitFailed)
}
