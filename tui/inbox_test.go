package tui

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestQuestionAlertsTheHuman: a question that is asked while agents work and a permission request waits rings the
// bell, and the title, the status line, the agents' lines and /inbox report both until they are answered.
func TestQuestionAlertsTheHuman(t *testing.T) {
	play(t, 100, 34, nil, func(s *scene) {
		s.startWork()
		s.waits("one")
		s.Press("Esc")
		var rang atomic.Int64
		s.do(func() {
			s.frontend.screen.OnSend = func(sequence string) { rang.Add(int64(strings.Count(sequence, "\a"))) }
		})
		s.Advance(2 * time.Minute)
		s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Shall the old header stay?")) })
		if n := rang.Load(); n != 1 {
			t.Errorf("the question rang %d times", n)
		}
		s.Expect("2 wait for you", "permission?", "asks you", "Alt+p: a permission request waits")
		s.ExpectTitle("? arbiter – 2 things wait for you · loom")
		s.Advance(3 * time.Minute)
		s.Type("/inbox\n")
		s.Expect("What waits for you · 1 of 2", "Orchestrator I asks permission", "make one", "for 5 min",
			"The Arbiter asks",
			"Shall the old header stay?", "for 3 min")
		s.does(func(p *fakeRun) { p.do(input.PermissionWithdrawn{Request: "one"}) })
		s.ExpectNot("Bash: make one")
		s.Expect("1 Write the answer")
		s.Advance(time.Second)
		s.Press("1")
		s.Type("It stays\n")
		if got, ok := s.host.present().took().(contract.Say); !ok || got.Text != "It stays" {
			t.Errorf("took %+v", got)
		}
		s.ExpectNot("is awaited", "asks you")
		if n := rang.Load(); n != 1 {
			t.Errorf("rang %d times in all", n)
		}
		s.Type("/inbox\n")
		s.Expect("Nothing waits for you")
	})
}
