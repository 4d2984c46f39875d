package tui

import "testing"

// TestSearchInAText: what is not of the history is searched as well.
func TestSearchInAText(t *testing.T) {
	play(t, 80, 24, nil, func(s *scene) {
		s.weave()
		s.Type("/cost\n")
		s.Settle()
		s.Press("/")
		s.Type("no such word\n")
		s.Settle()
		s.Expect("No more of “no such word” above.")
		s.Press("N")
		s.Settle()
		s.Expect("No more of “no such word” below.")
	})
}
