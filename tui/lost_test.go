package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestRefusedMessageReturnsToTheInput: a message that a run could not accept any more, because it ended at
// that moment, is in the input again.
func TestRefusedMessageReturnsToTheInput(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		p := s.host.present()
		p.mu.Lock()
		p.over = true // its resources are still being released
		p.mu.Unlock()
		s.Type("One more thing\n")
		s.Expect("The run is over", "› One more thing")
	})
}

// TestInterruptedRun: the process that plays a run is killed while requests wait. The screen shows no work, no
// request and no running clock; a key resumes the run.
func TestInterruptedRun(t *testing.T) {
	play(t, 110, 44, nil, func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) { p.asks("orch-1", "one", "Bash", `{"command":"make"}`) })
		s.Expect("Allow once", "Waits for you")
		p := s.host.present()
		p.mu.Lock()
		p.over, p.outcome = true, Outcome{Exit: contract.ExitFailed, Text: "gone", Lost: true}
		close(p.done)
		p.mu.Unlock()
		s.Settle()
		s.Expect("The run was interrupted", "Resume it", "withdrawn")
		s.ExpectNot("Allow once", "is awaited", "It waits for your answer", "permission?  ", "weaves", "ponders")
		s.Press("n")
		before := s.Text()
		s.Advance(time.Minute)
		if after := s.Text(); after != before {
			t.Errorf("a minute later the screen has changed:\n%s\nbefore:\n%s", after, before)
		}
		s.Expect("/resume continues")
		s.Type("/pause\n")
		s.Expect("The run was interrupted. /resume continues it.")
		s.Press("Alt+c", "r")
		s.host.mu.Lock()
		defer s.host.mu.Unlock()
		if got := s.host.begun[len(s.host.begun)-1]; got.Resume != fakeRunID {
			t.Errorf("begun: %+v", got)
		}
	})
}

// TestSilentRun: the process that plays a run is stopped. The screen says since when it does not answer, shows no
// work, and keeps what is typed until the run has taken it.
func TestSilentRun(t *testing.T) {
	play(t, 110, 30, nil, func(s *scene) {
		s.startWork()
		p := s.host.present()
		p.mu.Lock()
		p.silent, p.hangs = time.Now(), make(chan struct{})
		p.mu.Unlock()
		s.Advance(7 * time.Second)
		s.Expect("Does not answer, 6 s")
		rows := s.Rows()[:3]
		s.Type("Stop the loom\n")
		s.Advance(time.Minute)
		s.Expect("Not taken yet: Stop the loom", "Does not answer, 1 min")
		if now := s.Rows()[:3]; !slices.Equal(now, rows) {
			t.Errorf("the agents go on:\n%s\nbefore:\n%s", strings.Join(now, "\n"), strings.Join(rows, "\n"))
		}
		p.mu.Lock()
		p.silent = time.Time{}
		close(p.hangs)
		p.hangs = nil
		p.mu.Unlock()
		s.Advance(2 * time.Second)
		s.ExpectNot("Does not answer", "Not taken yet")
		if say, ok := p.took().(contract.Say); !ok || say.Text != "Stop the loom" {
			t.Errorf("taken: %+v", p.took())
		}
	})
}

// TestPastIsShownOnce: earlier messages are shown once, however often resuming the run was tried.
func TestPastIsShownOnce(t *testing.T) {
	play(t, 100, 30, func(_ *Options, h *fakeHost) {
		h.refuse = errors.New("run 0199f00d is being played by process 12")
		h.past = []queuedEvent{{at: time.Now(), e: contract.Event{ID: contract.Human, Body: contract.Message{
			From: contract.Human, To: contract.Arbiter, Kind: "task", Text: "Weave a cloak",
		}}}}
	}, func(s *scene) {
		for range 2 {
			s.Type("/resume 0199f00d\n")
			s.Expect("It cannot begin", "process 12")
			s.Press("Enter")
		}
		s.host.mu.Lock()
		s.host.refuse = nil
		s.host.mu.Unlock()
		s.Type("/resume 0199f00d\n")
		s.Press("Esc", "g")
		if n := strings.Count(s.Text(), "Weave a cloak"); n != 1 {
			t.Errorf("it is reported %d times:\n%s", n, s.Text())
		}
	})
}

// TestLastWordsBeforeTheEnd: a run has ended while its last events are still on their way to the screen.
// The reason for its end is shown first.
func TestLastWordsBeforeTheEnd(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.Type("Weave\n")
		p := s.host.present()
		p.mu.Lock()
		p.over, p.state = true, supervisor.State{Task: supervisor.TaskState{Text: "Weave"}}
		close(p.done)
		p.mu.Unlock()
		s.host.mu.Lock()
		s.host.found = Findings{Missing: true, Problem: "there is no claude"}
		s.host.mu.Unlock()
		s.do(func() {
			for _, b := range []contract.Body{contract.Session{},
				contract.Error{Category: "claude_missing", Message: "there is no claude"}} {
				s.frontend.box.put(time.Now(), contract.Event{ID: contract.Supervisor, Body: b})
			}
			s.frontend.post(s.frontend.root.session.gone)
		})
		s.Settle()
		s.Expect("found none", "Rehearse")
	})
}
