package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

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
		if len(s.host.begun) != 0 {
			t.Error("a run was begun")
		}
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
			if !strings.Contains(say.Text, part) {
				t.Errorf("the run was told %q", say.Text)
			}
		}
		s.Type("!!important\n")
		s.expectTook(contract.Say{Text: "!important"})
		if want := "[/home/weaver/loom: git status /home/weaver/loom: make test]"; fmt.Sprint(ran) != want {
			t.Errorf("ran %v", ran)
		}
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
		if s.ExpectEnd() != nil || !ended {
			t.Error("the command goes on")
		}
	})
}

func (h *fakeHost) Shell(ctx context.Context, dir, line string, out io.Writer) (int, error) {
	if h.shell == nil {
		return 0, errors.New("there is no shell")
	}
	return h.shell(ctx, dir, line, out)
}
