package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"
)

// mouth is a terminal that sends one piece after the other.
type mouth struct {
	tcell.Tty
	pieces []string
	asked  string
}

func (m *mouth) Write(p []byte) (int, error) { m.asked += string(p); return len(p), nil }

func (m *mouth) Read(p []byte) (int, error) {
	if len(m.pieces) == 0 {
		return 0, nil
	}
	n := copy(p, m.pieces[0])
	m.pieces = m.pieces[1:]
	return n, nil
}

// TestBackgroundIsRead: the answer is removed from the input, in whatever pieces it arrives, and
// everything else passes; after the answer nothing is held back any more.
func TestBackgroundIsRead(t *testing.T) {
	white := RGB{R: 255, G: 255, B: 255}
	for _, tt := range []struct {
		pieces  []string
		passes  string
		onColor bool
	}{
		{[]string{"a\x1b]11;rgb:ffff/ffff/ffff\x1b\\b"}, "ab", true},
		{[]string{"\x1b]11;rgb:ff/ff/ff\a"}, "", true},
		{[]string{"x\x1b]1", "1;rgb:ffff/ff", "ff/ffff\x1b", "\\y"}, "xy", true},
		{[]string{"\x1b", "[A"}, "\x1b[A", false},
		{[]string{"\x1b]52;c;aGk=\a"}, "\x1b]52;c;aGk=\a", false},
		{[]string{"\x1b]11;nonsense\x1b\\k"}, "k", false},
		{[]string{"\x1b]11;" + string(make([]byte, 100))}, "\x1b]11;" + string(make([]byte, 100)), false},
		{[]string{"plain"}, "plain", false},
		{[]string{"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;x"}, "\x1b]11;x", true},
	} {
		m := &mouth{pieces: append([]string(nil), tt.pieces...)}
		var got []RGB
		e := &backgroundReader{Tty: m, onColor: func(c RGB) { got = append(got, c) }}
		e.ask()
		if m.asked != askBackground {
			t.Errorf("asked %q", m.asked)
		}
		passes, buf := "", make([]byte, 256)
		for range len(tt.pieces) + 1 {
			n, err := e.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			passes += string(buf[:n])
		}
		if passes != tt.passes {
			t.Errorf("%q: %q passes, want %q", tt.pieces, passes, tt.passes)
		}
		if tt.onColor != (len(got) == 1) || tt.onColor && got[0] != white {
			t.Errorf("%q: heard %v", tt.pieces, got)
		}
	}
	for term, want := range map[string]bool{"xterm-256color": true, "linux": false, "": false, "vt220": false,
		"screen-256color": false, "tmux-256color": true} {
		if asksBackground(term, false) != want {
			t.Errorf("%s is asked: %v", term, !want)
		}
	}
	if !asksBackground("screen-256color", true) {
		t.Error("tmux is not asked")
	}
}

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

// pieces is a terminal that sends bytes in pieces of any size.
type pieces struct {
	tcell.Tty
	in   string
	next func(left int) int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b[:min(p.next(len(p.in)), len(b))], p.in)
	p.in = p.in[n:]
	return n, nil
}

// TestGuardOfPastes: whatever a paste contains and however it arrives, the screen's library sees none of
// it, and everything that was typed before and after it.
func TestGuardOfPastes(t *testing.T) {
	inside := []string{
		"", "a", "words\rand words\r\n\tmore\n", "\x1b[201;1~/quit\r", "\x1b[0201~", "\x1b[201", "\x1b[20\x1b[200~",
		"\x1b]0;never ended", "\x1b_", "\x1bP\x1bX\x1b^", "\x1b[<0;3;3M\x03\x04\x1a\x07", "\u009b201~", "\x9b201~",
		strings.Repeat("\x1b[201;", 1000), "\x1b", "\x1b[", "\x1b\x1b[201\x1b",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 2, 7, 4096} {
		for _, text := range inside {
			g := newGuard(&pieces{
				in:   "k\x1b[A" + "\x1b[200~" + text + "\x1b[201~" + "\x1b[200~again\x1b[201~" + "\x1bOP\r",
				next: func(left int) int { return min(1+r.IntN(most), left) },
			})
			var keys strings.Builder
			for buf := make([]byte, 5); len(g.Tty.(*pieces).in) > 0 || len(g.rest) > 0; {
				n, err := g.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				keys.Write(buf[:n])
			}
			mark := "\x1b[200~" + pastedMark + "\x1b[201~"
			if diff := cmp.Diff("k\x1b[A"+mark+mark+"\x1bOP\r", keys.String()); diff != "" {
				t.Fatalf("%q: what is read differs (-want +got):\n%s", text, diff)
			}
			for _, want := range []string{text, "again"} {
				if p, ok := g.take(); !ok || p.Text != want || p.Size != len(want) {
					t.Fatalf("pasted %q, taken %+v", want, p)
				}
			}
			if p, ok := g.take(); ok {
				t.Fatalf("%q: there is another paste: %+v", text, p)
			}
		}
	}
}

// TestGuardIsBounded: the size of a paste that is too large to keep is reported, and the next one is
// complete.
func TestGuardIsBounded(t *testing.T) {
	g := &guard{}
	chunk := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	g.filter([]byte("\x1b[200~"))
	for range 200 {
		if rest := g.filter(chunk); len(rest) > 0 {
			t.Fatalf("%d bytes of it are handed on", len(rest))
		}
	}
	if g.text.Len() > maxPaste+len(pasteEnds) {
		t.Fatalf("%d bytes are kept", g.text.Len())
	}
	g.filter([]byte("\x1b[201~\x1b[200~next\x1b[201~"))
	for _, want := range []Paste{{Size: 200 << 20}, {Text: "next", Size: 4}} {
		if got, _ := g.take(); got != want {
			t.Errorf("taken %.80s, want %.80s", fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
