package view

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// lookPage is one way to draw a page.
func lookPage(t testing.TB, theme string, g *render.Glyphs) *render.Look {
	th := testkit.Must(render.NewTheme(theme, render.TrueColor))(t)
	return &render.Look{Theme: th, Glyphs: g}
}

func darkLook(t testing.TB) *render.Look { return lookPage(t, "dark", render.Unicode) }

// pageBegan is when a bubble's clock begins.
var pageBegan = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var steps = []PageStep{
	{Text: "Read what there is, and say what is missing", Status: "done", Agent: "Orchestrator I"},
	{Text: "Write the currency table and its tests", Status: "done", Agent: "Orchestrator I"},
	{Text: "Sum the lines of an invoice per currency, round as the law of each country wants it, and keep the sums " +
		"apart until they are shown", Status: "active", Agent: "Orchestrator II", Mode: "implement"},
	{Text: "Print the sums under the lines", Status: "active", Agent: "Orchestrator III"},
	{Text: "Import the rates from the bank", Status: "failed"},
	{Text: "監査記録を書く", Status: "pending"},
	{Text: "Show the sums in the web view", Status: "skipped"},
	{Text: "Write the manual's chapter", Status: "pending", Mode: "document"},
	{Text: "Verify the whole with fresh eyes", Status: "pending"},
}

var tasks = []Tasks{{Agent: "Orchestrator II", Tone: render.SpeakerOrch2, Items: []PageStep{
	{Text: "Look the law of Switzerland up", Status: "done"}, {Text: "Round to five Rappen", Status: "active"},
	{Text: "Prove it", Status: "pending"},
}}}

var pageAgents = []PageAgent{
	{ID: "arbiter", Name: "Arbiter", State: "waits", Tone: render.Dim, Known: true, Tokens: 48_212, Window: 300_000,
		Pct: 16.07, Age: 4 * time.Minute},
	{ID: "orch-1", Name: "Orchestrator I", Mode: "plan", State: "handed on", Tone: render.Dim, Known: true,
		Tokens: 255_120, Window: 300_000, Pct: 85.04, Level: "critical", Age: 41 * time.Minute, Past: true},
	{ID: "orch-2", Name: "Orchestrator II", Mode: "implement", State: "works", Tone: render.Active, Busy: true,
		Known: true, Tokens: 214_800, Window: 300_000, Pct: 71.6, Level: "warn",
		Doing: "Agent: write the rounding tests for the Swiss franc", Age: 52 * time.Second},
	{ID: "orch-3", Name: "Orchestrator III", Mode: "verify", State: "permission?", Tone: render.Alert, Bell: true,
		Known: true, Tokens: 9_120, Window: 300_000, Pct: 3.04, Doing: "Bash: go test ./...", Age: 12 * time.Second},
	{ID: "orch-4", Name: "Orchestrator IV", Mode: "研究", State: "starts", Tone: render.Dim},
}

var findings = []PageFinding{
	{"claude", "2.1.329", render.Base},
	{"login", "ada@example.org", render.Good},
	{"workspace", "~/src/invoices", render.Base},
	{"trust", "not trusted yet: you will be asked", render.Warn},
	{"model", "opus", render.Base},
}

// permit asks for the permission to run a command.
func permit() AskData {
	return AskData{
		Title: "Leave is asked", Tone: render.Alert,
		Head: []render.Line{{{Text: "Orchestrator III", Role: render.Speaker("orch-3")},
			{Text: " wants to run a command:", Role: render.Base}}},
		Body: func(w int) (lines []render.Line) {
			lines = render.WrapText(render.Code, "go test ./... && rm -rf build/cache", w)
			for i := range 12 {
				lines = append(lines,
					render.WrapText(render.Dim, fmt.Sprintf("line %d of the reason, which is [red]long[-] and 全角", i+1),
						w)...)
			}
			return lines
		},
		Choices: []PageChoice{{"yes", 'y', "Allow once", false, false}, {"run", 'a', "Allow for this run", true, false},
			{"no", 'n', "Refuse", false, false}, {"why", 'w', "Refuse, and say why", false, false}},
		Focus: 2,
		Note:  "No rule speaks of it. 2 more requests wait.",
	}
}

// runStrips draws the strips like the screen of a run.
type runStrips struct {
	*tview.Box
	roster *PageRoster
	strip  *PlanStrip
	status *PageStatus
}

func (p *runStrips) Draw(s tcell.Screen) {
	x, y, w, h := p.GetRect()
	a := p.roster.Rows(min(max(h/3, 1), h))
	b := p.strip.Rows(max(min(max(h/4, 1), h-a-2), 0))
	p.roster.SetRect(x, y, w, a)
	p.strip.SetRect(x, y+a+1, w, b)
	p.status.SetRect(x, y+h-1, w, min(h, 1))
	for _, d := range []tview.Primitive{p.roster, p.strip, p.status} {
		d.Draw(s)
	}
}

func newRunStrips(l *render.Look) *runStrips {
	p := &runStrips{tview.NewBox(), NewRoster(l), NewPlanStrip(l), NewStatus(l)}
	p.roster.Set(pageAgents)
	p.roster.selected = "orch-3"
	p.strip.Set(steps, tasks)
	p.status.Set(StatusData{Word: "Working", Awaited: "Orchestrator II", Waiting: 4 * time.Minute, Cost: "$3.42",
		Tokens: 1_284_000, Elapsed: 83*time.Minute + 7*time.Second, Restarts: 1, Mode: "NORMAL",
		Warnings: []string{"REHEARSAL"}})
	return p
}

// everyPage contains pages as they are.
var everyPage = map[string]func(*render.Look) tview.Primitive{
	"oracle": func(l *render.Look) tview.Primitive {
		p := NewHome(l)
		p.Set(HomeData{Findings: findings, Threads: 4, Newest: "Give the invoices a total",
			Now: pageBegan})
		return p
	},
	"oracle-bare": func(l *render.Look) tview.Primitive {
		p := NewHome(l)
		p.Set(HomeData{Now: pageBegan, Warnings: []string{"REHEARSAL", "ALLOW ALL"}})
		return p
	},
	"list": func(l *render.Look) tview.Primitive {
		p := someList(l)
		p.Down(1)
		return p
	},
	"ask": func(l *render.Look) tview.Primitive {
		p := NewAsk(l)
		p.Set(permit())
		return p
	},
	"weaving": func(l *render.Look) tview.Primitive { return newRunStrips(l) },
}

func askAt(t *testing.T, w, h int) (*Ask, tcell.SimulationScreen) {
	s := screenOf(t, w, h)
	a := NewAsk(darkLook(t))
	a.SetRect(0, 0, w, h)
	a.Set(permit())
	return a, s
}

// textPage returns the text on the screen.
func textPage(s tcell.Screen) string {
	w, h := s.Size()
	var b strings.Builder
	for y := range h {
		for x := 0; x < w; {
			got, _, width := s.Get(x, y)
			b.WriteString(got)
			x += max(width, 1)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A dialog that opened by itself must not be answered by keys that were typed for something else.
func TestAskIgnoresEarlyKeys(t *testing.T) {
	at := time.Unix(100, 0)
	after := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	a, s := askAt(t, 80, 24)
	a.Arm(at)
	a.Draw(s)
	for _, ms := range []int{0, 100, 699} {
		_, ok := a.Choose(after(ms))
		testkit.Check(t, !ok, "Enter was taken after %d ms", ms)
		a.Arm(at)
		_, ok = a.Press('y', after(ms))
		testkit.Check(t, !ok, "y was taken after %d ms", ms)
		a.Arm(at)
		spot := a.spots[0]
		_, ok = a.Click(spot.x, spot.y, after(ms))
		testkit.Check(t, !ok, "a click was taken after %d ms", ms)
		a.Arm(at)
	}
	got, ok := a.Press('Y', after(700))
	testkit.Check(t, ok && got == "yes", "Y is %q, %v after 700 ms", got, ok)
	// The dialog ignores a user who continues typing until they pause.
	a.Arm(at)
	for ms := 100; ms <= 3000; ms += 100 {
		got, ok := a.Press('y', after(ms))
		testkit.Need(t, !ok, "y, typed among others, answered %q after %d ms", got, ms)
	}
	_, ok = a.Press('y', after(3650))
	testkit.Check(t, !ok, "650 ms are not a pause")
	got, ok = a.Press('y', after(3650+700))
	testkit.Check(t, ok && got == "yes", "after a pause y is %q, %v", got, ok)
}

func TestAskOpenedByHandAnswersAtOnce(t *testing.T) {
	a, s := askAt(t, 80, 24)
	now := time.Unix(100, 0)
	got, ok := a.Choose(now)
	testkit.Check(t, ok && got == "no", "the choice at hand is %q, %v", got, ok)
	got, ok = a.Press('x', now)
	testkit.Check(t, !ok, "x answers %q", got)
	a.Next()
	a.Next()
	got, _ = a.Choose(now)
	testkit.Check(t, got == "yes", "two further on is %q: not around the end", got)
	a.Prev()
	got, _ = a.Choose(now)
	testkit.Check(t, got == "why", "one back is %q", got)
	a.Draw(s)
	for i, spot := range a.spots {
		got, ok := a.Click(spot.x+spot.w-1, spot.y, now)
		testkit.Check(t, ok && got == permit().Choices[i].Value, "a click on choice %d is %q, %v", i, got, ok)
		got, ok = a.Click(spot.x+spot.w, spot.y, now)
		testkit.Check(t, !ok, "a click beside choice %d is %q", i, got)
	}
	a.Set(AskData{Title: "nothing to choose"})
	a.Next()
	_, ok = a.Choose(now)
	testkit.Check(t, !ok, "nothing was chosen")
}

// Whatever the window, the current choice is visible, and if there is any room, so are all choices and the
// beginning of the question.
func TestAskShowsItsChoices(t *testing.T) {
	for w := 14; w < 130; w += 5 {
		for h := 1; h < 40; h++ {
			a, s := askAt(t, w, h)
			a.Draw(s)
			got := textPage(s)
			testkit.Need(t, strings.Contains(got, "▸n Refuse"), "%dx%d: the choice at hand is out of sight\n%s", w, h,
				got)
			if w >= 40 && h >= 8 {
				for _, want := range []string{"y Allow once", "a Allow for this run", "w Refuse, and say why",
					"go test"} {
					testkit.Need(t, strings.Contains(got, want), "%dx%d: %q is out of sight\n%s", w, h, want, got)
				}
			}
			s.Fini()
		}
	}
}

func TestAskShowsThatThereIsMore(t *testing.T) {
	a, s := askAt(t, 60, 14)
	a.Draw(s)
	testkit.Includes(t, "a body that is cut does not say so", textPage(s), "more lines ↓")
	a.Bottom()
	a.Draw(s)
	got := textPage(s)
	testkit.Check(t, !strings.Contains(got, "more lines") && strings.Contains(got, "line 12 of the reason") &&
		strings.Contains(got, "↑"), "scrolled to its end:\n%s", got)
	a.Top()
	a.Draw(s)
	testkit.Includes(t, "scrolled back", textPage(s), "go test")
	a.Set(AskData{Title: "Reset?", Head: []render.Line{render.Of(render.Base, strings.Repeat("word ", 100)+"end")}})
	a.Draw(s)
	testkit.Includes(t, "a question without a body", textPage(s), "more lines ↓")
	a.Bottom()
	a.Draw(s)
	testkit.Includes(t, "its end", textPage(s), "word end")
}

func TestAskLaysItsBodyOutOnce(t *testing.T) {
	a, s := askAt(t, 80, 24)
	calls, d := 0, permit()
	d.Body = func(int) []render.Line { calls++; return nil }
	a.Set(d)
	for range 3 {
		a.Draw(s)
	}
	a.SetRect(0, 0, 50, 20)
	a.Draw(s)
	testkit.Same(t, "how often it was laid out for two widths", 2, calls)
}

// pageHostile contains strings that try to leave their place, or to be interpreted as markup.
var pageHostile = []string{
	"", "x", "世界世界世界世界", "👩‍👩‍👧‍👦🇩🇪", "שלום עולם", "\u202eabc", "\x1b[2J\x1b]0;t\a", "\x9b31m", "\xff\xfe", "a\tb\nc\r",
	"[red]r[-] [\"x\"] [:::url]", "⸺⸻", strings.Repeat("a\u0301\u0302\u0303\u0304", 20), strings.Repeat("W", 3000),
	strings.Repeat("word ", 300), "\u0301", "\u202e\u202e", "\x00",
}

// dread makes every page with a text in every field, and unexpected numbers.
func dread(l *render.Look, text string, random *rand.Rand) []tview.Primitive {
	many := random.IntN(40)
	o := NewHome(l)
	o.Set(HomeData{Findings: []PageFinding{{text, text, render.Good}, {"", text, render.Bad},
		{text, "", render.Base}},
		Threads: many, Newest: text, Warnings: []string{text, "ALLOW ALL"}})
	s := NewList(l)
	s.Title, s.Empty, s.Warning, s.Note = []string{text, ""}[many%2], text, []string{text, ""}[many/2%2],
		render.Of(render.Dim, text)
	s.Columns = []ListColumn{{Head: text}, {Head: "WIDE", Wide: true, Tail: many%3 == 0}, {Head: text, Right: true,
		Falls: true}}
	s.Preview = func(_ ListRow, width int) []render.Line { return render.WrapText(render.Base, text, width) }
	var list []ListRow
	var steps []PageStep
	var agents []PageAgent
	var choices []PageChoice
	for i := range many {
		cell := render.Of(render.Base, Plain(text))
		list = append(list, ListRow{Key: fmt.Sprint(i), Group: []string{"", text}[many%2],
			Cells: []render.Line{cell, cell, cell}, Find: []string{text, ""}[many/3%2]})
		steps = append(steps,
			PageStep{text, []string{"", "pending", "active", "done", "failed", "skipped", text}[random.IntN(7)], text, text,
				text, true})
		agents = append(agents, PageAgent{ID: fmt.Sprint(i), Name: text, Mode: text, State: text, Busy: i%3 == 0,
			Known: i%2 == 0, Tokens: random.Int() - math.MaxInt/2, Window: random.Int() - math.MaxInt/2,
			Pct: []float64{math.NaN(), math.Inf(1), -5, 1e18, 50}[random.IntN(5)], Level: text, Doing: text,
			Age: time.Duration(random.Int64() - math.MaxInt64/2), Bell: i%5 == 0, Past: i%7 == 0})
		choices = append(choices, PageChoice{text, rune(random.IntN(200)), text, i%2 == 0, i%3 == 0})
	}
	s.Set(list)
	s.Down(random.IntN(50))
	a := NewAsk(l)
	a.Set(AskData{Title: text, Tone: render.Role(random.IntN(3)), Head: []render.Line{render.Of(render.Base, text)},
		Choices: choices[:min(many, 7)], Focus: random.IntN(9) - 1, Note: text,
		Body: func(w int) []render.Line { return render.WrapText(render.Code, text, w) }})
	r := NewRoster(l)
	r.Set(agents)
	r.selected = fmt.Sprint(random.IntN(40))
	strip := NewPlanStrip(l)
	strip.Set(steps, []Tasks{{text, render.Dim, steps}})
	st := NewStatus(l)
	st.Set(StatusData{Word: text, Awaited: text, Words: 1 - many%2, Waiting: time.Duration(random.Int64()),
		Cost: text, Tokens: random.Int(), Elapsed: time.Duration(random.Int64()),
		Restarts: many, Mode: text, Flash: []string{"", text}[many%2],
		Warnings: []string{text, "REHEARSAL"}[:many%3%3]})
	return []tview.Primitive{o, s, a, r, strip, st}
}

// turn performs random user actions on a page.
func turn(p tview.Primitive, random *rand.Rand) {
	x, y, n := random.IntN(420), random.IntN(420), random.IntN(60)
	if m, ok := p.(interface{ Down(int) }); ok {
		m.Down(n)
	}
	if m, ok := p.(interface {
		PageUp()
		PageDown()
		Bottom()
		Up(int)
	}); ok {
		[]func(){m.PageUp, m.PageDown, m.Bottom, func() { m.Up(n) }}[random.IntN(4)]()
	}
	switch p := p.(type) {
	case *PageHome:
		p.ThreadsAt(x, y)
	case *List:
		p.At(x, y)
		p.Sort()
		p.ReadOn()
		p.SetFilter([]string{"", "a", "世"}[n%3])
	case *Ask:
		p.Next()
		p.Press(rune(n), time.Now())
		p.Click(x, y, time.Now())
		p.Choose(time.Now())
	case *PageRoster:
		p.Move(n - 30)
		p.At(x, y)
	}
}

// around is in the cells that nothing may be drawn on.
const around = "▒"

// surrounded draws a primitive in the middle of a screen, and returns its rows. It fails if a cell outside was touched,
// or something is drawn that no terminal shows.
func surrounded(t testing.TB, s tcell.SimulationScreen, p tview.Primitive) (rows []string) {
	t.Helper()
	left, top, w, h := p.GetRect()
	sw, sh := s.Size()
	s.HideCursor()
	for y := range sh {
		for x := range sw {
			s.Put(x, y, around, tcell.StyleDefault)
		}
	}
	p.Draw(s)
	for y := range sh {
		row := ""
		for x := 0; x < sw; {
			got, _, width := s.Get(x, y)
			inside := x >= left && x < left+w && y >= top && y < top+h
			testkit.Need(t, (inside || got == around) && (!inside || x+width <= left+w) &&
				!strings.ContainsFunc(got, unicode.IsControl), "%T of %dx%d: %q at %d,%d", p, w, h, got, x-left, y-top)
			if inside {
				row += got
			}
			x += max(width, 1)
		}
		if y >= top && y < top+h {
			rows = append(rows, row)
		}
	}
	return rows
}

// drawInside draws a page twice, with random actions in between, and fails if it left its place.
func drawInside(t *testing.T, s tcell.SimulationScreen, p tview.Primitive, w, h int, random *rand.Rand) {
	t.Helper()
	p.SetRect(3, 2, w, h)
	for range 2 {
		surrounded(t, s, p)
		turn(p, random)
	}
}

func screenOf(t testing.TB, w, h int) tcell.SimulationScreen {
	s := tcell.NewSimulationScreen("UTF-8")
	testkit.OK(t, s.Init())
	s.SetSize(w, h)
	t.Cleanup(s.Fini)
	return s
}

func TestPageAnySize(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	looks := []*render.Look{darkLook(t), lookPage(t, "mono", render.ASCII)}
	for i, size := range [][2]int{{0, 0}, {1, 1}, {0, 9}, {9, 0}, {2, 2}, {3, 30}, {400, 1}, {400, 2}, {1, 120},
		{12, 5}, {23, 7}, {24, 7}, {40, 12}, {59, 13}, {60, 14}, {71, 8}, {72, 8}, {80, 24}, {400, 120}} {
		s := screenOf(t, size[0]+6, size[1]+4)
		for j, text := range pageHostile {
			if size[0]*size[1] > 10_000 && j%9 != 0 || (i+j/2)%4 != 0 && !testkit.AtNight() {
				continue
			}
			for _, p := range dread(looks[(i+j)%2], text, random) {
				drawInside(t, s, p, size[0], size[1], random)
			}
		}
		for _, page := range everyPage {
			drawInside(t, s, page(looks[i%2]), size[0], size[1], random)
		}
	}
}

func FuzzPages(f *testing.F) {
	for i, text := range pageHostile {
		f.Add(text, uint16(i*7), uint16(i*3), uint64(i))
	}
	looks := []*render.Look{lookPage(f, "dark", render.Unicode), lookPage(f, "mono", render.ASCII)}
	f.Fuzz(func(t *testing.T, text string, w, h uint16, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		columns, rows := int(w%90), int(h%30)
		s := screenOf(t, columns+6, rows+4)
		for _, p := range dread(looks[seed%2], text, random) {
			drawInside(t, s, p, columns, rows, random)
		}
	})
}

func drawAt(t *testing.T, p tview.Primitive, w, h int) (string, tcell.SimulationScreen) {
	s := screenOf(t, w+2, h+1)
	p.SetRect(2, 1, w, h)
	p.Draw(s)
	return textPage(s), s
}

func TestHomeThreads(t *testing.T) {
	p := NewHome(darkLook(t))
	p.Set(HomeData{Threads: 2, Newest: "a title", Now: pageBegan})
	got, _ := drawAt(t, p, 80, 20)
	found := false
	for y, row := range strings.Split(got, "\n") {
		if at := strings.Contains(row, "2 runs"); at != p.ThreadsAt(40, y) {
			t.Errorf("row %d, %q: %v", y, row, !at)
		} else if at {
			found = true
		}
	}
	testkit.Check(t, found, "no word of the threads:\n%s", got)
	p.Set(HomeData{})
	got, _ = drawAt(t, p, 80, 20)
	testkit.Check(t, !p.ThreadsAt(40, 15) && !strings.Contains(got, "runs"), "threads where there are none:\n%s", got)
}

// The input and the warnings are dropped last.
func TestHomeInSmallWindows(t *testing.T) {
	for h := 3; h < 40; h++ {
		p := NewHome(darkLook(t))
		p.Set(HomeData{Findings: findings, Threads: 3, Newest: "a title", Now: pageBegan,
			Warnings: []string{"ALLOW ALL"}})
		got, s := drawAt(t, p, 60, h)
		testkit.Need(t, strings.Contains(got, "Speak, mortal.") && strings.Contains(got, "ALLOW ALL"), "%d rows:\n%s",
			h, got)
		s.Fini()
	}
}

func rosterRows(t *testing.T, list []PageAgent, selected string, w, h int) ([]string, *PageRoster) {
	s := screenOf(t, w, h)
	defer s.Fini()
	l := darkLook(t)
	l.Still = true
	r := NewRoster(l)
	r.SetRect(0, 0, w, h)
	r.Set(list)
	r.selected = selected
	r.Draw(s)
	return strings.Split(strings.TrimSuffix(textPage(s), "\n"), "\n"), r
}

// From 40 columns on, one look shows each agent's name, state and context.
func TestRosterShowsEssentialColumns(t *testing.T) {
	for w := 40; w <= 200; w++ {
		rows, _ := rosterRows(t, pageAgents, "", w, len(pageAgents))
		works, meter := "Agent: wr", "72%"
		if w >= metered {
			meter = "━"
		}
		for i, want := range [][]string{{"Arbiter", "waits", "16%"}, {" I ", "handed on", "85%"},
			{" II ", works, "52s", "72%", meter}, {"?", " III ", "permission?", "3%"}, {" IV ", "starts", "–"}} {
			for _, part := range want {
				testkit.Need(t, strings.Contains(rows[i], part), "%d columns: %q is missing in %q", w, part, rows[i])
			}
		}
	}
}

func TestRosterIsAligned(t *testing.T) {
	for w := 40; w <= 200; w += 7 {
		rows, _ := rosterRows(t, pageAgents, "", w, len(pageAgents))
		column := -1
		for _, row := range rows[:4] {
			at := render.Width(row[:strings.Index(row, "%")])
			testkit.Need(t, column < 0 || at == column, "%d columns: the percentages are at %d and %d:\n%s", w, column,
				at, strings.Join(rows, "\n"))
			column = at
		}
	}
}

// An agent's activity changes all the time: bars and figures stay where they are.
func TestRosterIsSteady(t *testing.T) {
	for w := 80; w <= 200; w += 7 {
		column := -1
		for _, doing := range []string{"", "Bash", "Look for names that break it", strings.Repeat("long ", 40)} {
			list := slices.Clone(pageAgents)
			for i := range list {
				list[i].Doing = ""
			}
			list[2].Doing = doing
			list[1].State, list[2].State = "waits", "works"
			list[3].State = "waits"
			rows, _ := rosterRows(t, list, "", w, len(list))
			at := render.Width(rows[2][:strings.Index(rows[2], "%")])
			testkit.Need(t, column < 0 || at == column, "%d columns: with %q the percentage is at %d, not at %d:\n%s",
				w, doing, at, column, strings.Join(rows, "\n"))
			column = at
		}
	}
}

func TestRosterShowsImportantAgents(t *testing.T) {
	var many []PageAgent
	for i := range 12 {
		many = append(many, PageAgent{ID: fmt.Sprint("orch-", i), Name: fmt.Sprint("Orchestrator ", i), Past: i%3 == 1,
			Busy: i%3 == 2})
	}
	many[0].Name = "Arbiter"
	many[10].Bell = true
	rows, r := rosterRows(t, many, "orch-4", 60, 5)
	for _, want := range []string{"Arbiter", "Orchestrator 4", "Orchestrator 10", "Orchestrator 11", "and 8 more"} {
		testkit.Check(t, slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, want) }),
			"%q is out of sight:\n%s", want, strings.Join(rows, "\n"))
	}
	id, ok := r.At(3, 1)
	testkit.Check(t, ok && id == "orch-4", "the second row is %q, %v", id, ok)
	id, ok = r.At(3, 4)
	testkit.Check(t, !ok, "the last row is %q", id)
	_, ok = r.At(99, 0)
	testkit.Check(t, !ok, "somebody is outside of the roster")
	testkit.Same(t, "rows that it wants of 4", 4, r.Rows(4))
}

// TestRosterShowsSomeSubagents: more subagents than there are rows leave no rows empty; those that work are shown.
func TestRosterShowsSomeSubagents(t *testing.T) {
	agent := PageAgent{ID: "orch-1", Name: "Orchestrator I", Busy: true, Open: true}
	for i := range 9 {
		agent.Subagents = append(agent.Subagents, Subagent{Name: fmt.Sprint("sub-", i), Works: i > 6})
	}
	rows, _ := rosterRows(t, []PageAgent{agent, {ID: "orch-2", Name: "Orchestrator II"}}, "", 100, 6)
	for i, want := range []string{"Orchestrator I ", "sub-7", "sub-8", "sub-0", "and 6 more subagents",
		"Orchestrator II"} {
		testkit.Check(t, strings.Contains(rows[i], want), "row %d is %q, want %s", i, rows[i], want)
	}
}

func TestRosterMoves(t *testing.T) {
	r := NewRoster(darkLook(t))
	r.Move(1)
	testkit.Check(t, r.selected == "", "somebody was found among nobody")
	r.Set(pageAgents)
	for i, step := range []struct {
		by   int
		want string
	}{{1, "arbiter"}, {1, "orch-1"}, {9, "orch-4"}, {-1, "orch-3"}, {-9, "arbiter"}} {
		r.Move(step.by)
		testkit.Check(t, r.selected == step.want, "step %d: %q, want %q", i, r.selected, step.want)
	}
	r.selected = "nobody"
	_, ok := r.Selected()
	testkit.Check(t, !ok, "somebody who is not there is marked")
	r.Move(-1)
	testkit.Check(t, r.selected == "orch-4", "up from nowhere is %q", r.selected)
}

func TestPlanStripKeepsTheCurrentInSight(t *testing.T) {
	for n := 1; n < 12; n++ {
		for current := range n {
			var list []PageStep
			for i := range n {
				status := "pending"
				if i < current {
					status = "done"
				}
				list = append(list, PageStep{Text: fmt.Sprintf("step-%d.", i), Status: status})
			}
			list[current].Status = "active"
			for h := 1; h < 9; h++ {
				s := screenOf(t, 30, h)
				p := NewPlanStrip(darkLook(t))
				p.SetRect(0, 0, 30, h)
				p.Set(list, nil)
				p.Draw(s)
				got := textPage(s)
				testkit.Need(t, strings.Contains(got, fmt.Sprintf("step-%d.", current)),
					"step %d of %d in %d rows:\n%s", current, n, h, got)
				want := min(n, h)
				testkit.Need(t, strings.Count(got, "step-") == want, "%d rows show not %d steps:\n%s", h, want, got)
				s.Fini()
			}
		}
	}
	done, current := count([]PageStep{{Status: "done"}, {Status: "failed"}})
	testkit.Check(t, done == 1 && current == 1, "all over: %d, %d", done, current)
}

var full = StatusData{Word: "Working", Awaited: "Orchestrator II", Waiting: 4 * time.Minute, Cost: "$3.42",
	Tokens: 1_284_000, Elapsed: 83*time.Minute + 7*time.Second, Restarts: 2, Mode: "NORMAL",
	Warnings: []string{"REHEARSAL", "ALLOW ALL"}}

func bar(t *testing.T, d StatusData, w int) string {
	s := screenOf(t, w, 1)
	defer s.Fini()
	l := darkLook(t)
	l.Still = true
	p := NewStatus(l)
	p.SetRect(0, 0, w, 1)
	p.Set(d)
	p.Draw(s)
	return strings.TrimSuffix(textPage(s), "\n")
}

func TestStatusNeverDropsWarnings(t *testing.T) {
	for w := 26; w < 200; w++ {
		got := bar(t, full, w)
		testkit.Includes(t, fmt.Sprintf("%d columns", w), got, " REHEARSAL ", " ALLOW ALL ")
	}
	for w := 12; w < 26; w++ { // a part of each value
		testkit.Includes(t, fmt.Sprintf("%d columns", w), bar(t, full, w), " REHE", " ALLO")
	}
}

// What was dropped at a width does not come back at a smaller one, and values are dropped in the documented
// order.
func TestStatusDropsInOrder(t *testing.T) {
	order := []string{"1.3M tok", "F1 help", "2 restarts", "4m", "1:23:07", "$3.42", "NORMAL", "II", "Working"}
	d := full
	d.Warnings = d.Warnings[:1]
	gone := 0
	for w := 160; w >= 14; w-- {
		got := bar(t, d, w)
		for i, part := range order {
			if there := strings.Contains(got, part); there && i < gone {
				t.Fatalf("%d columns: %q came back: %q", w, part, got)
			} else if !there && i > gone {
				t.Fatalf("%d columns: %q went before %q: %q", w, part, order[gone], got)
			} else if !there {
				gone = i + 1
			}
		}
	}
	testkit.Same(t, "parts that were dropped", len(order), gone)
}

// TestStatusSays: who is waited for, who decides in the Arbiter's place, and answers to the user come before the rest.
func TestStatusSays(t *testing.T) {
	human := func(d *StatusData) { d.Words, d.Awaited = 1, "you" }
	fallback := func(d *StatusData) { d.Warnings, d.Fallback, d.Decider = nil, "The rules decide", "a model decides" }
	flash := func(text string) func(*StatusData) { return func(d *StatusData) { d.Flash = text } }
	for name, tt := range map[string]struct {
		change   []func(*StatusData)
		widths   []int
		says, no []string
	}{
		"a human":      {[]func(*StatusData){human}, []int{50, 80, 160}, []string{"Waits for you"}, []string{"···"}},
		"a fallback":   {[]func(*StatusData){fallback}, []int{24, 40, 80, 160}, []string{"The rules decide"}, nil},
		"what decides": {[]func(*StatusData){fallback}, []int{160}, []string{"a model decides"}, nil},
		"both":         {[]func(*StatusData){fallback, human}, []int{44}, []string{"Waits for you", "The rules"}, nil},
		"an answer": {[]func(*StatusData){flash("So it shall be.")}, []int{100}, []string{"So it shall be."},
			[]string{"$3.42"}},
		"a long one": {[]func(*StatusData){flash(strings.Repeat("There is no agent of that name. ", 9))}, []int{100},
			[]string{"There is no", "…", "Working"}, nil},
	} {
		for _, w := range tt.widths {
			t.Run(fmt.Sprint(name, " ", w), func(t *testing.T) {
				d := full
				for _, change := range tt.change {
					change(&d)
				}
				got := bar(t, d, w)
				testkit.Includes(t, "it says", got, tt.says...)
				testkit.Excludes(t, "it says", got, tt.no...)
			})
		}
	}
}

func TestPageWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{elapsedPage(-1), "0s"}, {elapsedPage(59 * time.Second), "59s"}, {elapsedPage(60 * time.Second), "1m"},
		{elapsedPage(3*time.Hour + 5*time.Minute), "3h 05m"}, {elapsedPage(49 * time.Hour), "2d 1h"},
		{PageClock(42 * time.Second), "0:42"}, {PageClock(3723 * time.Second), "1:02:03"},
		{Age(pageBegan, pageBegan.Add(26*time.Hour)), "1d 2h"}, {Age(pageBegan, pageBegan.AddDate(0, 2, 0)), "1 Jan 2000"},
		{Age(time.Time{}, pageBegan), ""},
		{ShortName("Orchestrator IV"), "Orch. IV"},
		{ShortName("Arbiter"), "Arbiter"},
	} {
		testkit.Same(t, "", c.want, c.got)
	}
}

// TestSteps: each step names keys that exist, and can be read in a few seconds.
func TestSteps(t *testing.T) {
	words := 0
	for _, s := range TourSteps() {
		testkit.Check(t, s.Title != "" && !strings.ContainsAny(s.Text, "{}\t") && !strings.Contains(s.Text, "  "),
			"%s: %s", s.Title, s.Text)
		words += len(strings.Fields(s.Text))
	}
	testkit.Check(t, words <= 250, "%d words are read in more than a minute", words)
	for _, s := range tourTexts {
		for _, m := range keyMeant().FindAllStringSubmatch(s.Text, -1) {
			c, action := cmp.Or(keys.Context(m[1]), keys.Everywhere), keys.Action(m[2])
			a, ok := keys.Look(c, keys.KeyOf(c, action))
			testkit.Check(t, ok && a == action, "no key of %q does %s", c, action)
		}
	}
}
