package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

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
	o.Set(HomeData{Words: []string{text, text}, Findings: []PageFinding{{text, text, render.Good}, {"", text, render.Bad},
		{text, "", render.Base}},
		Threads: many, Newest: PageRun{ID: text, Title: text}, Hint: text, Warnings: []string{text, "ALLOW ALL"}})
	f := NewFirstRun(l)
	f.Set(FirstRunData{Lack: PageLack(random.IntN(5)), Version: text, Path: text, Problem: text, Busy: many%2 == 0})
	f.Down(many)
	s := NewSessions(l)
	var list []PageRun
	var steps []PageStep
	var agents []PageAgent
	var groups []HelpGroup
	var choices []PageChoice
	for i := range many {
		list = append(list,
			PageRun{ID: fmt.Sprint(i, text), Title: text, Status: text, Bytes: random.Int64() - math.MaxInt64/2,
				Rehearsal: i%2 == 0, LastActive: time.Unix(random.Int64N(1e10), 0)})
		steps = append(steps,
			PageStep{text, []string{"", "pending", "active", "done", "failed", "skipped", text}[random.IntN(7)], text, text,
				true})
		agents = append(agents, PageAgent{ID: fmt.Sprint(i), Name: text, Mode: text, State: text, Busy: i%3 == 0,
			Known: i%2 == 0, Tokens: random.Int() - math.MaxInt/2, Window: random.Int() - math.MaxInt/2,
			Pct: []float64{math.NaN(), math.Inf(1), -5, 1e18, 50}[random.IntN(5)], Level: text, Doing: text,
			Age: time.Duration(random.Int64() - math.MaxInt64/2), Bell: i%5 == 0, Past: i%7 == 0})
		groups = append(groups, HelpGroup{text, []HelpRow{{text, text}, {"k", text}, {text, "k"}}[:random.IntN(4)]})
		choices = append(choices, PageChoice{text, rune(random.IntN(200)), text, i%2 == 0, i%3 == 0})
	}
	s.Set(list, time.Unix(1e9, 0))
	s.Down(random.IntN(50))
	p := NewPlan(l)
	p.Set(PlanData{Task: text, Steps: steps, Tasks: []Tasks{{text, render.Dim, steps}}, Notes: []string{text},
		Dirty: true})
	p.Down(random.IntN(50))
	h := NewHelp(l)
	h.Set(text, groups)
	a := NewAsk(l)
	a.Set(AskData{Title: text, Tone: render.Role(random.IntN(3)), Head: []render.Line{render.Of(render.Base, text)},
		Choices: choices[:min(many, 7)], Focus: random.IntN(9) - 1, Note: text,
		Body: func(w int) []render.Line { return render.WrapText(render.Code, text, w) }})
	r := NewRoster(l)
	r.Set(agents)
	r.Select(fmt.Sprint(random.IntN(40)))
	strip := NewPlanStrip(l)
	strip.Set(steps, []Tasks{{text, render.Dim, steps}})
	st := NewStatus(l)
	st.Set(StatusData{Word: text, Awaited: text, Human: many%2 == 0, Waiting: time.Duration(random.Int64()),
		CostUSD: math.Inf(1), Tokens: random.Int(), Elapsed: time.Duration(random.Int64()),
		Restarts: many, Mode: text, Hint: text, Flash: []string{"", text}[many%2],
		Warnings: []string{text, "REHEARSAL"}[:many%3%3]})
	return []tview.Primitive{o, f, s, p, h, a, r, strip, st}
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
	case *FirstRun:
		p.At(x, y)
		p.Choose()
	case *Sessions:
		p.At(x, y)
		p.Chosen()
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

// drawInside draws a page twice, with random actions in between, and fails if it left its place.
func drawInside(t *testing.T, s tcell.SimulationScreen, p tview.Primitive, w, h int, random *rand.Rand) {
	t.Helper()
	const left, top = 3, 2
	sw, sh := s.Size()
	p.SetRect(left, top, w, h)
	for range 2 {
		s.HideCursor()
		for y := range sh {
			for x := range sw {
				s.Put(x, y, "#", tcell.StyleDefault)
			}
		}
		p.Draw(s)
		for y := range sh {
			for x := 0; x < sw; {
				got, _, width := s.Get(x, y)
				if inside := x >= left && x < left+w && y >= top && y < top+h; !inside && got != "#" ||
					inside && x+width > left+w {
					t.Fatalf("%T of %dx%d: %q at %d,%d", p, w, h, got, x-left, y-top)
				}
				if strings.ContainsFunc(got, unicode.IsControl) {
					t.Fatalf("%T: %q was drawn", p, got)
				}
				x += max(width, 1)
			}
		}
		turn(p, random)
	}
}

func screenOf(t testing.TB, w, h int) tcell.SimulationScreen {
	s := tcell.NewSimulationScreen("UTF-8")
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	s.SetSize(w, h)
	t.Cleanup(s.Fini)
	return s
}

func TestPageAnySize(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	looks := []*render.Look{lookPage(t, "dark", render.Unicode), lookPage(t, "mono", render.ASCII)}
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
