package tui

import "testing"

// TestLeaveItRunning shows the two ways to leave a run running, and that Ctrl+D is a key of the editor
// while the input has text.
func TestLeaveItRunning(t *testing.T) {
	left := func(s *scene) bool { return s.host.run.left.Load() }
	play(t, 80, 24, nil, func(s *scene) {
		s.startWork()
		s.Type("ab")
		s.Press("Home", "Ctrl+D")
		s.Expect("› b")
		if left(s) {
			t.Fatal("it was left while something was written")
		}
		s.Press("Ctrl+C", "Ctrl+D")
		_ = s.ExpectEnd()
		if !left(s) {
			t.Error("Ctrl+D does not leave the run running")
		}
	})
	for _, keys := range [][]string{{"Ctrl+C", "d"}, {"Ctrl+C", "Ctrl+D"}} {
		play(t, 80, 24, nil, func(s *scene) {
			s.startWork()
			s.Press(keys...)
			_ = s.ExpectEnd()
			if !left(s) {
				t.Errorf("%v do not leave the run running", keys)
			}
		})
	}
}
