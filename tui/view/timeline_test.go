package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/render"
)

var timelineBegan = time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)

// atTimeline is a time of the run, in seconds.
func atTimeline(seconds int) time.Time {
	return timelineBegan.Add(time.Duration(seconds) * time.Second)
}

type timelineTimedEvent struct {
	second int
	id     string
	body   contract.Body
}

func timelineOf(list ...timelineTimedEvent) *Timeline {
	t := &Timeline{}
	for _, e := range list {
		t.Add(atTimeline(e.second), contract.Event{ID: e.id, Body: e.body})
	}
	return t
}

// story is a run of a hundred seconds.
func story() []timelineTimedEvent {
	call := contract.ToolUse{Tool: "Bash", ToolUse: "t1", Input: []byte(`{"command":"go test ./..."}`)}
	return []timelineTimedEvent{
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
	var lines []string
	for _, l := range tl.Lines(v, TimelineFrame{Look: dark, Now: atTimeline(100)}, w, h) {
		lines = append(lines, l.Text())
	}
	return lines
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
	for _, want := range []string{"[..........=======", "?...", "----"} {
		if !strings.Contains(cells, want) {
			t.Errorf("the lane lacks %q: %q", want, cells)
		}
	}
	if !strings.HasSuffix(one, "$1.25") || !strings.HasSuffix(lineOf(t, lines, "The Arbiter"), "$0.50") {
		t.Errorf("costs are missing:\n%s", strings.Join(lines, "\n"))
	}
	if !strings.HasSuffix(cells, ">.]") {
		t.Errorf("neither the hand-off nor the end is drawn: %q", cells)
	}
	if two := lineOf(t, lines, "Orchestrator II"); !strings.Contains(two, "R") {
		t.Errorf("the successor is not marked: %q", two)
	}
	if you := lineOf(t, lines, "You"); !strings.Contains(you, "*") {
		t.Errorf("what the human said is not marked: %q", you)
	}
}

// TestTimelineCursor: the status line shows what is under the cursor, steps go to the next important event, and the
// selected point is the time of its event.
func TestTimelineCursor(t *testing.T) {
	tl, v := timelineOf(story()...), &TimelineView{}
	show := func() string { return strings.Join(drawn(tl, v, 100, 24), "\n") }
	show()
	v.Lane(1)
	for _, what := range []string{"end", "hand-off"} {
		if !tl.Step(v, atTimeline(100), true) {
			t.Fatalf("the %s of orch-1 is not found", what)
		}
	}
	if p, _ := tl.Point(v, atTimeline(100)); !p.At.Equal(atTimeline(80)) || p.Lane != "orch-1" {
		t.Errorf("the hand-off is at %v in %q", p.At, p.Lane)
	}
	if text := show(); !strings.Contains(text, "1 check passed") {
		t.Errorf("the receipts are not counted:\n%s", text)
	}
	if !tl.Step(v, atTimeline(100), true) {
		t.Fatal("there is no wait before")
	}
	if p, _ := tl.Point(v, atTimeline(100)); !p.At.Equal(atTimeline(30)) {
		t.Errorf("the wait is at %v", p.At)
	}
	if text := show(); !strings.Contains(text, "waits for you  20 s") {
		t.Errorf("it does not say how long:\n%s", text)
	}
	for range 3 {
		v.Zoom(1)
		show()
	}
	if p, _ := tl.Point(v, atTimeline(100)); !p.At.Equal(atTimeline(30)) {
		t.Errorf("zooming moved the cursor to %v", p.At)
	}
	v.Home()
	show()
	if p, _ := tl.Point(v, atTimeline(100)); p.At.Before(atTimeline(0)) || p.At.After(atTimeline(10)) {
		t.Errorf("the beginning is at %v", p.At)
	}
	v.Move(-5)
	v.End()
	v.Move(5)
	if show(); v.behind {
		t.Error("at the end it does not follow the run")
	}
}

// TestPoint: a click selects a lane and a time, and a second click at the same place is reported as such.
func TestPoint(t *testing.T) {
	tl, v := timelineOf(story()...), &TimelineView{}
	drawn(tl, v, 100, 24)
	if again, ok := v.Point(v.gutter+10, v.first+2); again || !ok || v.lane != "orch-1" {
		t.Errorf("a click takes %q, %v %v", v.lane, again, ok)
	}
	drawn(tl, v, 100, 24)
	if again, _ := v.Point(v.gutter+10, v.first+2); !again {
		t.Error("a second click counts as a first one")
	}
	if _, ok := v.Point(v.gutter+10, 0); ok {
		t.Error("the title is a lane")
	}
}

// TestPauses: the time while the run was not active is left out, and columns map back to times.
func TestPauses(t *testing.T) {
	list := story()[:11]
	list = append(list, timelineTimedEvent{80 + 3600*9, "supervisor", contract.Session{Session: "run-1", Resumed: true}},
		timelineTimedEvent{90 + 3600*9, "orch-1", contract.Assistant{Text: "again"}},
		timelineTimedEvent{100 + 3600*9, "supervisor", contract.Result{}})
	tl := timelineOf(list...)
	a := tl.axis(atTimeline(0))
	if got := a.Len(); got != 100*time.Second {
		t.Errorf("the line is %v long", got)
	}
	for _, s := range []int{0, 40, 79, 85 + 3600*9, 100 + 3600*9} {
		if got := a.Time(a.Place(atTimeline(s))); !got.Equal(atTimeline(s)) {
			t.Errorf("%v comes back as %v", atTimeline(s), got)
		}
	}
	if got := a.Place(atTimeline(1000)); got != 80*time.Second {
		t.Errorf("the middle of a pause is at %v", got)
	}
	if text := strings.Join(drawn(tl, &TimelineView{}, 100, 24), "\n"); !strings.Contains(text, "1 pause left out") {
		t.Errorf("it is not said:\n%s", text)
	}
}

// TestAnotherRun: another run has its own timeline.
func TestAnotherRun(t *testing.T) {
	tl := timelineOf(append(story(), timelineTimedEvent{200, "supervisor", contract.Session{Session: "run-2"}},
		timelineTimedEvent{201, "arbiter", contract.Assistant{Text: "new"}})...)
	if len(tl.lanes) != 1 || !tl.first.Equal(atTimeline(200)) {
		t.Errorf("%d lanes from %v", len(tl.lanes), tl.first)
	}
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
		tools, usd = tools+l.tools, usd+l.cost()
		for _, s := range l.spans {
			if s.Kind == TimelineTool {
				made += s.N
			}
		}
	}
	if n > maxSpans || n != tl.spans {
		t.Errorf("%d spans are kept, counted as %d", n, tl.spans)
	}
	if made != calls || tools != calls || usd != calls/10*0.5 {
		t.Errorf("%d calls, %d counted, $%v", made, tools, usd)
	}
	v := &TimelineView{}
	if got := lineOf(t, drawn(tl, v, 100, 24), "Orchestrator III"); strings.Count(got, "=") < 60 {
		t.Errorf("the calls are not drawn: %q", got)
	}
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
	if len(tl.lanes) != maxLanes || tl.spans > maxSpans {
		t.Errorf("%d lanes, %d spans", len(tl.lanes), tl.spans)
	}
	v := &TimelineView{}
	drawn(tl, v, 80, 24)
	v.Lane(500)
	if text := strings.Join(drawn(tl, v, 80, 24), "\n"); !strings.Contains(text, "> orch-501") &&
		!strings.Contains(text, "> Orchestrator DI") {
		t.Errorf("the lane at hand is out of sight:\n%s", text)
	}
}

// TestAnyWindow: no line is wider than the window, and there are no more lines than rows.
func TestAnyWindow(t *testing.T) {
	tl := timelineOf(story()...)
	for _, w := range []int{1, 9, 12, 39, 60, 100, 250} {
		for _, h := range []int{1, 2, 3, 5, 8, 11, 24, 60} {
			lines := tl.Lines(&TimelineView{}, TimelineFrame{Look: dark, Now: atTimeline(100)}, w, h)
			if len(lines) > h {
				t.Errorf("%d×%d: %d lines", w, h, len(lines))
			}
			for i, l := range lines {
				if l.Width() > max(w, 12) { // names and one column
					t.Errorf("%d×%d: line %d has %d columns: %q", w, h, i, l.Width(), l.Text())
				}
			}
		}
	}
	if lines := (&Timeline{}).Lines(&TimelineView{}, TimelineFrame{Look: dark, Now: atTimeline(0)}, 40, 10); len(
		lines,
	) != 3 {
		t.Errorf("an empty timeline has %d lines", len(lines))
	}
}

// TestTimelineHostileText: a model's name for a tool or a mode is shown as text on one line.
func TestTimelineHostileText(t *testing.T) {
	tl := timelineOf(
		timelineTimedEvent{0, "arbiter", contract.Spawn{Name: "x\x1b[2J", Mode: "evil\n\x1b]52;c;b3duZWQ=\a"}},
		timelineTimedEvent{1, "arbiter", contract.ToolUse{Tool: "Ba\x1b[31msh\u202e", ToolUse: "1",
			Input: []byte(`{"command":"a\u001b[2J"}`)}},
	)
	v := &TimelineView{}
	text := strings.Join(drawn(tl, v, 100, 24), "\n") + tl.Words(nil, atTimeline(5))
	v.Home()
	text += strings.Join(drawn(tl, v, 100, 24), "\n")
	if strings.ContainsAny(text, "\x1b\a\u202e") {
		t.Errorf("control characters are drawn: %q", text)
	}
}

// TestTimelineWords: the same is available as text.
func TestTimelineWords(t *testing.T) {
	text := timelineOf(story()...).Words(map[string]string{"orch-1": "The weaver"}, atTimeline(100))
	for _, want := range []string{"1 min 40 s", "**The weaver**: 1 turn, 1 call, waited 20 s for you, $1.25",
		"14:00:30 waits for you, 20 s: ", "1 check passed", "**You**", "14:01:22 renewed"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
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
	if got := text(90); !strings.Contains(got, "waits for you  for 1 min 00 s now") {
		t.Errorf("it does not say for how long it has waited:\n%s", got)
	}
	tl.Add(atTimeline(500), contract.Event{ID: "supervisor", Body: contract.Session{Session: "run-1", Resumed: true}})
	if got := text(501); strings.Contains(got, "now") {
		t.Errorf("it still waits:\n%s", got)
	}
}
