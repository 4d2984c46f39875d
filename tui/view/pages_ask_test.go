package view

import (
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

func askAt(t *testing.T, w, h int) (*Ask, tcell.SimulationScreen) {
	s := screenOf(t, w, h)
	a := NewAsk(lookPage(t, "dark", render.Unicode))
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
		if _, ok := a.Choose(after(ms)); ok {
			t.Errorf("Enter was taken after %d ms", ms)
		}
		a.Arm(at)
		if _, ok := a.Press('y', after(ms)); ok {
			t.Errorf("y was taken after %d ms", ms)
		}
		a.Arm(at)
		spot := a.spots[0]
		if _, ok := a.Click(spot.x, spot.y, after(ms)); ok {
			t.Errorf("a click was taken after %d ms", ms)
		}
		a.Arm(at)
	}
	if got, ok := a.Press('Y', after(700)); !ok || got != "yes" {
		t.Errorf("Y is %q, %v after 700 ms", got, ok)
	}
	// The dialog ignores a user who continues typing until they pause.
	a.Arm(at)
	for ms := 100; ms <= 3000; ms += 100 {
		if got, ok := a.Press('y', after(ms)); ok {
			t.Fatalf("y, typed among others, answered %q after %d ms", got, ms)
		}
	}
	if _, ok := a.Press('y', after(3650)); ok {
		t.Error("650 ms are not a pause")
	}
	if got, ok := a.Press('y', after(3650+700)); !ok || got != "yes" {
		t.Errorf("after a pause y is %q, %v", got, ok)
	}
}

func TestAskOpenedByHandAnswersAtOnce(t *testing.T) {
	a, s := askAt(t, 80, 24)
	now := time.Unix(100, 0)
	if got, ok := a.Choose(now); !ok || got != "no" {
		t.Errorf("the choice at hand is %q, %v", got, ok)
	}
	if got, ok := a.Press('x', now); ok {
		t.Errorf("x answers %q", got)
	}
	a.Next()
	a.Next()
	if got, _ := a.Choose(now); got != "yes" {
		t.Errorf("two further on is %q: not around the end", got)
	}
	a.Prev()
	if got, _ := a.Choose(now); got != "why" {
		t.Errorf("one back is %q", got)
	}
	a.Draw(s)
	for i, spot := range a.spots {
		if got, ok := a.Click(spot.x+spot.w-1, spot.y, now); !ok || got != permit().Choices[i].Value {
			t.Errorf("a click on choice %d is %q, %v", i, got, ok)
		}
		if got, ok := a.Click(spot.x+spot.w, spot.y, now); ok {
			t.Errorf("a click beside choice %d is %q", i, got)
		}
	}
	a.Set(AskData{Title: "nothing to choose"})
	a.Next()
	if _, ok := a.Choose(now); ok {
		t.Error("nothing was chosen")
	}
}

// Whatever the window, the current choice is visible, and if there is any room, so are all choices and the
// beginning of the question.
func TestAskShowsItsChoices(t *testing.T) {
	for w := 14; w < 130; w += 5 {
		for h := 1; h < 40; h++ {
			a, s := askAt(t, w, h)
			a.Draw(s)
			got := textPage(s)
			if !strings.Contains(got, "▸n Refuse") {
				t.Fatalf("%dx%d: the choice at hand is out of sight\n%s", w, h, got)
			}
			if w >= 40 && h >= 8 {
				for _, want := range []string{"y Allow once", "a Allow for this run", "w Refuse, and say why",
					"go test"} {
					if !strings.Contains(got, want) {
						t.Fatalf("%dx%d: %q is out of sight\n%s", w, h, want, got)
					}
				}
			}
			s.Fini()
		}
	}
}

func TestAskShowsThatThereIsMore(t *testing.T) {
	a, s := askAt(t, 60, 14)
	a.Draw(s)
	if got := textPage(s); !strings.Contains(got, "more lines ↓") {
		t.Errorf("a body that is cut does not say so\n%s", got)
	}
	a.Bottom()
	a.Draw(s)
	got := textPage(s)
	if strings.Contains(got, "more lines") || !strings.Contains(got, "line 12 of the reason") ||
		!strings.Contains(got, "↑") {
		t.Errorf("scrolled to its end:\n%s", got)
	}
	a.Top()
	a.Draw(s)
	if got := textPage(s); !strings.Contains(got, "go test") {
		t.Errorf("scrolled back:\n%s", got)
	}
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
	if calls != 2 {
		t.Errorf("for two widths it was laid out %d times", calls)
	}
}
