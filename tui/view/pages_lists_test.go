package view

import (
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

func drawAt(t *testing.T, p tview.Primitive, w, h int) (string, tcell.SimulationScreen) {
	s := screenOf(t, w+2, h+1)
	p.SetRect(2, 1, w, h)
	p.Draw(s)
	return textPage(s), s
}

func TestSessionsChooses(t *testing.T) {
	p := NewSessions(lookPage(t, "dark", render.Unicode))
	if _, ok := p.Chosen(); ok {
		t.Error("a run was chosen among none")
	}
	if got, _ := drawAt(t, p, 60, 10); !strings.Contains(got, "No thread waits here.") {
		t.Errorf("without runs:\n%s", got)
	}
	p.Set(runs, pageBegan)
	p.Down(2)
	p.Set(runs[1:], pageBegan)
	if got, _ := p.Chosen(); got.ID != "r-3" {
		t.Errorf("after the list was renewed %q is chosen", got.ID)
	}
	p.Bottom()
	p.Down(9)
	if got, _ := p.Chosen(); got.ID != "r-4" {
		t.Errorf("the end is %q", got.ID)
	}
	p.PageUp()
	p.Top()
	p.Up(3)
	if got, _ := p.Chosen(); got.ID != "r-2" {
		t.Errorf("the top is %q", got.ID)
	}
	p.Set(nil, pageBegan)
	if _, ok := p.Chosen(); ok {
		t.Error("what is gone is chosen")
	}
}

// A click at a row chooses what is drawn there, in every form of the list.
func TestSessionsAt(t *testing.T) {
	for _, size := range [][2]int{{100, 20}, {80, 6}, {50, 20}, {50, 9}, {30, 5}} {
		p := NewSessions(lookPage(t, "dark", render.Unicode))
		p.Set(runs, pageBegan)
		p.Down(2)
		got, _ := drawAt(t, p, size[0], size[1])
		if !strings.Contains(got, "▸") {
			t.Errorf("%v: the choice is out of sight:\n%s", size, got)
		}
		for y, row := range strings.Split(got, "\n") {
			r, ok := p.At(8, y)
			if want := strings.Contains(row, "Give the") || strings.Contains(row, "r-4"); want && !ok {
				t.Errorf("%v: a click on %q is nothing", size, row)
			} else if ok && strings.Contains(row, "r-4") && r.ID != "r-4" || ok && strings.Contains(row, "Give the") &&
				r.ID != "r-1" {
				t.Errorf("%v: a click on %q is %q", size, row, r.ID)
			}
		}
		if _, ok := p.At(0, 4); ok {
			t.Errorf("%v: a click outside is something", size)
		}
	}
}

func TestFirstRunWays(t *testing.T) {
	p := NewFirstRun(lookPage(t, "dark", render.Unicode))
	for lack, want := range map[PageLack][]PageWay{
		NoClaude:  {WayRetry, WayRehearse, WayQuit},
		OddClaude: {WayRetry, WayRehearse, WayQuit},
		LoggedOut: {WayLogin, WayRetry, WayRehearse, WayQuit},
	} {
		p.Set(FirstRunData{Lack: lack, Version: "1.0.3", Problem: "it is too old"})
		p.Top()
		for i, way := range want {
			if got := p.Choose(); got != way {
				t.Errorf("%d: way %d is %q, want %q", lack, i, got, way)
			}
			if got, ok := p.Press(rune(strings.ToUpper(p.ways[i].label)[0])); !ok || got != way {
				t.Errorf("%d: the key of %q is %q", lack, way, got)
			}
			p.Down(1)
		}
		got, _ := drawAt(t, p, 78, 23)
		if lack != LoggedOut && !strings.Contains(got, "npm install -g @anthropic-ai/claude-code") {
			t.Errorf("%d: it does not say how to install it:\n%s", lack, got)
		}
		if !strings.Contains(got, "it is too old") {
			t.Errorf("%d: it does not say what is wrong:\n%s", lack, got)
		}
		for y, row := range strings.Split(got, "\n") {
			if way, ok := p.At(5, y); ok && !strings.Contains(row, " "+string(p.ways[p.at].key)+"  ") {
				t.Errorf("%d: a click on %q is %q", lack, row, way)
			}
		}
	}
	if _, ok := p.Press('z'); ok {
		t.Error("z is a way")
	}
}

// Every choice is visible, or only the current one if there is no room for all.
func TestFirstRunFitsAnyHeight(t *testing.T) {
	for h := 1; h < 30; h++ {
		for at := range 4 {
			p := NewFirstRun(lookPage(t, "dark", render.Unicode))
			p.Set(FirstRunData{Lack: LoggedOut})
			p.Down(at)
			got, s := drawAt(t, p, 40, h)
			if !strings.Contains(got, "▸ "+string(p.ways[at].key)) {
				t.Fatalf("%d rows: way %d is out of sight:\n%s", h, at, got)
			}
			s.Fini()
		}
	}
}

func TestHomeThreads(t *testing.T) {
	p := NewHome(lookPage(t, "dark", render.Unicode))
	p.Set(HomeData{Words: []string{"Speak, mortal."}, Threads: 2, Newest: runs[0], Hint: "Ctrl+R", Now: pageBegan})
	got, _ := drawAt(t, p, 80, 20)
	found := false
	for y, row := range strings.Split(got, "\n") {
		if at := strings.Contains(row, "2 threads"); at != p.ThreadsAt(40, y) {
			t.Errorf("row %d, %q: %v", y, row, !at)
		} else if at {
			found = true
		}
	}
	if !found {
		t.Errorf("no word of the threads:\n%s", got)
	}
	p.Set(HomeData{Words: []string{"Patience."}})
	got, _ = drawAt(t, p, 80, 20)
	if p.ThreadsAt(40, 15) || strings.Contains(got, "thread") {
		t.Errorf("threads where there are none:\n%s", got)
	}
}

// The input and the warnings are dropped last.
func TestHomeInSmallWindows(t *testing.T) {
	for h := 3; h < 40; h++ {
		p := NewHome(lookPage(t, "dark", render.Unicode))
		p.Set(HomeData{Words: []string{"Speak, mortal."}, Findings: findings, Threads: 3, Newest: runs[0], Now: pageBegan,
			Warnings: []string{"ALLOW ALL"}})
		got, s := drawAt(t, p, 60, h)
		if !strings.Contains(got, "Speak, mortal.") || !strings.Contains(got, "ALLOW ALL") {
			t.Fatalf("%d rows:\n%s", h, got)
		}
		s.Fini()
	}
}

func TestHelpShowsAll(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}, {200, 50}} {
		p := NewHelp(lookPage(t, "dark", render.Unicode))
		p.Set("", helpGroups)
		seen := ""
		for range 40 {
			got, s := drawAt(t, p, size[0], size[1])
			seen += got
			s.Fini()
			p.Down(3)
		}
		for _, g := range helpGroups {
			for _, r := range g.Rows {
				if !strings.Contains(seen, r.Keys) || !strings.Contains(seen, strings.Fields(r.Text)[0]) {
					t.Errorf("%v: %q is not to be seen", size, r.Keys)
				}
			}
		}
	}
}

func TestPlanScrolls(t *testing.T) {
	p := NewPlan(lookPage(t, "dark", render.Unicode))
	p.Set(PlanData{Task: "the task", Steps: steps})
	p.Down(1000) // more than there is, before the first draw
	got, _ := drawAt(t, p, 40, 10)
	if !strings.Contains(got, "the task") {
		t.Errorf("what was never drawn was scrolled:\n%s", got)
	}
	p.Bottom()
	got, _ = drawAt(t, p, 40, 10)
	if !strings.Contains(got, "Verify the whole") || !strings.Contains(got, "↑") || strings.Contains(got, "↓") {
		t.Errorf("at the end:\n%s", got)
	}
	p.PageUp()
	p.Up(99)
	p.PageDown()
	p.Top()
	got, _ = drawAt(t, p, 40, 10)
	if !strings.Contains(got, "the task") || strings.Contains(got, "↑") || !strings.Contains(got, "↓") {
		t.Errorf("at the top:\n%s", got)
	}
}
