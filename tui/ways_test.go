package tui

import (
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// trip makes an agent fail with ways out.
func (s *scene) trip(options ...string) {
	s.T.Helper()
	s.present(func(st *supervisor.State) { st.Question.Recovery.Options = options })
	s.does(func(p *fakeRun) {
		p.sink(time.Now(),
			contract.Event{ID: "orch-1",
				Body: contract.Error{Category: "crash", Message: "The thread of orch-1 snapped",
					RecoveryOptions: options}})
	})
}

// TestRecoveryOptions: the screen shows ways out above the input, and a key takes one. Their dialog does not open
// while the user types, and closes when the problem ends.
func TestRecoveryOptions(t *testing.T) {
	testkit.WithoutRace(t)
	for _, size := range [][2]int{{100, 30}, {40, 12}} {
		play(t, size[0], size[1], nil, func(s *scene) {
			s.startWork()
			s.Type("I write ")
			s.trip("retry", "skip", "cancel")
			s.ExpectNot("Ways out")
			s.Expect("Alt+c: retry", "I write")
			s.Type("on")
			s.Expect("I write on")
			s.Press("Alt+c")
			s.Expect("Ways out", "Try again")
			s.Press("Esc")
			s.ExpectNot("Ways out", "Alt+c: retry") // put aside
			s.Press("Alt+c", "t")
			s.expectTook(contract.Choose{Option: "retry"})
		})
	}
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		s.trip("retry", "cancel")
		s.Expect("Alt+c: retry · cancel")
		s.Press("Alt+c")
		s.does(func(p *fakeRun) { p.endTurn("orch-1", reports("question", "Shall I?", true)) }) // it works again
		s.ExpectNot("Ways out", "Alt+c")
		s.Press("Alt+c")
		s.Expect("No way out is offered")

		s.trip("retry", "cancel")
		s.Press("Alt+c", "Right", "Enter")
		s.Expect("End the run?") // no serious action without a question
		s.Press("Enter")
		if got, ok := s.host.present().took().(contract.Choose); ok {
			t.Errorf("the run was ended by Enter alone: %+v", got)
		}
		s.Type("/choose cancel\n")
		s.Expect("End the run?")
		s.Press("y")
		s.expectTook(contract.Choose{Option: "cancel"})
	})
}

// TestRecoveryOutsideTheRun: actions that are only possible outside of the run are reported, not offered.
func TestRecoveryOutsideTheRun(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		s.trip("log in again: `claude auth login`")
		s.Expect("Something is for you to do: Alt+c")
		s.Press("Alt+c")
		s.Expect("The thread of orch-1 snapped", "log in again", "So be it")
		s.Press("Enter")
		s.ExpectNot("Alt+c")
		if _, ok := s.host.present().took().(contract.Choose); ok {
			t.Error("something was chosen")
		}
	})
}

// TestIrreversibleControls: every control has a key, and irreversible ones ask first.
func TestIrreversibleControls(t *testing.T) {
	last := func(s *scene) contract.CommandBody { s.Settle(); return s.host.present().took() }
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		s.Press("Esc", "S")
		s.expectTook(contract.SkipStep{})
		s.Press("T")
		s.expectTook(contract.RetryLast{})
		s.Press("m")
		s.Expect("Summon", "reviewer")
		s.Type("review")
		s.Press("Enter")
		s.expectTook(contract.ForceAgent{Mode: "reviewer"})
		for _, way := range []func(){func() { s.Press("Esc", "R") }, func() { s.Type("/reset\n") }} {
			s.Press("Esc", "i", "Ctrl+U")
			way()
			s.Settle()
			s.Expect("Reset?")
			s.Press("Enter") // "no" is marked
			if got := last(s); got == (contract.Reset{}) {
				t.Error("it was reset unasked")
			}
		}
		for _, way := range []func(){func() { s.Press("Esc", "Q") }, func() { s.Type("/cancel\n") }} {
			s.Press("Esc", "i", "Ctrl+U")
			way()
			s.Settle()
			s.Expect("End the run?")
			s.Press("Ctrl+C") // not an answer: it asks for something else
			s.Settle()
			s.Expect("Leave?")
			s.Press("n")
			if got := last(s); got == (contract.Cancel{}) {
				t.Error("it was cancelled unasked")
			}
		}
		s.Press("Esc", "R", "y")
		s.expectTook(contract.Reset{})
		s.Press("i", "Ctrl+U")
		s.Type("/summon wizard\n")
		s.Expect(`There is no mode "wizard"`, "/summon wizard")
		s.Press("Ctrl+C", "Esc", "Q", "y")
		s.expectTook(contract.Cancel{})
	})
}
