package tui

import "testing"

// TestExplain shows the text that was read for a decision verbatim, and not as Markdown.
func TestExplain(t *testing.T) {
	play(t, 120, 40, inGit, func(s *scene) {
		authored(s)
		s.Press("Esc")
		for typed, want := range map[string][]string{
			"/explain 3\n": {"THE DECISION", "prompt of decision 3, as it was read:", "# What you decide"},
			"/explain\n":   {"THE DECISION", "prompt of decision 0, as it was read:", "# What you decide"},
		} {
			s.Type(typed)
			s.Expect(want...)
			s.Press("Esc")
		}
		for typed, want := range map[string]string{"/explain 10\n": "has no decision 10", "/explain x\n": "the number of"} {
			s.Press("Ctrl+U")
			s.Type(typed)
			s.Expect(want)
		}
	})
}
