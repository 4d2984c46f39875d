package tui

import (
	"strings"
	"testing"
)

// TestSearchInAText: text that is not in the history is searched as well.
func TestSearchInAText(t *testing.T) {
	play(t, 80, 24, nil, func(s *scene) {
		s.startWork()
		s.Type("/cost\n")
		s.Press("/")
		s.Type("no such word\n")
		s.Expect("There is no “no such word” here.")
		for key, where := range map[string]string{"N": "above", "n": "below"} {
			s.Press(key)
			s.Expect("No more of “no such word” " + where + ".")
		}
	})
}

// TestSearchAsInVi: n goes down to the next match, and N up to the previous one.
func TestSearchAsInVi(t *testing.T) {
	play(t, 80, 24, nil, func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			for _, text := range []string{"the first needle", "hay", "the second needle", "hay", "the third needle"} {
				p.endTurn("orch-1", reports("progress", text+strings.Repeat("\n\nhay", 12), false))
			}
		})
		s.Press("Esc", "/")
		s.Type("needle\n")
		for _, step := range []struct{ key, shown string }{{"", "third"}, {"N", "second"}, {"N", "first"}, {"n",
			"second"},
			{"n", "third"}} {
			if step.key != "" {
				s.Press(step.key)
			}
			s.Expect("the " + step.shown + " needle")
		}
		s.Press("n")
		s.Expect("No more of “needle” below.")
		s.Press("g", "/")
		s.Type("first needle\n")
		s.Expect("the first needle")
	})
}
