package tui

import (
	"testing"

	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestTour: it goes from card to card and back, and ends where it began. It is offered to a user who has no
// earlier input here.
func TestTour(t *testing.T) {
	play(t, 80, 24, nil, func(s *scene) {
		s.ExpectNot("/tour") // an earlier input exists
		s.Type("/tour\n")
		for range len(view.TourSteps()) - 1 {
			s.Press("Enter")
		}
		s.Expect("6 of 6: Leave", "▸e End")
		s.Press("b")
		s.Expect("5 of 6: Read", "Ctrl+P")
		s.Press("n", "Enter")
		s.ExpectNot("A tour")
		s.Type("/tour\n")
		s.Press("Esc")
		s.ExpectNot("A tour")
	})
	play(t, 80, 24, func(_ *Options, h *fakeHost) { h.newcomer = true }, func(s *scene) {
		s.Expect("new here?", "/tour shows the screen in a minute")
	})
}
