package tui

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

const longQuestion = "Which header shall the **loom** read?\n\n- the old one, which all looms know\n" +
	"- the new one, which says how long a cloth is\n\n"

// inbox makes items of all kinds wait, put aside: requests of two agents, a question, and a choice after a
// failure.
func (s *scene) inbox() {
	s.T.Helper()
	s.startWork()
	s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest, "Bash(go test ./header)", "Bash(go test *)") })
	s.does(func(p *fakeRun) {
		p.suggests("orch-2", "two", `{"command":"go test -run 'Header|Writer' ./writer"}`, "Bash(go test *)")
	})
	s.does(func(p *fakeRun) { p.suggests("orch-1", "three", `{"command":"rm -rf build"}`) })
	s.Press("Esc")
	s.Advance(time.Minute)
	s.does(func(p *fakeRun) {
		p.endTurn("arbiter", decides("ADDRESS_HUMAN",
			longQuestion+strings.Repeat("It matters. ", 60)+"What says the human?"))
	})
	s.present(func(st *supervisor.State) {
		st.Question.Recovery.Agent, st.Question.Recovery.Text = "orch-1", "The thread of orch-1 snapped"
	})
	s.trip("retry", "skip", "name another program with --claude PATH")
	s.Advance(time.Minute)
}

// TestInboxPanel: digits answer the selected item, one after the other; a question is shown to its end;
// trust and failures have their choices; Esc closes the panel from any step, and nothing opens in its
// place.
func TestInboxPanel(t *testing.T) {
	testkit.WithoutRace(t)
	play(t, 110, 34, nil, func(s *scene) {
		s.inbox()
		s.Press("F7")
		s.Expect("What waits for you · 1 of 5", "▸ Orchestrator I has failed", "The thread of orch-1 snapped",
			"for 2 min",
			"name another program", "Orchestrator II asks permission", "1 Try again")
		s.Press("1")
		s.expectTook(contract.Choose{Option: "retry"})
		s.Expect("Refused: orch-1 is already at work", "What waits for you · 2 of 5", // asked again
			"▸ Orchestrator I asks permission  Bash: go test ./header", "A: all 3 permission requests")
		s.Advance(2 * time.Second)
		s.Press("4")
		s.Expect("until the run ends", "3 Bash(go test *)  (and 1 more)",
			"Bash(go test *) also settles 1 request:", "- Orchestrator II asks permission: Bash: go test -run")
		s.Press("Esc")
		s.ExpectNot("What waits for you", "NORMAL")
		s.Advance(2 * time.Second)
		s.Press("F7", "j", "5", "2")
		s.expectPermit(contract.Permit{Request: "one", Behavior: "allow", Scope: "always",
			Rule: "Bash(go test ./header)"})
		s.Expect("What waits for you · 2 of 4", "▸ Orchestrator II asks permission")
		s.Press("2") // it may have been meant for the previous item
		s.Settle()
		got := s.permit()
		testkit.Check(t, got.Request == "one", "a key that came too early answered %+v", got)
		s.Advance(2 * time.Second)
		s.Press("2")
		s.expectPermit(contract.Permit{Request: "two", Behavior: "deny"})
		s.Press("j")
		s.Expect("The Arbiter asks, for 1 min", "the new one, which says how long a cloth is")
		s.Press("Space", "Space")
		s.Expect("What says the human?")
		s.Press("k", "3")
		s.Type("build is mine\n")
		s.expectPermit(contract.Permit{Request: "three", Behavior: "deny", Message: "build is mine"})
	})
}

// TestAllAtOnce: after all requests were read to the end, one answer, which names their number, answers
// them all.
func TestAllAtOnce(t *testing.T) {
	play(t, 100, 14, nil, func(s *scene) {
		s.inbox()
		s.Press("F7", "j", "A")
		s.Expect("3 permission requests, answered at once:", "1. Orchestrator I asks permission, for 2 min",
			"Allow these 3 once",
			"There is more of it")
		s.Press("1")
		s.expectPermit(contract.Permit{})
		s.Press("PgDn", "PgDn", "PgDn", "PgDn", "PgDn")
		s.does(func(p *fakeRun) { p.suggests("orch-2", "four", `{"command":"make four"}`) })
		s.does(func(p *fakeRun) { p.do(input.PermissionWithdrawn{Request: "two"}) })
		s.Expect("Allow these 3 once")
		s.ExpectNot("make four")
		s.Press("1")
		var allowed []string
		for _, c := range s.host.present().puts {
			if p, ok := c.(contract.Permit); ok && p.Behavior == "allow" && p.Scope == "" {
				allowed = append(allowed, p.Request)
			}
		}
		testkit.Check(t, strings.Join(allowed, " ") == "one three", "allowed %v", allowed)
		s.Expect("What waits for you · 2 of 3", "▸ The Arbiter asks")
		s.Press("j")
		s.Expect("make four")
	})
}

// TestInboxPanelOpensOnRequests: it opens instead of several dialogs in a row, but never over text that is
// being written or read; a letter of a word is not an answer.
func TestInboxPanelOpensOnRequests(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.Type("I am writing")
		s.waits("one", "two", "three")
		s.ExpectNot("What waits for you")
		s.Press("F1")
		s.Expect("HELP")
		s.Press("Ctrl+L")
		s.waits("four")
		s.ExpectNot("What waits for you")
		s.Press("Esc", "Ctrl+C")
		for range 40 {
			if s.Settle(); s.Shows("What waits for you · 1 of 4") {
				break
			}
		}
		s.Press("1")
		s.expectPermit(contract.Permit{})
		s.Press("Ctrl+C")
		s.Advance(2 * time.Second)
		s.Expect("What waits for you")
		s.Type("All is well")
		s.ExpectNot("What waits for you")
		if got := s.frontend.root.prompt.input.Text(); got != "All is well" || s.permit() != (contract.Permit{}) {
			t.Errorf("the input is %q, answered %+v", got, s.permit())
		}
		s.Press("Ctrl+C")
		s.Advance(2 * time.Second)
		s.Press("Down", "F1")
		s.Expect("HELP", "what waits", "the next item")
		s.Press("Esc")
		s.Expect("What waits for you · 2 of 4")
		s.Press("Esc")
		s.ExpectNot("What waits for you", "Permission request")
	})
}

// TestThePanelByMouse: rows and answers are clicked, and the status line opens it, at every size.
func TestThePanelByMouse(t *testing.T) {
	testkit.WithoutRace(t)
	for _, size := range [][2]int{{40, 12}, {100, 30}, {300, 90}} {
		weaving(t, size[0], size[1], func(s *scene) {
			s.waits("one", "two")
			s.Press("Esc")
			s.ClickOn("? 2 ")
			s.Expect("What waits for you", "make one")
			s.ExpectSound()
			s.Advance(time.Second) // a second click at once would be a double click
			if size[1] > 12 {
				s.ClickOn("make two")
				s.Advance(time.Second)
				s.Expect("2 of 2")
			} else {
				s.Press("j")
			}
			s.ClickOn("2 Deny")
			s.expectPermit(contract.Permit{Request: "two", Behavior: "deny"})
		})
	}
}

// TestTrustInThePanel: the user can trust a changed workspace in the panel. A host that cannot be used is listed there
// with the reason, and the user can have it tried again.
func TestTrustInThePanel(t *testing.T) {
	weaving(t, 90, 30, func(s *scene) {
		s.present(func(st *supervisor.State) {
			st.Lifecycle.TrustQuestion = &supervisor.TrustQuestion{Hash: "h", At: time.Now()}
		})
		s.Press("Esc", "w")
		s.Expect("The workspace needs your trust", "1 Trust the workspace, as it is now",
			"2 Go on without its settings",
			"3 End the run")
		s.Press("3")
		s.Expect("End the run?")
		s.Press("n")
		s.Press("w", "2")
		s.expectTook(contract.Choose{Option: "without"})
		s.present(func(st *supervisor.State) {
			st.Lifecycle.TrustQuestion = nil
			st.Lifecycle.Bridges = append(st.Lifecycle.Bridges, supervisor.Bridge{Host: "box", Parked: true,
				Status: supervisor.StatusDown, Reason: "Permission denied", Since: time.Now()})
		})
		s.Press("w")
		s.Expect("Host box needs you", "Permission denied", "1 Try host box again")
		s.Press("1")
		s.expectTook(contract.Choose{Option: "retry host box"})
	})
}

// TestQuestionAlertsTheHuman: a question that is asked while agents work and a permission request waits rings the
// bell, and the title, the status line, the agents' lines and /inbox report both until they are answered.
func TestQuestionAlertsTheHuman(t *testing.T) {
	weaving(t, 100, 34, func(s *scene) {
		s.waits("one")
		s.Press("Esc")
		var rang atomic.Int64
		s.do(func() {
			s.frontend.screen.OnSend = func(sequence string) { rang.Add(int64(strings.Count(sequence, "\a"))) }
		})
		s.Advance(2 * time.Minute)
		s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Shall the old header stay?")) })
		testkit.Same(t, "how often the question rang", 1, rang.Load())
		s.Expect("2 wait for you", "permission?", "asks you", "Alt+p: a permission request waits")
		testkit.Same(t, "title", "? arbiter – 2 things wait for you · loom", s.Screen.GetTitle())
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
		got, ok := s.host.present().took().(contract.Say)
		testkit.Check(t, ok && got.Text == "It stays", "took %+v", got)
		s.ExpectNot("is awaited", "asks you")
		testkit.Same(t, "how often it rang in all", 1, rang.Load())
		s.Type("/inbox\n")
		s.Expect("Nothing waits for you")
	})
}
