package tui

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestPalette: a few letters and Enter execute the entry that they match; an entry that needs an argument,
// or acts at once on waiting items, is inserted into the input.
func TestPalette(t *testing.T) {
	testkit.WithoutRace(t)
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		s.Type("half a word")
		s.Press("Ctrl+P")
		s.Expect("What shall be done?", "Orchestrator I  orch-1", "/kill  end an agent")
		s.Press("Esc")
		s.ExpectNot("What shall be done?")
		s.Expect("half a word")
		s.Press("Ctrl+C")
		for letters, shown := range map[string]string{"timel": "waits for the API", "logb": "all events",
			"permiss": "WHAT IS ALLOWED",
			"orch-2":  "Review what the other one wrote."} {
			s.Press("Ctrl+P")
			s.Type(letters + "\n")
			s.Expect(shown)
			s.Press("Esc")
			s.Press("i")
			s.Press("Ctrl+U")
		}
		for letters, written := range map[string]string{"/kill": "/kill ", "/deny": "/deny ",
			"/interr": "/interrupt "} {
			s.Press("F2", "Ctrl+P")
			s.Type(letters + "\n")
			d := s.frontend.root
			if got := d.prompt.input.Text(); got != written || d.screen() != screen(d.runScreen) {
				t.Errorf("%s: the input is %q", letters, got)
			}
			s.Press("Ctrl+U")
		}
		s.Press("Ctrl+P")
		s.Type("/pause\n")
		s.expectTook(contract.Pause{})
	})
}

// TestMention: after an @ agents are listed as well as files, found by letters; a message that begins with
// an agent is sent to it.
func TestMention(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		s.Stage.Type("@") // the list is read when Tab is pressed
		s.Press("Tab")
		s.Expect("@orch-1", "Orchestrator I", "@README.md")
		s.Type("o2")
		s.ExpectNot("@README.md")
		s.Press("Tab")
		s.Type("read @hd first\n")
		want := contract.CommandBody(contract.Say{To: "orch-2", Text: "read @hd first"})
		s.expectTook(want)
		s.Type("@orch-7 is nobody\n")
		s.expectTook(contract.Say{Text: "@orch-7 is nobody"})
	})
}
