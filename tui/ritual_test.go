package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/tui/view"
)

// TestScene: the agents stand as figures below the tiles, or beside the conversation, and only where there is room.
func TestScene(t *testing.T) {
	testkit.WithoutRace(t)
	on := func(o *Options, _ *fakeHost) { o.Ritual, o.Still = Ritual{Scene: true, Human: view.RitualSmith}, true }
	for _, size := range [][2]int{{200, 50}, {150, 44}} {
		play(t, size[0], size[1], on, func(s *scene) { s.crowd(); s.Expect("⡶⢶⢶") })
	}
	for _, size := range [][2]int{{200, 30}, {120, 40}, {40, 12}} {
		play(t, size[0], size[1], on, func(s *scene) {
			s.crowd()
			s.ExpectNot("⡶⢶⢶")
		})
	}
}

// titled runs a frontend with a title, and records which figure is remembered.
func titled(t *testing.T, still bool, act func(s *scene, remembered *[]view.RitualKind)) {
	t.Helper()
	var remembered []view.RitualKind
	play(t, 100, 30, func(o *Options, _ *fakeHost) {
		o.Still = still
		remember := func(k view.RitualKind) { remembered = append(remembered, k) }
		o.Ritual = Ritual{Title: true, Human: view.RitualScribe, Remember: remember}
	}, func(s *scene) {
		s.Expect("T H E   A R B I T E R", "Who comes?", "2 the scribe")
		act(s, &remembered)
	})
}

// TestTitle: a key that chooses sends the figure to the Arbiter; every other key works as without a title.
func TestTitle(t *testing.T) {
	titled(t, false, func(s *scene, remembered *[]view.RitualKind) {
		s.Press("3")
		s.Expect("The smith comes before the loom.")
		s.Advance(view.RitualWalk + time.Second)
		s.Expect("Speak, mortal.")
		testkit.Same(t, "remembered", "[scribe smith]", fmt.Sprint(*remembered))
	})
	for name, press := range map[string]func(s *scene){
		"a letter": func(s *scene) { s.Type("w") }, "a paste": func(s *scene) { s.Paste("w") },
		"Enter, then a letter": func(s *scene) { s.Press("Enter"); s.Type("w") },
		"a walk cut short":     func(s *scene) { s.Press("1"); s.Type("w") },
	} {
		t.Run(name, func(t *testing.T) {
			titled(t, false, func(s *scene, _ *[]view.RitualKind) {
				press(s)
				s.Type("eave")
				s.Expect("Speak, mortal.", "weave")
			})
		})
	}
	titled(t, true, func(s *scene, _ *[]view.RitualKind) {
		s.Press("1")
		s.Expect("Speak, mortal.")
	})
	titled(t, false, func(s *scene, _ *[]view.RitualKind) {
		s.Press("F1")
		s.ExpectNot("Who comes?")
		s.Press("Esc")
		s.Expect("Speak, mortal.")
	})
}

// TestNoTitle: there is no title for a user who starts with a task, or opens a run.
func TestNoTitle(t *testing.T) {
	play(t, 100, 30, func(o *Options, _ *fakeHost) {
		o.Ritual, o.Begin = Ritual{Title: true}, &Begin{Task: "Weave"}
	}, func(s *scene) { s.ExpectNot("Who comes?") })
}

// TestSounds: one when the user is needed, and one at the end; bells are used if sounds cannot be played.
func TestSounds(t *testing.T) {
	for bells := range 2 {
		var played []Sound
		play(t, 100, 30, func(o *Options, _ *fakeHost) {
			o.Notify.Bell = false
			o.Ritual.Sound = func(s Sound) int { played = append(played, s); return bells }
		}, func(s *scene) {
			s.startWork()
			rung := 0
			s.frontend.screen.OnSend = func(sequence string) { rung += strings.Count(sequence, "\a") }
			s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Which header?")) })
			s.Advance(time.Minute)
			s.Type("The new one\n")
			s.does(func(p *fakeRun) {
				p.endTurn("orch-1", reports("done", "The header is written.", true))
				p.endTurn("arbiter", decides("COMPLETE", "It is done.", "summary", "The loom knows the new header."))
			})
			s.Advance(time.Minute)
			testkit.Same(t, "played", fmt.Sprint([]Sound{SoundAsked, SoundDone}), fmt.Sprint(played))
			testkit.Same(t, "bells", 2*bells, rung)
		})
	}
}
