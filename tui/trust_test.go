package tui

import (
	"errors"
	"testing"
	"time"
)

// brings is a workspace with its own settings.
func brings(changed bool) func(*Options, *fakeHost) {
	return func(_ *Options, h *fakeHost) {
		how := ""
		if changed {
			how = "changed"
		}
		h.found.Trust = Trust{Changed: changed, Items: []TrustItem{
			{Kind: "hook", File: ".claude/settings.json", Name: "SessionStart 1",
				What: "sh scripts/start.sh \x1b[2J\u202e[red]", How: how},
			{Kind: "script", File: "scripts/start.sh", What: "text, 9 lines"},
		}}
	}
}

// counts returns how often the host received each answer.
func (s *scene) counts() (trusted, without int) {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	return s.host.trusted, s.host.without
}

// TestTrustDialog: the dialog shows the workspace's settings completely before a run begins,
// and arbiter loads them only after the user agrees.
func TestTrustDialog(t *testing.T) {
	for _, c := range []struct {
		keys             []string
		trusted, without int
		shows            string
	}{
		{[]string{"Tab", "Enter"}, 1, 0, "its settings and agents are loaded"},
		{[]string{"w"}, 0, 1, "its own settings are not loaded"},
		{[]string{"Enter"}, 0, 1, "its own settings are not loaded"}, // the safe choice is marked first
	} {
		play(t, 90, 30, brings(false), func(s *scene) {
			s.Expect("Trust this workspace?", ".claude/settings.json", "hook SessionStart 1: sh scripts/start.sh",
				"script: text, 9 lines")
			s.Advance(time.Second)
			s.expectClean("the list") // the next key orders what it reads before the next painting; time would not
			s.Press(c.keys...)
			s.ExpectNot("Trust this workspace?")
			s.Expect(c.shows)
			if trusted, without := s.counts(); trusted != c.trusted || without != c.without {
				t.Errorf("%v: trusted %d times, without %d times", c.keys, trusted, without)
			}
		})
	}
	play(t, 90, 30, brings(true), func(s *scene) {
		s.Expect("not as you trusted it", "changed: hook SessionStart 1")
		s.host.mu.Lock()
		s.host.mistrust = errors.New("the workspace's own settings changed while they were read")
		s.host.mu.Unlock()
		s.Advance(time.Second)
		s.Press("Tab", "Enter")
		s.Expect("Not trusted: the workspace's own settings changed", "it is not as you trusted it")
	})
	play(t, 90, 30, brings(false), func(s *scene) { // starting a task is not an answer
		s.Advance(time.Second)
		s.Type("teach the loom")
		if trusted, _ := s.counts(); trusted != 0 || s.frontend.root.prompt.input.Text() != "teach the loom" {
			t.Errorf("trusted %d times, the input is %q", trusted, s.frontend.root.prompt.input.Text())
		}
	})
	play(t, 90, 30, brings(false), func(s *scene) {
		s.Press("Esc") // it is put aside, and does not open again
		s.Settle()
		s.ExpectNot("Trust this workspace?")
		s.Type("Weave\n")
		if trusted, _ := s.counts(); trusted != 0 || len(s.host.begun) != 1 {
			t.Errorf("trusted %d times, begun %v", trusted, s.host.begun)
		}
	})
	play(t, 90, 30, func(o *Options, h *fakeHost) { brings(false)(o, h); h.found.Rehearsal = true }, func(s *scene) {
		s.ExpectNot("Trust this workspace?")
	})
}
