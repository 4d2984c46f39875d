package view

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/render"
)

var timelineBegan = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)

// atTimeline is a time of the run, in seconds.
func atTimeline(seconds int) time.Time {
	return timelineBegan.Add(time.Duration(seconds) * time.Second)
}

type timedEvent struct {
	second int
	id     string
	body   contract.Body
}

func timelineOf(list ...timedEvent) *Timeline {
	t := &Timeline{}
	for _, e := range list {
		t.Add(atTimeline(e.second), contract.Event{ID: e.id, Body: e.body})
	}
	return t
}

// story is a run of a hundred seconds.
func story() []timedEvent {
	call := contract.ToolUse{Tool: "Bash", ToolUse: "t1", Input: []byte(`{"command":"go test ./..."}`)}
	return []timedEvent{
		{0, "supervisor", contract.Session{Session: "run-1"}},
		{0, "arbiter", contract.Spawn{Name: "Arbiter", Generation: 1}},
		{0, "human", contract.Message{From: "human", To: "arbiter", Kind: "task", Text: "Teach the loom"}},
		{1, "arbiter", contract.Delivered{MessageID: "m1"}},
		{10, "arbiter", contract.Turn{Outcome: "done", CostUSD: 0.5}},
		{10, "orch-1", contract.Spawn{Name: "Orchestrator I", Generation: 1}},
		{20, "orch-1", call},
		{30, "orch-1", contract.PermissionRequest{Request: "p1", Tool: "Bash"}},
		{50, "orch-1", contract.Permission{Request: "p1", Behavior: "allow", By: "human"}},
		{60, "orch-1", contract.ToolResult{ToolUse: "t1", Text: "ok"}},
		{80, "orch-1", contract.Turn{Outcome: "done", CostUSD: 1.25}},
		{80, "supervisor", contract.Handoff{From: "orch-1", To: "orch-2",
			Document: &verdict.Document{Checks: []verdict.Check{{Command: "go test", Expect: "exit 0"}}},
			Receipts: []verdict.Receipt{{Command: "go test", Result: verdict.CheckPassed}}}},
		{81, "orch-1", contract.Done{Reason: "succeeded by orch-2"}},
		{82, "orch-2", contract.Spawn{Name: "Orchestrator II", Generation: 1, SuccessorOf: "orch-1"}},
		{90, "orch-2", contract.Assistant{Text: "I go on."}},
		{100, "supervisor", contract.Result{Status: "complete"}},
	}
}

var dark = func() *render.Look {
	theme, err := render.NewTheme("mono", 8)
	if err != nil {
		panic(err)
	}
	return &render.Look{Theme: theme, Glyphs: render.ASCII}
}()

// drawn returns the lines of a picture as text.
func drawn(tl *Timeline, v *TimelineView, w, h int) []string {
	return testkit.Each(tl.Lines(v, TimelineFrame{Look: dark, Now: atTimeline(100)}, w, h),
		func(l render.Line) string { return l.Text() })
}

// lineOf returns the text after the name of a lane.
func lineOf(t *testing.T, lines []string, name string) string {
	t.Helper()
	for _, l := range lines {
		if _, rest, ok := strings.Cut(l, name); ok && !strings.Contains(rest, name) {
			return rest
		}
	}
	t.Fatalf("there is no lane %s:\n%s", name, strings.Join(lines, "\n"))
	return ""
}

// TestLanes: each agent has a lane with its turns, calls, waits, hand-offs and cost, in the right places.
func TestLanes(t *testing.T) {
	lines := drawn(timelineOf(story()...), &TimelineView{}, 110+24+9, 30)
	one := lineOf(t, lines, "Orchestrator I ")
	cells := strings.TrimSpace(one[:len(one)-9])
	testkit.Includes(t, "the lane", cells, "[..........=======", "?...", "----")
	testkit.Check(t, strings.HasSuffix(one, "$1.25") && strings.HasSuffix(lineOf(t, lines, "The Arbiter"), "$0.50"),
		"costs are missing:\n%s", strings.Join(lines, "\n"))
	testkit.Check(t, strings.HasSuffix(cells, ">.]"), "neither the hand-off nor the end is drawn: %q", cells)
	testkit.Includes(t, "the successor", lineOf(t, lines, "Orchestrator II"), "R")
	testkit.Includes(t, "what the human said", lineOf(t, lines, "You"), "*")
	glob := contract.ToolUse{Tool: "Glob", ToolUse: "t2", Input: []byte(`{"pattern":"**/*.go"}`)}
	lines = drawn(timelineOf(append(story(), timedEvent{100, "orch-2", glob},
		timedEvent{100, "orch-2", contract.Turn{Outcome: "done", Unknown: true}})...), &TimelineView{lane: "orch-2"}, 160, 30)
	testkit.Includes(t, "a cost that is not known", lineOf(t, lines, "Orchestrator II"), "$0.00 + ?")
	testkit.Includes(t, "a call", strings.Join(lines, "\n"), "Glob: **/*.go")
}

// TestTimelineCursor: the status line shows what is under the cursor, steps go to the next important event, and the
// selected point is the time of its event.
func TestTimelineCursor(t *testing.T) {
	tl, v := timelineOf(story()...), &TimelineView{}
	show := func() string { return strings.Join(drawn(tl, v, 100, 24), "\n") }
	show()
	v.Lane(1)
	for _, what := range []string{"end", "hand-off"} {
		testkit.Need(t, tl.Step(v, atTimeline(100), true), "the %s of orch-1 is not found", what)
	}
	p, _ := tl.Point(v, atTimeline(100))
	testkit.Check(t, p.At.Equal(atTimeline(80)) && p.Lane == "orch-1", "the hand-off is at %v in %q", p.At, p.Lane)
	testkit.Includes(t, "the receipts are not counted", show(), "1 check passed")
	testkit.Need(t, tl.Step(v, atTimeline(100), true), "there is no wait before")
	p, _ = tl.Point(v, atTimeline(100))
	testkit.Check(t, p.At.Equal(atTimeline(30)), "the wait is at %v", p.At)
	testkit.Includes(t, "it does not say how long", show(), "waits for you  20 s")
	for range 3 {
		v.Zoom(1)
		show()
	}
	p, _ = tl.Point(v, atTimeline(100))
	testkit.Check(t, p.At.Equal(atTimeline(30)), "zooming moved the cursor to %v", p.At)
	v.Home()
	show()
	p, _ = tl.Point(v, atTimeline(100))
	testkit.Check(t, !p.At.Before(atTimeline(0)) && !p.At.After(atTimeline(10)), "the beginning is at %v", p.At)
	v.Move(-5)
	v.End()
	v.Move(5)
	show()
	testkit.Check(t, !v.behind, "at the end it does not follow the run")
}

// TestPoint: a click selects a lane and a time, and a second click at the same place is reported as such.
func TestPoint(t *testing.T) {
	tl, v := timelineOf(story()...), &TimelineView{}
	drawn(tl, v, 100, 24)
	again, ok := v.Point(v.gutter+10, v.first+2)
	testkit.Check(t, !again && ok && v.lane == "orch-1", "a click takes %q, %v %v", v.lane, again, ok)
	drawn(tl, v, 100, 24)
	again, _ = v.Point(v.gutter+10, v.first+2)
	testkit.Check(t, again, "a second click counts as a first one")
	_, ok = v.Point(v.gutter+10, 0)
	testkit.Check(t, !ok, "the title is a lane")
}

// TestPauses: the time while the run was not active is left out, and columns map back to times.
func TestPauses(t *testing.T) {
	for _, pause := range []int{20, 3600 * 9} {
		list := append(story()[:11],
			timedEvent{80 + pause, "supervisor", contract.Session{Session: "run-1", Resumed: true}},
			timedEvent{90 + pause, "orch-1", contract.Assistant{Text: "again"}},
			timedEvent{100 + pause, "supervisor", contract.Result{}})
		tl := timelineOf(list...)
		a := tl.axis(atTimeline(0))
		testkit.Same(t, "the line is long", 100*time.Second, a.Len())
		for _, s := range []int{0, 40, 79, 85 + pause, 100 + pause} {
			got := a.Time(a.Place(atTimeline(s)))
			testkit.Check(t, got.Equal(atTimeline(s)), "%v comes back as %v", atTimeline(s), got)
		}
		testkit.Same(t, "the middle of a pause is at", 80*time.Second, a.Place(atTimeline(80+pause/2)))
		testkit.Includes(t, "it is not said", strings.Join(drawn(tl, &TimelineView{}, 100, 24), "\n"), "1 pause left out")
	}
}

// TestAnotherRun: another run has its own timeline.
func TestAnotherRun(t *testing.T) {
	tl := timelineOf(append(story(), timedEvent{200, "supervisor", contract.Session{Session: "run-2"}},
		timedEvent{201, "arbiter", contract.Assistant{Text: "new"}})...)
	testkit.Check(t, len(tl.lanes) == 1 && tl.first.Equal(atTimeline(200)), "%d lanes from %v", len(tl.lanes), tl.first)
}

// TestManyEvents: a long run needs no more memory than a short one, and counts stay exact.
func TestManyEvents(t *testing.T) {
	tl := &Timeline{}
	const calls = 60_000
	for i := range calls {
		id := fmt.Sprint("orch-", i%7+1)
		use := fmt.Sprint("t", i)
		tl.Add(atTimeline(i), contract.Event{ID: id, Body: contract.ToolUse{Tool: "Read", ToolUse: use}})
		tl.Add(atTimeline(i).Add(400*time.Millisecond), contract.Event{ID: id, Body: contract.ToolResult{ToolUse: use}})
		if i%10 == 0 {
			tl.Add(atTimeline(i).Add(500*time.Millisecond), contract.Event{ID: id, Body: contract.Turn{CostUSD: 0.5}})
		}
	}
	n, made, tools, usd := 0, 0, 0, 0.0
	for _, l := range tl.lanes {
		n += len(l.spans)
		tools, usd = tools+l.tools, usd+tl.cost(l)
		for _, s := range l.spans {
			if s.Kind == TimelineTool {
				made += s.N
			}
		}
	}
	testkit.Check(t, n <= maxSpans && n == tl.spans, "%d spans are kept, counted as %d", n, tl.spans)
	testkit.Check(t, made == calls && tools == calls && usd == calls/10*0.5, "%d calls, %d counted, $%v", made, tools,
		usd)
	v := &TimelineView{}
	got := lineOf(t, drawn(tl, v, 100, 24), "Orchestrator III")
	testkit.Check(t, strings.Count(got, "=") >= 60, "the calls are not drawn: %q", got)
}

// TestManyAgents: if there are more agents than rows they are scrolled, and more than are kept cause no
// error.
func TestManyAgents(t *testing.T) {
	tl := &Timeline{}
	for i := range maxLanes + 500 {
		id := fmt.Sprint("orch-", i+1)
		tl.Add(atTimeline(i), contract.Event{ID: id, Body: contract.Spawn{Generation: 1}})
		for k := range 30 {
			tl.Add(atTimeline(i), contract.Event{ID: id, Body: contract.ToolCall{Tool: fmt.Sprint("tool", k)}})
		}
		tl.Add(atTimeline(i), contract.Event{ID: id, Body: contract.Done{}})
	}
	testkit.Check(t, len(tl.lanes) == maxLanes && tl.spans <= maxSpans, "%d lanes, %d spans", len(tl.lanes), tl.spans)
	v := &TimelineView{}
	drawn(tl, v, 80, 24)
	v.Lane(500)
	text := strings.Join(drawn(tl, v, 80, 24), "\n")
	testkit.Check(t, strings.Contains(text, "> orch-501") || strings.Contains(text, "> Orchestrator DI"),
		"the lane at hand is out of sight:\n%s", text)
}

// TestAnyWindow: no line is wider than the window, and there are no more lines than rows.
func TestAnyWindow(t *testing.T) {
	tl := timelineOf(story()...)
	for _, w := range []int{1, 9, 12, 39, 60, 100, 250} {
		for _, h := range []int{1, 2, 3, 5, 8, 11, 24, 60} {
			lines := tl.Lines(&TimelineView{}, TimelineFrame{Look: dark, Now: atTimeline(100)}, w, h)
			testkit.Check(t, len(lines) <= h, "%d×%d: %d lines", w, h, len(lines))
			for i, l := range lines {
				if l.Width() > max(w, 12) { // names and one column
					t.Errorf("%d×%d: line %d has %d columns: %q", w, h, i, l.Width(), l.Text())
				}
			}
		}
	}
	lines := (&Timeline{}).Lines(&TimelineView{}, TimelineFrame{Look: dark, Now: atTimeline(0)}, 40, 10)
	testkit.Check(t, len(lines) == 3, "an empty timeline has %d lines", len(lines))
}

// TestTimelineHostileText: a model's name for a tool or a mode is shown as text on one line.
func TestTimelineHostileText(t *testing.T) {
	tl := timelineOf(
		timedEvent{0, "arbiter", contract.Spawn{Name: "x\x1b[2J", Mode: "evil\n\x1b]52;c;b3duZWQ=\a"}},
		timedEvent{1, "arbiter", contract.ToolUse{Tool: "Ba\x1b[31msh\u202e", ToolUse: "1",
			Input: []byte(`{"command":"a\u001b[2J"}`)}},
	)
	v := &TimelineView{}
	text := strings.Join(drawn(tl, v, 100, 24), "\n") + tl.Words(nil, atTimeline(5))
	v.Home()
	text += strings.Join(drawn(tl, v, 100, 24), "\n")
	testkit.Check(t, !strings.ContainsAny(text, "\x1b\a\u202e"), "control characters are drawn: %q", text)
}

// TestTimelineWords: the same is available as text.
func TestTimelineWords(t *testing.T) {
	name := func(id string) string { return map[string]string{"orch-1": "The weaver"}[id] }
	text := timelineOf(story()...).Words(name, atTimeline(100))
	testkit.Includes(t, "", text, "1 min 40 s", "**The weaver**: 1 turn, 1 call, waited 20 s for you, $1.25",
		"14:00:30 waits for you, 20 s: ", "1 check passed", "**You**", "14:01:22 renewed")
	asked := timelineOf(timedEvent{0, "arbiter", contract.Question{Question: "q", Text: "Shall **it** be `red`?"}})
	testkit.Includes(t, "without marks of Markdown", asked.Words(nil, atTimeline(5)), "Shall it be red?")
}

// TestProcessRuns: open spans grow with time, and those of a killed process end with its last event.
func TestProcessRuns(t *testing.T) {
	tl := timelineOf(story()[:8]...)
	text := func(now int) string {
		var b strings.Builder
		for _, l := range tl.Lines(&TimelineView{lane: "orch-1"}, TimelineFrame{Look: dark, Now: atTimeline(now)}, 100, 24) {
			b.WriteString(l.Text() + "\n")
		}
		return b.String()
	}
	testkit.Includes(t, "it does not say for how long it has waited", text(90), "waits for you  for 1 min 00 s now")
	tl.Add(atTimeline(500), contract.Event{ID: "supervisor", Body: contract.Session{Session: "run-1", Resumed: true}})
	testkit.Excludes(t, "it still waits", text(501), "now")
}

// memory is a log in memory.
type memory struct{ *bytes.Reader }

func (m memory) Size() (int64, error) { return m.Reader.Size(), nil }
func (m memory) Close() error         { return nil }

func logOf(t *testing.T, list []timedEvent) *journal.EventLog {
	t.Helper()
	var raw []byte
	var chain journal.LogChain
	for i, e := range list {
		line, err := contract.EncodeLine(nil, uint64(i+1), atTimeline(e.second), contract.Event{ID: e.id, Body: e.body})
		if err == nil {
			raw, err = chain.Append(raw, journal.LogContent{Input: 1, At: atTimeline(e.second), Line: line})
		}
		testkit.OK(t, err)
	}
	return journal.NewLog(memory{bytes.NewReader(raw)})
}

// notices are events at the given seconds, each with its second as its text.
func notices(seconds ...int) (list []timedEvent) {
	return testkit.Each(seconds,
		func(s int) timedEvent { return timedEvent{s, "supervisor", contract.Notice{Text: fmt.Sprint(s)}} })
}

// recordingStage keeps what it receives.
type recordingStage struct {
	mu       sync.Mutex
	received []string
}

// taken returns what it received.
func (a *recordingStage) taken() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.received)
}

func (a *recordingStage) Add(ctx context.Context, _ time.Time, e contract.Event) bool {
	text := e.Body.EventName()
	if n, ok := e.Body.(contract.Notice); ok {
		text = n.Text
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received = append(a.received, text)
	return ctx.Err() == nil
}

func (a *recordingStage) Forget(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.received = nil
	return ctx.Err() == nil
}

// playing plays a log in a bubble.
func playing(t *testing.T, list []timedEvent, act func(p *Player, received func(want ...string))) {
	synctest.Test(t, func(t *testing.T) {
		p, a := NewPlayer("run-1", logOf(t, list)), &recordingStage{}
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() { defer close(over); p.Play(ctx, a) }()
		act(p, func(want ...string) {
			t.Helper()
			synctest.Wait()
			testkit.Same(t, "was told", want, a.taken())
		})
		cancel()
		<-over
	})
}

// TestPace: events arrive at their original pace, or at a multiple of it, and long pauses are shortened.
func TestPace(t *testing.T) {
	playing(t, notices(0, 1, 2, 1000, 1001, 1010, 1020), func(p *Player, received func(...string)) {
		received("0")
		time.Sleep(time.Second)
		received("0", "1")
		time.Sleep(500 * time.Millisecond)
		got := p.Now()
		testkit.Check(t, got.Equal(atTimeline(1).Add(500*time.Millisecond)), "half a second later it is %v", got)
		time.Sleep(500 * time.Millisecond)
		received("0", "1", "2")
		time.Sleep(longestPause)
		received("0", "1", "2", "1000")
		p.Faster(1)
		p.Faster(1)
		time.Sleep(time.Second / 8)
		received("0", "1", "2", "1000", "1001")
		time.Sleep(19 * time.Second / 8)
		received("0", "1", "2", "1000", "1001", "1010", "1020")
		s := p.Status()
		testkit.Check(t, s.Ended && s.Speed == 8 && s.At.Equal(atTimeline(1020)), "at the end: %+v", s)
		p.Faster(-9)
		p.Faster(9)
		s = p.Status()
		testkit.Check(t, s.Speed == 64, "the highest speed is %d", s.Speed)
	})
}

// TestPause: during a pause nothing is reported, and the time stands still.
func TestPause(t *testing.T) {
	playing(t, notices(0, 1, 2), func(p *Player, received func(...string)) {
		time.Sleep(250 * time.Millisecond)
		p.Pause()
		time.Sleep(3 * time.Hour)
		received("0")
		s := p.Status()
		testkit.Check(t, s.Paused && s.At.Equal(atTimeline(0).Add(250*time.Millisecond)), "%+v", s)
		p.Jump(1)
		received("0", "1", "2")
		p.Jump(-1)
		received("0")
		p.Pause()
		time.Sleep(2 * time.Second)
		received("0", "1", "2")
	})
}

// TestMoments: events with the same time are reported together, also during a pause.
func TestMoments(t *testing.T) {
	playing(t, notices(0, 0, 1, 1, 2), func(p *Player, received func(...string)) {
		received("0", "0")
		p.Pause()
		p.Begin()
		received("0", "0")
		p.Jump(1)
		received("0", "0", "1", "1", "2")
	})
}

// TestJumps: forwards and back, over a pause, to the beginning and to the end, also from the end.
func TestJumps(t *testing.T) {
	playing(t, notices(0, 5, 9, 30, 5000, 5003), func(p *Player, received func(...string)) {
		received("0")
		p.Jump(1)
		received("0", "5", "9")
		p.Jump(1)
		received("0", "5", "9", "30")
		p.Jump(1)
		received("0", "5", "9", "30", "5000", "5003")
		p.Jump(-1)
		received("0", "5", "9", "30")
		p.Jump(-1)
		received("0", "5", "9")
		p.End()
		received("0", "5", "9", "30", "5000", "5003")
		s := p.Status()
		testkit.Check(t, s.Ended, "it is not at the end: %+v", s)
		p.Jump(-1)
		received("0", "5", "9", "30")
		p.Begin()
		received("0")
		time.Sleep(2 * time.Second)
		received("0", "5")
	})
}

// TestState: the state results from the events so far, also after a jump back.
func TestState(t *testing.T) {
	playing(t, []timedEvent{
		{0, "supervisor", contract.Session{Session: "run-1", CWD: "/loom", Permissions: "ask"}},
		{0, "arbiter", contract.Spawn{Name: "Arbiter", Generation: 1}},
		{0, "human", contract.Message{From: "human", To: "arbiter", Kind: "task", Text: "Teach the loom"}},
		{1, "supervisor", contract.State{From: "idle", To: "executing"}},
		{1, "orch-1", contract.Spawn{Name: "Orchestrator I", Mode: "developer", Generation: 1}},
		{2, "orch-1", contract.Assistant{Text: "I begin."}},
		{3, "orch-1", contract.Context{Tokens: 10, Window: 100, Pct: 10}},
		{4, "orch-1", contract.Turn{CostUSD: 0.5, Outcome: "done"}},
		{4, "supervisor", contract.Plan{Steps: []contract.Step{{Text: "Read", Status: "done"}}}},
		{5, "orch-1", contract.Handoff{From: "orch-1", To: "orch-2"}},
		{6, "orch-1", contract.Done{}},
		{7, "supervisor", contract.Result{Status: "complete", CostUSD: 0.5}},
	}, func(p *Player, received func(...string)) {
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s := p.Snapshot()
		testkit.Need(t, s.Options.CWD == "/loom" && s.Task.Text == "Teach the loom" && len(s.Agents) == 2, "%+v",
			s.Options)
		o := s.Agents[1]
		testkit.Check(t, o.Status == supervisor.AgentBusy && o.Mode == "developer" && o.Works() &&
			o.Role == supervisor.RoleOrchestrator, "orch-1 is %+v", o)
		p.End()
		synctest.Wait()
		before, s := s, p.Snapshot()
		o = s.Agents[1]
		testkit.Check(t, o.Gone() && o.CostUSD == 0.5 && o.Context.Pct == 10 && s.Ending != nil &&
			len(s.Task.Plan) == 1, "at the end orch-1 is %+v", o)
		testkit.Same(t, "an earlier state has changed", false, before.Agents[1].Status != supervisor.AgentBusy)
		p.Begin()
		synctest.Wait()
		if s := p.Snapshot(); len(s.Agents) != 1 || s.Ending != nil || s.Budget.CostUSD != 0 {
			t.Errorf("at the beginning there are %d agents", len(s.Agents))
		}
	})
}

// TestUnreadable: a line that is not an event ends the playback with an error, and jumping back is
// possible.
func TestUnreadable(t *testing.T) {
	var raw []byte
	var chain journal.LogChain
	for i, line := range []string{`{"v":1,"seq":1,"event":"notice","id":"supervisor","text":"a"}`,
		`{"v":1,"event":7}`} {
		var err error
		if raw, err = chain.Append(raw, journal.LogContent{At: atTimeline(i), Line: []byte(line)}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p, a := NewPlayer("run-1", journal.NewLog(memory{bytes.NewReader(raw)})), &recordingStage{}
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() { defer close(over); p.Play(ctx, a) }()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		s := p.Status()
		testkit.Check(t, s.Err != nil && s.Ended && len(a.taken()) == 1, "%+v, %q", s, a.taken())
		p.Begin()
		synctest.Wait()
		s = p.Status()
		testkit.Check(t, s.Err == nil && !s.Ended, "after going back: %+v", s)
		cancel()
		<-over
	})
}

// TestTimelineCosts: what a turn had cost that was lost with its process stays with its agent, and the cost of the run
// includes its decider, and what the run that it branched off from had cost.
func TestTimelineCosts(t *testing.T) {
	tl := timelineOf(
		timedEvent{0, "supervisor", contract.Session{Session: "run-2", ForkedFrom: &contract.Fork{CostUSD: 10}}},
		timedEvent{1, "orch-1", contract.Spawn{Name: "Orchestrator I", Generation: 1}},
		timedEvent{2, "orch-1", contract.Turn{CostUSD: 1}},
		timedEvent{3, "orch-1", contract.Cost{CostUSD: 0.25}},
		timedEvent{4, "orch-1", contract.Spawn{Name: "Orchestrator I", Generation: 2}},
		timedEvent{5, "orch-1", contract.Cost{CostUSD: 0.5}},
		timedEvent{6, "orch-1", contract.Done{Reason: "crash"}},
		timedEvent{7, "orch-1", contract.Spawn{Name: "Orchestrator I", Generation: 3}},
		timedEvent{8, "orch-1", contract.Cost{CostUSD: 2}},
		timedEvent{9, "arbiter", contract.Decision{CostUSD: 0.5}},
		timedEvent{9, "supervisor", contract.Cost{CostUSD: 0.25}})
	testkit.Same(t, "the agent has cost", 3.75, tl.cost(tl.byID["orch-1"]))
	testkit.Includes(t, "the title", drawn(tl, &TimelineView{}, 100, 24)[0], "$14.50")
}

// TestTimelineQuestion: the human is waited for until the last question is settled.
func TestTimelineQuestion(t *testing.T) {
	var line Timeline
	for i, c := range []struct {
		body  contract.Body
		waits int
	}{
		{contract.Question{Text: "Which?", Question: "question-1"}, 1},
		{contract.Question{Text: "Raise?", Question: "limit"}, 2},
		{contract.Message{From: contract.Human, To: "orch-1", Kind: "instruction"}, 2},
		{contract.Settled{Item: "limit"}, 1},
		{contract.Settled{Item: "question-1"}, 0},
	} {
		line.Add(atTimeline(i), contract.Event{ID: contract.Supervisor, Body: c.body})
		testkit.Same(t, fmt.Sprintf("waits after event %d", i), c.waits, len(line.open))
	}
}
