package tui

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// failingTTY is a terminal that goes away at one of the calls to it, counted by number; later calls fail. Its
// window may have another size each time the frontend asks.
type failingTTY struct {
	mu             sync.Mutex
	failAfter      int // calls until its end; negative: it does not end
	calls          int
	gone           chan struct{}
	drained        chan struct{}
	resized        func()
	sizes          func() (w, h int)
	inUseElsewhere bool // to another program
	wasGone        bool // when it was lent
	noticed        bool // that it has gone, or it has not, when the frontend is left
}

func newFailingTTY(failAfter int, sizes func() (w, h int)) *failingTTY {
	return &failingTTY{failAfter: failAfter, sizes: sizes}
}

// call counts a call.
func (m *failingTTY) call() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.ended() {
		if m.calls == m.failAfter+1 {
			close(m.gone)
		}
		return syscall.EIO
	}
	return nil
}

// ended reports whether it is gone.
func (m *failingTTY) ended() bool { return m.failAfter >= 0 && m.calls > m.failAfter }

// lendTTY simulates that another program uses the terminal for a few calls.
func (m *failingTTY) lendTTY() {
	m.mu.Lock()
	m.inUseElsewhere, m.wasGone = true, m.wasGone || m.ended()
	m.mu.Unlock()
	for range 3 {
		_ = m.call()
	}
	m.mu.Lock()
	m.inUseElsewhere = false
	m.mu.Unlock()
}

func (m *failingTTY) Start() error {
	m.drained = make(chan struct{})
	return m.call()
}

func (m *failingTTY) Drain() error          { close(m.drained); return nil }
func (m *failingTTY) Stop() error           { return m.call() }
func (m *failingTTY) Close() error          { return nil }
func (m *failingTTY) NotifyResize(f func()) { m.mu.Lock(); m.resized = f; m.mu.Unlock() }

func (m *failingTTY) Read([]byte) (int, error) {
	select {
	case <-m.gone:
		return 0, syscall.EIO
	case <-m.drained:
		return 0, nil
	}
}

func (m *failingTTY) Write(p []byte) (int, error) {
	if err := m.call(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (m *failingTTY) WindowSize() (tcell.WindowSize, error) {
	if err := m.call(); err != nil {
		return tcell.WindowSize{}, err
	}
	w, h := m.sizes()
	return tcell.WindowSize{Width: w, Height: h}, nil
}

// resize reports another size, like the kernel.
func (m *failingTTY) resize() {
	m.mu.Lock()
	f := m.resized
	m.mu.Unlock()
	if f != nil {
		f()
	}
}

// onFailingTTY shows a frontend on that terminal, which is lent twice and resized, and returns the frontend's
// error.
func onFailingTTY(t *testing.T, tty *failingTTY) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tty.gone = make(chan struct{}) // created in the bubble
		info := testkit.Must(tcell.LookupTerminfo("xterm-256color"))(t)
		kind := *info
		kind.PadChar = ""
		screen := testkit.Must(render.OnTerminal(tty, &kind))(t)
		lendTTY := func() error { tty.lendTTY(); return nil }
		host := &fakeHost{t: t, found: Findings{Claude: "2.1.329", Login: LoginNo}, login: lendTTY}
		f := testkit.Must(New(Options{Screen: screen, Host: host, Theme: "dark"}))(t)
		f.screen = screen
		screen.OnLoss = f.lose
		over := make(chan struct{})
		go func() {
			defer close(over)
			err = f.Run(context.Background())
		}()
		for range 2 {
			time.Sleep(time.Second)
			synctest.Wait()
			if e := screen.PostEvent(tcell.NewEventKey(tcell.KeyRune, 'l', tcell.ModNone)); e != nil {
				break // the event loop has ended
			}
			time.Sleep(2 * frame)
			tty.resize()
			time.Sleep(2 * frame)
		}
		select {
		case <-over:
			tty.noticed = true
		default:
			tty.mu.Lock()
			tty.noticed = !tty.ended()
			tty.mu.Unlock()
		}
		f.Leave()
		<-over
	})
	return err
}

// TestTerminalIsLostAtAnyCall: the terminal goes away at any moment, also while and right after another
// program uses it. The frontend ends and reports why. It does not draw forever, and does not lend a
// terminal that is gone.
func TestTerminalIsLostAtAnyCall(t *testing.T) {
	fixed := func() (w, h int) { return 80, 24 }
	complete := newFailingTTY(-1, fixed)
	testkit.OK(t, onFailingTTY(t, complete))
	stride := effort(3, 1, 1)
	for failAfter := 0; failAfter < complete.calls; failAfter += stride {
		t.Run(fmt.Sprint(failAfter), func(t *testing.T) {
			tty := newFailingTTY(failAfter, fixed)
			err := onFailingTTY(t, tty)
			testkit.Check(t, err == nil || strings.HasSuffix(err.Error(), syscall.EIO.Error()), "it ends with %v", err)
			testkit.Same(t, "the face goes on without a terminal", true, tty.noticed)
			testkit.Same(t, "a terminal that was gone was lent", false, tty.wasGone)
		})
	}
}

// TestWindowOfTwoSizes: at each query the window may have its other size, or may be gone.
func TestWindowOfTwoSizes(t *testing.T) {
	for seed := range effort[uint64](40, 80, 200) {
		random := rand.New(rand.NewPCG(seed, 1))
		wide := true
		sizes := func() (w, h int) {
			if random.IntN(3) == 0 { // not always: each change causes a paint, and another query
				wide = !wide
			}
			if wide {
				return 80, 24
			}
			return 40, 12
		}
		failAfter := -1
		if seed%2 == 1 {
			failAfter = random.IntN(80)
		}
		tty := newFailingTTY(failAfter, sizes)
		if err := onFailingTTY(t, tty); err != nil && !strings.HasSuffix(err.Error(), syscall.EIO.Error()) {
			t.Errorf("seed %d: it ends with %v", seed, err)
		}
		testkit.Check(t, tty.noticed, "seed %d: the face goes on without a terminal", seed)
	}
}

// TestRefusedMessageReturnsToTheInput: a message that a run could not accept any more, because it ended at
// that moment, is in the input again.
func TestRefusedMessageReturnsToTheInput(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		p := s.host.present()
		p.mu.Lock()
		p.over = true // its resources are still being released
		p.mu.Unlock()
		s.Type("!!One more thing\n")
		s.Expect("The run is over", "› !!One more thing") // it would be a line for the shell
		s.do(func() {
			s.frontend.root.prompt.input.Clear()
			s.frontend.root.session.send(contract.EditMessage{MessageID: "m1", Text: "In other words"})
		})
		s.Settle()
		s.Expect("› In other words")
	})
}

// TestInterruptedRun: the process that plays a run is killed while requests wait. The screen shows no work, no
// request and no running clock; a key resumes the run.
func TestInterruptedRun(t *testing.T) {
	play(t, 110, 44, everywhere, func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) { p.asks("orch-1", "one", "Bash", `{"command":"make"}`) })
		s.Expect("Allow once", "Waits for you")
		p := s.host.present()
		p.killed()
		s.Settle()
		s.Expect("The run was interrupted", "Resume it", "withdrawn", "arbiter --resume --state-dir runs.")
		s.ExpectNot("Allow once", "is awaited", "It waits for your answer", "permission?  ", "  works")
		s.Type("r") // of a word
		testkit.Same(t, "how often a run was begun", 1, len(s.host.begun))
		s.Expect("› r")
		s.Press("Ctrl+C")
		before := s.Text()
		s.Advance(time.Minute)
		testkit.Same(t, "a minute later", before, s.Text())
		s.Expect("/resume continues")
		s.Type("/pause\n")
		s.Expect("The run was interrupted. /resume continues it.")
		s.Press("Alt+c", "r")
		s.host.mu.Lock()
		defer s.host.mu.Unlock()
		got := s.host.begun[len(s.host.begun)-1]
		testkit.Check(t, got.Resume == fakeRunID, "begun: %+v", got)
	})
}

// TestNothingRunsInAGoneProcess: once the process that plays a run is killed, no call, no subagent and no turn of its
// agents is shown as running, neither on the tiles, nor in the stream of an agent, nor on the timeline.
func TestNothingRunsInAGoneProcess(t *testing.T) {
	play(t, 200, 50, nil, func(s *scene) {
		s.crowd()
		s.does(func(p *fakeRun) { p.does("orch-1", bridge.Delta{Text: "Half a sentence"}) })
		s.Expect("◆ Bash go test ./...", "Half a sentence")
		p := s.host.present()
		p.killed()
		s.Settle()
		s.Press("Esc")
		s.Expect("cut off")
		s.ExpectNot("◆ Bash", "◆ Callers", "2 subagents")
		s.Press("Alt+1")
		s.Expect("– Bash", "cut off")
		s.ExpectNot("◆ Bash", "Half a sentence")
		s.Press("Alt+2")
		s.Expect("– Callers in the writer (Explore)  cut off")
		s.ExpectNot("at work", "◆ Callers")
		s.Press("F6")
		s.Advance(time.Minute)
		s.ExpectNot(" now")
	})
}

// TestRunIsLostWhileItsPastIsRead: what its process left without a result is cut off in all of the history, too.
func TestRunIsLostWhileItsPastIsRead(t *testing.T) {
	play(t, 90, 30, func(o *Options, h *fakeHost) {
		h.past, h.slow = longPast(3000), make(chan struct{})
		o.Begin = &Begin{Resume: fakeRunID}
	}, func(s *scene) {
		s.Settle()
		p := s.host.present()
		p.sink(time.Now(), contract.Event{ID: "orch-1", Body: contract.ToolUse{Tool: "Bash", ToolUse: "last"}})
		s.Settle()
		p.killed()
		s.Settle()
		testkit.Need(t, s.frontend.partial, "all of the past was read before")
		close(s.host.slow)
		s.Settle()
		testkit.Need(t, !s.frontend.partial, "the past is still being read")
		all := s.frontend.history.All()
		for i := range all.Len() {
			e, _ := all.Entry(i)
			if use, ok := e.Event.Body.(contract.ToolUse); ok && use.ToolUse == "last" {
				testkit.Check(t, e.Cut, "the call still runs: %+v", e)
				return
			}
		}
		t.Error("the call is not in the history")
	})
}

// TestLostAnswerIsAskedForAgain: the process of the run is killed before it has taken an answer. The request still
// waits after the resume, and is shown.
func TestLostAnswerIsAskedForAgain(t *testing.T) {
	weaving(t, 110, 34, func(s *scene) {
		s.does(func(p *fakeRun) { p.asks("orch-1", "one", "Bash", `{"command":"make"}`) })
		s.Advance(time.Second)
		p := s.host.present()
		asked := p.Snapshot().Permission.Open
		p.mu.Lock()
		p.hangs = make(chan struct{})
		p.mu.Unlock()
		s.Type("y")
		s.ExpectNot("Allow once")
		s.Press("Shift+Tab") // waits behind it
		p.mu.Lock()
		p.over, p.outcome = true, Outcome{Exit: contract.ExitFailed, Text: "gone", Lost: true}
		close(p.hangs)
		close(p.done)
		p.mu.Unlock()
		s.Advance(time.Second)
		s.Type("r")
		s.present(func(st *supervisor.State) { st.Permission.Unclaimed = asked })
		s.Expect("Allow once", "Bash", "make")
		testkit.Same(t, "the permission mode", "ask", s.frontend.root.permissions.mode())
	})
}

// TestSilentRun: the process that plays a run is stopped. The screen says since when it does not answer, shows no
// work, and keeps what is typed until the run has taken it.
func TestSilentRun(t *testing.T) {
	weaving(t, 110, 30, func(s *scene) {
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
		say, ok := p.took().(contract.Say)
		testkit.Check(t, ok && say.Text == "Stop the loom", "taken: %+v", p.took())
	})
}

// TestLeavingASilentRun: a run that takes no command does not keep a person who leaves, who learns what it has not got.
func TestLeavingASilentRun(t *testing.T) {
	weaving(t, 110, 30, func(s *scene) {
		p := s.host.present()
		p.mu.Lock()
		p.hangs = make(chan struct{})
		p.mu.Unlock()
		s.Type("Stop the loom\nand burn it\n")
		s.Press("Ctrl+D")
		s.Advance(2 * sentSoon)
		testkit.OK(t, s.ExpectEnd())
		testkit.Same(t, "not sent", "Stop the loom|and burn it", strings.Join(s.frontend.Unsent(), "|"))
	})
	weaving(t, 110, 30, func(s *scene) { // it answers again, and is over
		p := s.host.present()
		hangs := make(chan struct{})
		p.mu.Lock()
		p.hangs, p.over = hangs, true
		p.mu.Unlock()
		s.Type("Stop the loom\n")
		s.Press("Ctrl+D")
		close(hangs)
		s.Settle()
		testkit.OK(t, s.ExpectEnd())
		testkit.Same(t, "not sent to a run that is over", []string{"Stop the loom"}, s.frontend.Unsent())
	})
	weaving(t, 110, 30, func(s *scene) { // a key comes when the frontend ends already
		s.do(func() {
			s.frontend.Leave()
			time.Sleep(frame)
			s.frontend.root.session.send(contract.Interrupt{ID: "orch-1"})
		})
		s.Settle()
		testkit.OK(t, s.ExpectEnd())
		testkit.Same[contract.CommandBody](t, "the run took", contract.Interrupt{ID: "orch-1"}, s.host.present().took())
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
		for _, run := range []string{"0199f00d", "0199f00d", "0299f00d"} { // both have the same log here
			s.Type("/resume " + run + "\n")
			s.Expect("It cannot begin", "process 12")
			s.Advance(time.Second)
			s.Press("Enter")
		}
		s.host.mu.Lock()
		s.host.refuse = nil
		s.host.mu.Unlock()
		s.Type("/resume 0199f00d\n")
		s.Press("Esc", "g")
		n := strings.Count(s.Text(), "Weave a cloak")
		testkit.Check(t, n == 2, "it is reported %d times:\n%s", n, s.Text())
		s.host.mu.Lock()
		defer s.host.mu.Unlock()
		testkit.Check(t, s.host.begun[3].After.Offset > 0, "it is not said how far the log was read")
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
