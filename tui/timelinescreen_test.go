package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
)

// timed opens the timeline of a run in which an agent waited.
func timed(s *scene) {
	s.startWork()
	s.Advance(20 * time.Second)
	s.does(func(p *fakeRun) { p.suggests("orch-1", "perm-1", goTest) })
	s.Advance(10 * time.Second)
	s.Press("y")
	s.does(func(p *fakeRun) {
		p.does("orch-1", bridge.ToolResult{ToolUse: "t2", Text: "three callers"})
		p.endTurn("orch-1", reports("done", "The header is written.", true))
	})
	s.Advance(30 * time.Second)
	s.Press("F6")
}

// TestTimeline: Enter goes from a lane to what was reported at that time, f to the agent, and the mouse
// does the same.
func TestTimeline(t *testing.T) {
	testkit.WithoutRace(t)
	play(t, 120, 40, nil, func(s *scene) {
		timed(s)
		s.Press("Down", "[", "[")
		s.Expect("waits for you")
		s.Press("Enter")
		s.Expect("THE WEAVING")
		if got := s.frontend.root.runScreen.talk; got.Marked() < 0 || got.Following() && got.Behind() > 0 {
			t.Errorf("nothing is marked")
		} else if e, _ := got.src.thread.Entry(got.Marked()); e.Event.Body.EventName() != "permission_request" {
			t.Errorf("Enter leads to %q", e.Event.Body.EventName())
		}
		s.Press("l")
		s.Expect("TIMELINE")
		s.Press("Down", "Home", "f")
		if f, ok := s.frontend.root.screen().(*focus); !ok || f.id != "orch-1" {
			t.Errorf("f leads to %T", s.frontend.root.screen())
		}
		s.Press("Esc", "F6", "Home", "[")
		s.Expect("There is no notable event there.")
		s.Press("Esc")
		s.Press(":")
		s.Type("timeline\n")
		s.Expect("TIMELINE")
		y := slices.IndexFunc(s.Rows(), func(row string) bool { return strings.Contains(row, "Orchestrator I ") })
		s.Click(60, y)
		s.Click(60, y)
		s.Expect("THE WEAVING")
	})
}
