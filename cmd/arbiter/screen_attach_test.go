package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// handOnScreen is the play hand for the screen: the Arbiter repeats its question when it learns of the human's
// session.
var handOnScreen = strings.Replace(hand,
	"      - {expect: Which thread,", `      - {expect: took the session of, verdict: {decision: ADDRESS_HUMAN, message: And which thread now?, reason: r}}
      - {expect: Which thread,`, 1)

// TestAttachFromTheScreen: the key A opens an agent's session in the screen's terminal; a rehearsal's new home
// causes no first-start questions. A second terminal is refused meanwhile. The session follows the window's
// size, Ctrl+] brings the screen back, the Arbiter receives what was said, and the run completes.
func TestAttachFromTheScreen(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.play(scenarioFile(t, handOnScreen), "--task", "Weave")
		p.await("Which thread shall it be?", "The Arbiter awaits your answer.")
		p.press("Esc")
		p.await("NORMAL")
		p.press("1")
		p.await("session ", "generation 1")
		p.press("A")
		if who.real { // it clears the screen
			p.await("Claude Code v", "Spin it.", "for shortcuts")
		} else if s := p.await("This is the session of Orchestrator I", "Ctrl+] gives it back", "> "); s.Alt() ||
			s.Mouse() {
			t.Errorf("it got a terminal with %v", s.Leftovers())
		}
		second := h.open("attach", "orch-1")
		second.await("attached already: the screen has it")
		h.left(second, contract.ExitUsage)
		p.Type("my word is sesame")
		p.await("my word is sesame")
		p.Type("\r")
		p.await("I-shall-remember-it.")
		size := pty.Size{Columns: 80, Rows: 24}
		testkit.OK(t, p.Resize(size))
		if who.real {
			p.until(func(s pty.Screen) bool { return strings.Contains(s.Text(), "| id:\n") }) // broken here
		}
		p.press("Ctrl+]")
		p.await("generation", "i write")
		p.press("q")
		p.await("THE WEAVING", "And which thread now?")
		p.press("i")
		p.Type("the red one\n")
		p.await("It is done.", "Speak again, or depart.")
		h.over(p)
		var told string
		for _, l := range h.replayed() {
			if m, ok := l.Body.(contract.Message); ok && m.To == "arbiter" &&
				strings.Contains(m.Text, "took the session of") {
				told = m.Text
			}
		}
		if !strings.Contains(told, "1 message typed") || !strings.Contains(told, "sesame") {
			t.Errorf("the Arbiter was notified:\n%s", told)
		}
	})
}

// TestGivenUpWhileItIsHandedOver: while an agent's slow process is being stopped for an attachment, Ctrl+C
// cancels the attachment and ends nothing, and Ctrl+\ halts everything.
func TestGivenUpWhileItIsHandedOver(t *testing.T) {
	testkit.Long(t)
	for name, key := range map[string]string{"Ctrl+C": "\x03", `Ctrl+\`: "\x1c"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onlyLinux(t)
			h := newTestHome(t, players(t)[0])
			claude := sickClaude(t, sick{"orch-1.1": `sh:trap '' TERM INT HUP; $standin "$@"; exec sleep 1000`})
			p := h.open("--rehearse", "--claude", claude, "--scenario", scenarioFile(t, unresponsivePlay), "--task", "Weave")
			p.await("THE WEAVING", "Orchestrator I", "Bash")
			work := h.scratch()
			awaitFile(t, filepath.Join(work, "begun"))
			p.Type("/attach orch-1\n")
			p.await("Attaching to orch-1")
			p.Type(key)
			p.await("THE WEAVING", "Orchestrator I")
			if name == `Ctrl+\` {
				p.await("halted")
				b := &busy{script: &script{t: t}, run: h.runs()[0]}
				b.awaitStill(waitTimeout)
				p.Type("/continue\n")
			}
			testkit.OK(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
			p.await("It is done.", "Speak again, or depart.")
			h.over(p)
		})
	}
}

// TestAttachmentReportsFailure: if Claude Code ends at once, its output is shown to the human who attached, on
// the screen and in another terminal.
func TestAttachmentReportsFailure(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	h := newTestHome(t, players(t)[0])
	claude := sickClaude(t, sick{"orch-1.2": "sh:echo 'No conversation found with that id'; exit 1",
		"orch-1.4": "sh:echo 'No conversation found with that id'; read enter; exit 1"})
	p := h.open("--rehearse", "--claude", claude, "--scenario", scenarioFile(t, handOnScreen), "--task", "Weave")
	p.await("Which thread shall it be?", "The Arbiter awaits your answer.")
	p.Type("/attach orch-1\n")
	p.await("exit code 1", "No conversation found", "awaits a reply")
	second := h.open("attach", "orch-1")
	second.await("No conversation found")
	second.Type("\r") // the terminal was opened, so a program that ends is not a refusal
	second.await("exit code 1")
	h.left(second, contract.ExitComplete)
	h.interrupted(p)
}
