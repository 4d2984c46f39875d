package render

import (
	"math/rand/v2"
	"testing"

	"github.com/gdamore/tcell/v2"
)

// putting counts the cells that it receives.
type putting struct {
	tcell.SimulationScreen
	puts int
}

func (p *putting) Put(x, y int, text string, style tcell.Style) (string, int) {
	p.puts++
	return p.SimulationScreen.Put(x, y, text, style)
}

// newPutting is a screen of 20 by 5 cells.
func newPutting(t *testing.T) *putting {
	t.Helper()
	p := &putting{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	if err := p.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Fini)
	p.SetSize(20, 5)
	return p
}

// TestOnlyChangesAreHandedOn: a frame that was cleared and drawn as before sets no cell.
func TestOnlyChangesAreHandedOn(t *testing.T) {
	p := newPutting(t)
	s := newChangesScreen(p)
	frame := func(text string) int {
		before := p.puts
		s.Clear()
		s.PutStrStyled(0, 1, text, tcell.StyleDefault.Bold(true))
		s.Show()
		return p.puts - before
	}
	frame("織機 the loom")
	if n := frame("織機 the loom"); n != 0 {
		t.Errorf("%d cells are drawn though nothing has changed", n)
	}
	if n := frame("織機 the room"); n != 1 {
		t.Errorf("%d cells are drawn for one", n)
	}
	p.SetSize(10, 5)
	p.SetSize(20, 5)
	frame("織機 the room")
	if text, _, _ := p.Get(12, 1); text != "m" {
		t.Errorf("what the screen below forgot is %q", text)
	}
	err := p.PostEvent(tcell.NewEventResize(20, 5)) // which a terminal's screen posts
	if err != nil {
		t.Fatal(err)
	}
	s.PollEvent()
	if n := frame("織機 the room"); n != 100 {
		t.Errorf("%d of 100 cells are drawn after a change of size", n)
	}
	if text, _, _ := p.Get(12, 1); text != "m" {
		t.Errorf("what a change of size took away is %q", text)
	}
}

// TestVeryLargeScreen is drawn on directly, without a second copy.
func TestVeryLargeScreen(t *testing.T) {
	p := newPutting(t)
	p.SetSize(1000, 200)
	s := newChangesScreen(p)
	s.Clear()
	s.PutStr(990, 199, "far away")
	s.Show()
	text, _, _ := p.Get(995, 199)
	if w, h := s.next.Size(); text != "w" || w*h > 0 {
		t.Errorf("%q, and %d by %d cells are kept", text, w, h)
	}
	p.SetSize(20, 5)
	s.Clear()
	s.PutStr(3, 3, "near")
	s.Show()
	if text, _, _ := p.Get(3, 3); text != "n" {
		t.Errorf("on a small one again: %q", text)
	}
}

// TestChangesLookTheSame: whatever is drawn, the screen below looks the same as if it had been drawn on
// directly.
func TestChangesLookTheSame(t *testing.T) {
	direct, below := newPutting(t), newPutting(t)
	s := newChangesScreen(below)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w, h := 5+r.IntN(20), 2+r.IntN(5)
		direct.SetSize(w, h)
		below.SetSize(w, h)
		for _, screen := range []tcell.Screen{direct, s} {
			screen.Clear()
		}
		for range r.IntN(30) {
			x, y := r.IntN(w+4)-2, r.IntN(h+2)-1
			text := []string{"a", "b", "世", "e\u0301", "🧵", " ", "─"}[r.IntN(7)]
			style := []tcell.Style{{}, tcell.StyleDefault.Bold(true), tcell.StyleDefault.Reverse(true)}[r.IntN(3)]
			for _, screen := range []tcell.Screen{direct, s} {
				screen.Put(x, y, text, style)
			}
		}
		direct.Show()
		s.Show()
		for y := range h {
			for x := range w {
				a, as, _ := direct.Get(x, y)
				b, bs, _ := below.Get(x, y)
				if c, cs, _ := s.Get(x, y); a != b || as != bs || a != c || as != cs {
					t.Fatalf("cell %d,%d is %q there, %q below and %q here", x, y, a, b, c)
				}
			}
		}
	}
}
