package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// printing is a shell in which each line prints a text and ends.
func printing(code int, text string) func(context.Context, string, string, io.Writer) (int, error) {
	return func(_ context.Context, _, _ string, out io.Writer) (int, error) {
		fmt.Fprint(out, text)
		return code, nil
	}
}

// TestShellLine: a line after a ! runs in the workspace and shows its output on a card; from there the
// output can be copied into the input, and sent to an agent. No agent sees it before.
func TestShellLine(t *testing.T) {
	var ran []string
	shell := func(_ *Options, h *fakeHost) {
		h.shell = func(_ context.Context, dir, line string, out io.Writer) (int, error) {
			ran = append(ran, dir+": "+line)
			fmt.Fprintf(out, "said by %s\n", line)
			return len(ran) - 1, nil
		}
	}
	play(t, 100, 30, shell, func(s *scene) {
		s.Type("!git status\n") // before a run was started
		s.Settle()
		s.Expect("Your command", "git status", "exit code 0", "said by git status", "Add it to the input")
		testkit.Same(t, "runs that were begun", 0, len(s.host.begun))
		s.Press("Esc")
		s.ExpectNot("Your command")
		s.startWork()
		s.Type("!make")
		s.Expect("in your shell")
		s.Type(" test\n")
		s.Expect("make test", "exit code 1", "said by make test")
		s.Press("Esc")
		s.Type("!\n") // repeats the last one
		s.Settle()
		s.Expect("make test", "exit code 1")
		s.Press("Tab")
		s.ExpectNot("Your command")
		s.Type("What is wrong?\n")
		say, _ := s.host.present().took().(contract.Say)
		for _, part := range []string{"I ran this command (exit code 1)", "make test", "said by make test",
			"What is wrong?"} {
			testkit.Check(t, strings.Contains(say.Text, part), "the run was told %q", say.Text)
		}
		s.Type("!!important\n")
		s.expectTook(contract.Say{Text: "!important"})
		testkit.Same(t, "remembered", "!!important", s.host.printed[len(s.host.printed)-1])
		want := "[/home/weaver/loom: git status /home/weaver/loom: make test]"
		testkit.Check(t, fmt.Sprint(ran) == want, "ran %v", ran)
	})
}

// TestShellIsStopped: Esc stops a command, and another Esc closes its card; the time limit also stops it.
// The end of the output stays visible until the user scrolls up.
func TestShellIsStopped(t *testing.T) {
	for _, how := range []string{"Esc", "Ctrl+C", "time"} {
		shell := func(_ *Options, h *fakeHost) {
			h.shell = func(ctx context.Context, _, _ string, out io.Writer) (int, error) {
				for i := range 100 {
					fmt.Fprintf(out, "line %d\n", i)
				}
				<-ctx.Done()
				return -1, nil
			}
		}
		play(t, 80, 24, shell, func(s *scene) {
			s.startWork()
			s.do(func() { s.frontend.root.shell.limit = 10 * time.Second })
			s.Type("!tail -f log\n")
			s.Expect("tail -f log", "running for 0 s", "line 99", "Esc stops it")
			s.Press("Enter")
			s.Expect("running for 0 s")
			s.Press("g")
			s.Expect("line 0")
			s.ExpectNot("line 99")
			s.Advance(3*time.Second + 4*frame)
			s.Expect("running for 3 s", "line 0")
			s.Press("G")
			want := "stopped, after"
			if how == "time" {
				s.Advance(10 * time.Second)
				want = "stopped, because it took longer than"
			} else {
				s.Press(how)
			}
			s.Expect(want, "line 99", "Add it to the input")
			s.Press("Esc")
			s.ExpectNot("Your command", "Leave?")
		})
	}
}

// TestShellEndsWithTheScreen: a command does not outlive the screen that it was begun on.
func TestShellEndsWithTheScreen(t *testing.T) {
	ended := false
	shell := func(_ *Options, h *fakeHost) {
		h.shell = func(ctx context.Context, _, _ string, _ io.Writer) (int, error) {
			<-ctx.Done()
			ended = true
			return -1, nil
		}
	}
	play(t, 80, 24, shell, func(s *scene) {
		s.startWork()
		s.Type("!sleep 600\n")
		s.do(s.frontend.Leave)
		testkit.Same(t, "the command goes on", false, s.ExpectEnd() != nil || !ended)
	})
}

func (h *fakeHost) Shell(ctx context.Context, dir, line string, out io.Writer) (int, error) {
	if h.shell == nil {
		return 0, errors.New("there is no shell")
	}
	return h.shell(ctx, dir, line, out)
}

// busy makes the Arbiter work, so that messages to it wait.
func (s *scene) busy() {
	s.T.Helper()
	s.Type("Weave\n")
	a := s.host.present().agent("arbiter")
	testkit.Need(s.T, a.Status == supervisor.AgentBusy, "the Arbiter is %s", a.Status)
}

// TestQueuedMessageIsEdited: Up takes a waiting message into the input, Enter changes it, Esc leaves it,
// and Ctrl+X withdraws it.
func TestQueuedMessageIsEdited(t *testing.T) {
	play(t, 90, 30, nil, func(s *scene) {
		s.busy()
		s.Type("Use the bleu thread\n")
		s.Type("And hurry\n")
		s.Expect("2 messages of yours wait. Up: change it, or take it back.", "○ waits", "Use the bleu thread")
		s.Press("Up", "Up")
		s.Expect("changing your message that waits")
		got := s.frontend.root.prompt.input.Text()
		testkit.Need(t, got == "Use the bleu thread", "the input is %q", got)
		s.Press("Esc")
		s.Expect("It stays as it was.")
		s.Press("Up", "Up", "Ctrl+U")
		s.Type("Use the blue thread\n")
		if got, ok := s.host.present().took().(contract.EditMessage); !ok || got.Text != "Use the blue thread" ||
			got.MessageID == "" {
			t.Fatalf("put %+v", s.host.present().took())
		}
		s.Expect("Use the blue thread", "edited")
		s.ExpectNot("bleu")
		s.Press("Up")
		s.Press("Ctrl+X")
		_, ok := s.host.present().took().(contract.WithdrawMessage)
		testkit.Need(t, ok, "put %+v", s.host.present().took())
		s.Expect("A message of yours waits.", "taken back")
		s.Type("/reword Use the red thread\n")
		s.Expect("Use the red thread")
		s.Type("/withdraw\n")
		s.ExpectNot("of yours waits")
		s.Type("/withdraw\n")
		s.Expect("No message of yours waits")
	})
}

// TestLateEditIsNotLost: an edit that comes too late is neither lost nor treated as an edit.
func TestLateEditIsNotLost(t *testing.T) {
	play(t, 90, 30, nil, func(s *scene) {
		s.busy()
		s.Type("Use the bleu thread\n")
		s.Press("Up")
		s.Type(" at once")
		s.does(func(p *fakeRun) { p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Which?")) })
		s.Expect("That word is on its way already.")
		testkit.Same(t, "the input is", "Use the bleu thread at once", s.frontend.root.prompt.input.Text())
		s.Press("Enter")
		_, ok := s.host.present().took().(contract.Say)
		testkit.Check(t, ok, "put %+v", s.host.present().took())
	})
	play(t, 90, 30, nil, func(s *scene) { // at the same moment
		s.busy()
		s.Type("Use the bleu thread\n")
		s.Press("Up")
		s.Type(" at once")
		s.present(func(st *supervisor.State) {
			st.Conversation.Mail = append([]supervisor.Mail(nil), st.Conversation.Mail...)
			for i := range st.Conversation.Mail {
				st.Conversation.Mail[i].ID = "m-" + st.Conversation.Mail[i].ID
			}
		})
		s.frontend.root.queuedEdits.id = "gone"
		s.Press("Enter")
		s.Expect("Refused:")
		testkit.Same(t, "the input is", "Use the bleu thread at once", s.frontend.root.prompt.input.Text())
	})
}

// TestAgentInFocus: a user who views one agent writes to it, with every urgency; the agent can be stopped
// and ended from there.
func TestAgentInFocus(t *testing.T) {
	weaving(t, 90, 30, func(s *scene) {
		s.Press("Alt+1")
		for _, c := range []struct {
			do   func()
			want contract.CommandBody
		}{
			{func() { s.Press("i"); s.Type("a word\n") }, contract.Say{To: "orch-1", Text: "a word"}},
			{func() { s.Press("Alt+s"); s.Type("quick\n") },
				contract.Say{To: "orch-1", Text: "quick", Strength: contract.Steer}},
			{func() { s.Press("Alt+s", "Alt+s"); s.Type("halt that\n") },
				contract.Say{To: "orch-1", Text: "halt that", Strength: contract.Stop}},
			{func() { s.Type("/steer use make\n") },
				contract.Say{To: "orch-1", Text: "use make", Strength: contract.Steer}},
			{func() { s.Type("/steer orch-2 use make\n") },
				contract.Say{To: "orch-2", Text: "use make", Strength: contract.Steer}},
			{func() { s.Type("/stop\n") }, contract.Interrupt{ID: "orch-1"}},
			{func() { s.Type("/stop orch-2\n") }, contract.Interrupt{ID: "orch-2"}},
			{func() { s.Press("Esc", "s") }, contract.Interrupt{ID: "orch-1"}},
			{func() { s.Press("p") }, contract.Pause{}},
			{func() { s.Press("p") }, contract.Continue{}},
			{func() { s.Press("x", "y") }, contract.Kill{ID: "orch-1"}},
		} {
			c.do()
			s.Settle()
			s.expectTook(c.want)
		}
	})
}

// TestRecall: what was written before is found by a few letters, and replaces what is written.
func TestRecall(t *testing.T) {
	weaving(t, 90, 30, func(s *scene) {
		s.Type("Weigh the cloth\n")
		s.Type("Count the omens\n")
		s.Type("half a word")
		s.Press("Ctrl+R")
		s.Expect("What was written before", "▸ Count the omens")
		s.Press("Esc")
		s.Expect("half a word")
		s.Press("Ctrl+R")
		s.Type("cloth\n")
		testkit.Same(t, "the input is", "Weigh the cloth", s.frontend.root.prompt.input.Text())
		s.Press("Ctrl+R")
		s.Expect("half a word")
	})
}

// TestHaltIsShown: the halt key works on any screen, and its effect stays visible
// until the run continues.
func TestHaltIsShown(t *testing.T) {
	testkit.WithoutRace(t)
	for name, before := range map[string]func(s *scene){
		"a dialog":  func(s *scene) { s.Press("Ctrl+C") },
		"a request": func(s *scene) { s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest) }) },
		"a list":    func(s *scene) { s.Press("Ctrl+O") },
		"a paste":   func(s *scene) { s.Paste("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n") },
		"search":    func(s *scene) { s.Type("word"); s.Press("Ctrl+R") },
		"logbook":   func(s *scene) { s.Press("F2", "f") },
		"help":      func(s *scene) { s.Press("F1") },
	} {
		t.Run(name, func(t *testing.T) {
			weaving(t, 90, 30, func(s *scene) {
				before(s)
				s.Press(`Ctrl+\`)
				_, ok := s.host.present().took().(contract.Halt)
				testkit.Check(t, ok, "put %+v", s.host.present().took())
				testkit.Same(t, "it goes on", false, !s.host.present().Snapshot().Halted)
				s.Advance(10 * time.Second)
				s.Expect("Halted")
			})
		})
	}
	weaving(t, 90, 30, func(s *scene) {
		s.Press(`Ctrl+\`)
		s.Advance(10 * time.Second)
		s.Expect("Everything is halted. /continue", "Halted", "halted  ")
		s.Type("/continue\n")
		s.ExpectNot("Halted ")
	})
}
