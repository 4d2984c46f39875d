package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
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
	err := f.Run(context.Background())
	testkit.Check(t, errors.As(err, &fault) && fault.Panic == "no colours" && len(fault.Stack) != 0, "it ends with %v",
		err)
	testkit.Same(t, "how often the terminal was given back", 1, screen.ended)
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
		err := f.Run(context.Background())
		testkit.Check(t, err == nil, "%v", err)
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
	weaving(t, 80, 24, func(s *scene) {
		s.Type("ab")
		s.Press("Home", "Ctrl+D")
		s.Expect("› b")
		testkit.Need(t, !left(s), "it was left while something was written")
		s.Press("Ctrl+C", "Ctrl+D")
		_ = s.ExpectEnd()
		testkit.Same(t, "Ctrl+D does not leave the run running", true, left(s))
	})
	for _, keys := range [][]string{{"Ctrl+C", "d"}, {"Ctrl+C", "Ctrl+D"}, {"Ctrl+D"}} {
		weaving(t, 80, 24, func(s *scene) {
			s.Press(keys...)
			_ = s.ExpectEnd()
			testkit.Check(t, left(s), "%v do not leave the run running", keys)
		})
		var begins chan struct{}
		play(t, 80, 24, func(_ *Options, h *fakeHost) {
			begins = make(chan struct{})
			h.strange = func(sink runloop.Sink) Run {
				h.mu.Unlock()
				<-begins
				h.mu.Lock()
				h.run = newFakeRun(t, h, "Weave", sink)
				return h.run
			}
		}, func(s *scene) { // also while it is only beginning: it may be one that others began
			s.Type("Weave\n")
			s.Expect("Beginning")
			s.Press(keys...)
			close(begins)
			s.Settle()
			_ = s.ExpectEnd()
			testkit.Check(t, left(s), "%v do not leave a run that begins", keys)
		})
	}
}

// TestTakenOverIsNotBeingStopped: the notice that a command was accepted disappears when it is done.
func TestTakenOverIsNotBeingStopped(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
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
		trusted, _ := s.counts()
		testkit.Check(t, trusted == 0 && len(s.host.begun) == 1, "trusted %d times, begun %v", trusted, s.host.begun)
	})
	play(t, 90, 30, func(o *Options, h *fakeHost) { brings(false)(o, h); h.found.Rehearsal = true }, func(s *scene) {
		s.ExpectNot("Trust this workspace?")
	})
}

// longPast is a conversation of n messages, each with its number, and a tool call with its outcome after
// the message that follows.
func longPast(n int) (list []queuedEvent) {
	at := time.Date(1999, 12, 31, 12, 0, 0, 0, time.UTC)
	add := func(id string, b contract.Body) {
		at = at.Add(time.Second)
		list = append(list, queuedEvent{at: at, e: contract.Event{ID: id, Body: b}})
	}
	for i := range n {
		call := fmt.Sprint("call-", i)
		add("orch-1", contract.ToolUse{Tool: "Read", ToolUse: call, Input: []byte(`{"file_path":"loom.go"}`)})
		add("orch-1", contract.Message{MessageID: fmt.Sprint("m", i), From: "orch-1", To: "human", Kind: "report",
			Text: fmt.Sprintf("Thread number %d.", i)})
		add("orch-1", contract.ToolResult{ToolUse: call, Text: "loom"})
	}
	return list
}

// TestLongPast: the end of a long history is visible before its beginning was read, and when all was read,
// the reader is at the same place, with everything else above.
func TestLongPast(t *testing.T) {
	const messages = 3000
	play(t, 90, 30, func(o *Options, h *fakeHost) {
		h.past, h.slow = longPast(messages), make(chan struct{})
		o.Begin = &Begin{Resume: fakeRunID}
	}, func(s *scene) {
		s.Settle()
		s.Expect("Thread number 2999.", "THE WEAVING")
		n := s.frontend.history.Talk().Len()
		testkit.Need(t, n < messages, "%d messages were read for the first frame", n)
		s.host.present().does("arbiter", bridge.Notice{Text: "told meanwhile"})
		s.Press("Esc", "PgUp", "PgUp")
		s.Press("/")
		s.Type("number 7.\n")
		s.Expect("the rest is still being read")
		s.Press("F6")
		s.Expect("still being read")
		s.Press("Esc")
		s.Advance(2 * flashFor)
		before := place(s)

		close(s.host.slow)
		s.Settle()
		n = s.frontend.history.Talk().Len()
		testkit.Need(t, n >= messages, "%d messages when all was read", n)
		if after := place(s); after != before || !strings.Contains(after, "Thread number") {
			t.Errorf("the reader was at\n%s\nand is at\n%s", before, after)
		}
		s.Press("/")
		s.Type("number 7.\n")
		s.Expect("Thread number 7.")
		s.Press("g")
		s.Expect("Thread number 0.")
		s.Press("G")
		s.Expect("Thread number 2999.", "told meanwhile")
		s.Expect("Since you last did something here, 12 h 00 min ago", "messages for you:")
		s.Press("F2", "g")
		s.Expect("Thread number 0.")
		s.Press("F6", "Home")
		s.Press("Down", "Enter")
		s.Expect("Thread number 0.")
	})
}

// place returns the visible part of the past.
func place(s *scene) string {
	var rows []string
	for _, row := range s.Rows() {
		if strings.Contains(row, "Thread number") {
			rows = append(rows, strings.TrimRight(row, " █│┃║▐"))
		}
	}
	return strings.Join(rows, "\n")
}

// lastWord is the last message of a long log.
const lastWord = "The last word."

// longLog writes the log of a busy run with so many events.
func longLog(b *testing.B, events int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), journal.LogName)
	f := testkit.Must(os.Create(path))(b)
	result := strings.Repeat("   121\tfunc (l *Loom) weave(thread Thread) error {\n", 6)
	at := time.Date(1999, 12, 31, 12, 0, 0, 0, time.UTC)
	var chain journal.LogChain
	var raw []byte
	for i := range events {
		id, call := fmt.Sprintf("orch-%d", i/4%3), fmt.Sprint("toolu_01A09q90qw90lq9", i/4)
		body := []contract.Body{
			contract.Assistant{Text: "I will look at the loom next, then at the thread."},
			contract.ToolUse{Tool: "Read", ToolUse: call,
				Input: []byte(`{"file_path":"/home/me/project/internal/weaving/loom.go","offset":120}`)},
			contract.ToolResult{ToolUse: call, Text: result},
			contract.Message{MessageID: call, From: id, To: contract.Human, Kind: "progress", Text: "The loom holds."},
		}[i%4]
		if i == events-1 {
			body = contract.Message{MessageID: "last", From: id, To: contract.Human, Kind: "progress", Text: lastWord}
		}
		at = at.Add(time.Second)
		line, err := contract.EncodeLine(nil, uint64(i+1), at, contract.Event{ID: id, Body: body})
		if err == nil {
			raw, err = chain.Append(raw, journal.LogContent{Input: uint64(i + 1), At: at, Line: line})
		}
		if err == nil && (len(raw) > 1<<20 || i == events-1) {
			_, err = f.Write(raw)
			raw = raw[:0]
		}
		testkit.OK(b, err)
	}
	testkit.OK(b, f.Close())
	return path
}

// pastHost has a run with a log on disk.
type pastHost struct {
	*fakeHost
	path string
}

func (h pastHost) Past(context.Context, string) (*journal.EventLog, error) {
	if h.path == "" {
		return nil, errors.New("this run has no past")
	}
	return journal.OpenLog(h.path)
}

// shows reports whether a text is on a screen. It is called on the goroutine that paints.
func shows(screen *watched, text string) bool {
	cells, _, _ := screen.GetContents()
	var s strings.Builder
	for _, c := range cells {
		for _, r := range c.Runes {
			s.WriteRune(r)
		}
	}
	return strings.Contains(s.String(), text)
}

// taken resumes a run and returns the time until its last message was in a frame, the time until all of it
// could be read, and the heap size then.
func taken(b *testing.B, o Options, then func(f *Frontend)) (first, all time.Duration, heap float64) {
	b.Helper()
	screen := newWatched()
	o.Screen, o.Theme = screen, "dark"
	seen := make(chan time.Time, 1)
	var once sync.Once
	screen.painted = func() {
		if shows(screen, lastWord) {
			once.Do(func() { seen <- time.Now() })
		}
	}
	began := time.Now()
	f := testkit.Must(New(o))(b)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := f.Run(context.Background())
		testkit.Check(b, err == nil, "%v", err)
	})
	then(f)
	first = (<-seen).Sub(began)
	f.indexing.Wait()
	all = time.Since(began)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	f.Leave()
	wg.Wait()
	return first, all, float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkResumed is the time until the first frame that shows the end of a run of a million events. The
// baseline is the earlier implementation: the screen received all of them again.
func BenchmarkResumed(b *testing.B) {
	path := longLog(b, 1_000_000)
	host := pastHost{&fakeHost{found: Findings{Claude: "2.1.329", Login: LoginYes}}, path}
	for b.Loop() {
		first, all, heap := taken(b, Options{Host: host, Begin: &Begin{Resume: fakeRunID}}, func(*Frontend) {})
		log := testkit.Must(journal.OpenLog(path))(b)
		before, _, filled := taken(b, Options{Host: pastHost{host.fakeHost, ""}, Begin: &Begin{Task: "Weave"}},
			func(f *Frontend) {
				_, err := log.Each(b.Context(), journal.LogPosition{}, func(e journal.LogEntry) error {
					event, err := contract.DecodeLine(e.Line)
					f.box.recall(nil, e.At, event.Event)
					return err
				})
				testkit.Check(b, err == nil, "%v", err)
			})
		log.Close()
		b.ReportMetric(float64(first.Microseconds())/1000, "first-frame-ms")
		b.ReportMetric(float64(before.Microseconds())/1000, "told-again-ms")
		b.ReportMetric(before.Seconds()/first.Seconds(), "x-told-again")
		b.ReportMetric(all.Seconds(), "all-of-it-s")
		b.ReportMetric(heap, "MB")
		b.ReportMetric(filled, "told-again-MB")
	}
}
