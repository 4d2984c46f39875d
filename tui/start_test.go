package tui

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// slow is a program around the frontend whose disk and processes do not answer until they are released.
type slow struct {
	*fakeHost
	answer chan struct{}
}

func (s slow) Inputs() []string { <-s.answer; return s.fakeHost.Inputs() }

func (s slow) Inspect(ctx context.Context) Findings { <-s.answer; return s.fakeHost.Inspect(ctx) }

// colourless is a terminal that makes arbiter panic before the first frame.
type colourless struct {
	tcell.SimulationScreen
	ended int
}

func (c *colourless) Colors() int { panic("no colours") }

func (c *colourless) Fini() { c.ended++; c.SimulationScreen.Fini() }

// TestFaultBeforeTheFirstFrame: the terminal is restored even if arbiter panics before the first frame.
func TestFaultBeforeTheFirstFrame(t *testing.T) {
	screen := &colourless{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	f := testkit.Must(New(Options{Screen: screen, Host: &fakeHost{}}))(t)
	var fault *Fault
	if err := f.Run(context.Background()); !errors.As(err, &fault) || fault.Panic != "no colours" ||
		len(fault.Stack) == 0 {
		t.Errorf("it ends with %v", err)
	}
	if screen.ended != 1 {
		t.Errorf("the terminal was given back %d times", screen.ended)
	}
}

// TestFirstFrameDoesNotWait: the oracle is visible before the disk and `claude` have answered. Text that
// was typed before is there when they have.
func TestFirstFrameDoesNotWait(t *testing.T) {
	screen := newWatched()
	host := slow{&fakeHost{found: Findings{Claude: "2.1.329", Login: LoginYes}}, make(chan struct{})}
	f := testkit.Must(New(Options{Screen: screen, Host: host, Theme: "dark"}))(t)
	painted, recalled := make(chan struct{}), make(chan struct{})
	var first, again sync.Once
	screen.painted = func() {
		first.Do(func() { close(painted) })
		if f.root.prompt.input.Text() == "An older word" {
			again.Do(func() { close(recalled) })
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer f.Leave()
	wg.Go(func() {
		if err := f.Run(context.Background()); err != nil {
			t.Error(err)
		}
	})
	await := func(done chan struct{}, what string, press func()) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(2 * time.Minute); ; {
			select {
			case <-done:
				return
			case <-tick.C:
				press()
			case <-deadline:
				t.Errorf("no %s", what)
				return
			}
		}
	}
	await(painted, "first frame", func() {})
	close(host.answer)
	await(recalled, "word of before", func() { screen.InjectKey(tcell.KeyUp, 0, tcell.ModNone) })
}

// TestLeaveItRunning shows the two ways to leave a run running, and that Ctrl+D is a key of the editor
// while the input has text.
func TestLeaveItRunning(t *testing.T) {
	left := func(s *scene) bool { return s.host.run.left.Load() }
	play(t, 80, 24, nil, func(s *scene) {
		s.startWork()
		s.Type("ab")
		s.Press("Home", "Ctrl+D")
		s.Expect("› b")
		if left(s) {
			t.Fatal("it was left while something was written")
		}
		s.Press("Ctrl+C", "Ctrl+D")
		_ = s.ExpectEnd()
		if !left(s) {
			t.Error("Ctrl+D does not leave the run running")
		}
	})
	for _, keys := range [][]string{{"Ctrl+C", "d"}, {"Ctrl+C", "Ctrl+D"}} {
		play(t, 80, 24, nil, func(s *scene) {
			s.startWork()
			s.Press(keys...)
			_ = s.ExpectEnd()
			if !left(s) {
				t.Errorf("%v do not leave the run running", keys)
			}
		})
	}
}

// TestTakenOverIsNotBeingStopped: the notice that a command was accepted disappears when it is done.
func TestTakenOverIsNotBeingStopped(t *testing.T) {
	play(t, 100, 30, nil, func(s *scene) {
		s.startWork()
		attach := func(p *fakeRun) {
			p.do(input.Command{Command: contract.Command{Ref: "s1", Body: contract.Attach{ID: "orch-1"}},
				Channel: input.ChannelSocket})
		}
		s.does(attach)
		s.Expect("is being stopped")
		s.does(func(p *fakeRun) {
			p.do(input.Inspected{Serial: p.agent("orch-1").Takeover.Serial,
				Result: bridge.InspectResult{Mark: &bridge.InspectMark{AtMS: 1}}})
			p.do(input.PTYOpened{Agent: p.agent("orch-1").AgentRef})
		})
		s.ExpectNot("is being stopped")
		s.Expect("in your hands")
	})
}

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
	// A workspace with nothing but texts for agents does not ask; /trust does.
	play(t, 90, 30, func(o *Options, h *fakeHost) {
		h.found.Trust = Trust{Texts: []string{"CLAUDE.md"}}
	}, func(s *scene) {
		s.Expect("CLAUDE.md and its own settings are not loaded (/trust)")
		s.Type("/trust\n")
		s.Expect("Trust this workspace?", "nothing that runs code", "That holds for CLAUDE.md, too.")
		s.Advance(time.Second)
		s.expectClean("the dialog")
		s.Press("Tab", "Enter")
		s.Expect("its settings and agents are loaded")
		s.Type("/trust\n")
		s.Expect("This workspace is trusted.")
	})
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
