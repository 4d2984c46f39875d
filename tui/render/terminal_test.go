package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// later is when input arrives for which nothing before it waits any more.
const later = 2 * time.Second

// decode feeds pieces of input that arrive one after the other, and gives up what stays incomplete.
func decode(d *decoder, pieces ...string) string {
	at, out := time.Unix(0, 0), ""
	for _, p := range pieces {
		out += string(d.feed([]byte(p), at))
	}
	return out + string(d.expire())
}

// TestBackgroundIsRead: the answer is removed from the input, in whatever pieces it arrives, and everything else that
// is typed passes. It is taken once.
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
		{[]string{"\x1b]52;c;aGk=\a"}, "", false},
		{[]string{"\x1b]11;nonsense\x1b\\k"}, "k", false},
		{[]string{"\x1b]11;" + strings.Repeat("x", 10_000) + "\x1b\\"}, "", false},
		{[]string{"plain"}, "plain", false},
		{[]string{"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;x"}, "", true},
		{[]string{"\x1b]11;rgb:ff/ff/ff\a\x1b]11;rgb:ff/ff/ff\a"}, "", true},
	} {
		var got []RGB
		d := &decoder{}
		d.listen(func(c RGB) { got = append(got, c) })
		if passes := decode(d, tt.pieces...); passes != tt.passes && len(tt.pieces[0]) < 100 {
			t.Errorf("%q: %q passes, want %q", tt.pieces, passes, tt.passes)
		}
		testkit.Check(t, tt.onColor == (len(got) == 1) && (!tt.onColor || got[0] == white), "%q: heard %v", tt.pieces,
			got)
		testkit.Check(t, d.listens() != tt.onColor, "%q: listens %v", tt.pieces, d.listens())
	}
	for term, want := range map[string]bool{"xterm-256color": true, "linux": false, "": false, "vt220": false,
		"screen-256color": false, "tmux-256color": true} {
		testkit.Check(t, asksBackground(term, false) == want, "%s is asked: %v", term, !want)
	}
	testkit.Same(t, "tmux is not asked", true, asksBackground("screen-256color", true))
}

// TestKeysAreDecoded: what tcell would misread is passed on as the key that it is, or not at all.
func TestKeysAreDecoded(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string // pieces; "" is a pause
		want string
	}{
		"characters":              {[]string{"aé世🧵\t\r\x7f"}, "aé世🧵\t\r\x7f"},
		"half a character":        {[]string{"\xe4\xb8", "\x96"}, "世"},
		"half a character alone":  {[]string{"\xe4\xb8", "", "a"}, "a"},
		"no UTF-8":                {[]string{"\x9b\xffa\xe4\xb8b\xc0\x80\xe9\x1b[A"}, "ab\x1b[A"},
		"Esc":                     {[]string{"\x1b", "", "a"}, "\x1b[27ua"},
		"Esc, at once a key":      {[]string{"\x1ba"}, "\x1ba"},
		"Esc twice":               {[]string{"\x1b\x1b"}, "\x1b[27u\x1b[27u"},
		"Alt with an arrow":       {[]string{"\x1b\x1b[A\x1b\x1bOA\x1b\x1b[5~"}, "\x1b[1;3A\x1b[1;3A\x1b[5;3~"},
		"Esc, Alt with a letter":  {[]string{"\x1b\x1ba"}, "\x1b[27u\x1ba"},
		"Alt, half an F key":      {[]string{"\x1b\x1b[[\x1c"}, "\x1c"},
		"Alt+[":                   {[]string{"\x1b[", "", "a"}, "\x1b[91;3ua"},
		"Alt+]":                   {[]string{"\x1b]", "", "a"}, "\x1b[93;3ua"},
		"Alt+_":                   {[]string{"\x1b_", "", "a"}, "\x1b[95;3ua"},
		"Alt+^":                   {[]string{"\x1b^", "", "a"}, "\x1b[94;3ua"},
		"Alt+Shift+X":             {[]string{"\x1bX", "", "a"}, "\x1b[88;3ua"},
		"Alt+Shift+P":             {[]string{"\x1bP", "", "a"}, "\x1b[80;3ua"},
		"Alt+Shift+O":             {[]string{"\x1bO", "", "a"}, "\x1b[79;3ua"},
		"Alt+Shift+N":             {[]string{"\x1bNa"}, "\x1b[78;3ua"},
		"a reply without its end": {[]string{"\x1b]0;words", "", "a"}, "a"},
		"a reply ended by a key":  {[]string{"\x1b]0;words\x1b[A"}, "\x1b[A"},
		"a reply and Ctrl+C":      {[]string{"\x1b]0;words\x03"}, "\x03"},
		"a reply of a device":     {[]string{"\x1bP1$r0m\x1b\\a\x1b[?62;c\x1b[?2026;2$y"}, "a"},
		"half a key and Ctrl+C":   {[]string{"\x1b[1;\x03"}, "\x03"},
		"an F key of Linux":       {[]string{"\x1b[[A"}, "\x1b[[A"},
		"half an F key of Linux":  {[]string{"\x1b[[\x1c"}, "\x1c"},
		"a mouse":                 {[]string{"\x1b[<0;3;4M\x1b[<0;3;4m"}, "\x1b[<0;3;4M\x1b[<0;3;4m"},
		"steps of the wheel":      {[]string{strings.Repeat("\x1b[<64;3;4M", 1000)}, strings.Repeat("\x1b[<64;3;4M", 6)},
		"pages": {[]string{strings.Repeat("\x1b[5~", 100) + "\x1bOP"},
			strings.Repeat("\x1b[5~", 6) + "\x1bOP"},
		"the wheel to and fro": {[]string{strings.Repeat("\x1b[<64;3;4M\x1b[<65;3;4M", 9)},
			strings.Repeat("\x1b[<64;3;4M\x1b[<65;3;4M", 9)},
		"Ctrl, Russian, kitty":     {[]string{"\x1b[1089::99;5u"}, "\x1b[99;5u"},
		"Ctrl, Russian, old kitty": {[]string{"\x1b[1089;5u"}, "\x1b[99;5u"},
		"Ctrl, Russian, xterm":     {[]string{"\x1b[27;5;1057~"}, "\x1b[99;5u"},
		"Ctrl, Greek":              {[]string{"\x1b[968;5u"}, "\x1b[99;5u"},
		"Ctrl, Hebrew":             {[]string{"\x1b[1489;5u"}, "\x1b[99;5u"},
		"Shift, Russian":           {[]string{"\x1b[1089:1057:99;2u"}, "\x1b[1089;2u"},
		"CapsLock":                 {[]string{"\x1b[99;69u"}, "\x1b[99;5u"},
		"a key released":           {[]string{"\x1b[99;5:3u\x1b[1;5:3A"}, ""},
		"a key repeated":           {[]string{"\x1b[99;5:2u\x1b[1;5:2A"}, "\x1b[99;5u\x1b[1;5A"},
		"media keys":               {[]string{"\x1b[57428u\x1b[57440;2u\x1b[57441u"}, ""},
		"Windows":                  {[]string{"\x1b[65;30;97;1;0;1_\x1b[65;30;97;0;0;1_"}, "\x1b[65;30;97;1;0;1_"},
		"bytes as Windows' keys":   {[]string{"\x1b[0;0;27;1;0;1_\x1b[0;0;91;1;0;1_\x1b[0;0;65;1;0;1_"}, "\x1b[A"},
		"one line at once":         {[]string{"some words\r"}, "some words\r"},
		"lines at once":            {[]string{"some words\r!ls\r", "more", "", "a"}, pasted + "a"},
		"a stray end of a paste":   {[]string{"\x1b[201~a"}, "a"},
	} {
		d, out, at := &decoder{}, "", time.Unix(0, 0)
		for _, p := range c.in {
			if p == "" {
				at = at.Add(later)
				continue
			}
			out += string(d.feed([]byte(p), at))
		}
		if out += string(d.expire()); out != c.want {
			t.Errorf("%s: %q, want %q", name, out, c.want)
		}
	}
}

// TestOtherCharacterSets: bytes that are no UTF-8 pass if the terminal does not use it.
func TestOtherCharacterSets(t *testing.T) {
	testkit.Same(t, "is passed on", "\xe9t\xe9\x1b[A\xff", decode(&decoder{bytes: true}, "\xe9t\xe9", "\x1b[A\xff"))
}

// halts are how terminals report Ctrl+\, the key that halts a run.
var halts = []string{"\x1c", "\x1b[92;5u", "\x1b[27;5;92~", "\x1b[220;43;28;1;8;1_"}

// FuzzDecoder: whatever arrived before, in whatever pieces and with whatever pauses, the key that halts is passed on,
// two seconds later at most.
func FuzzDecoder(f *testing.F) {
	f.Add(uint64(0), []byte("\x1b]0;words"))
	f.Add(uint64(1), []byte("\x1b[200~words"))
	f.Add(uint64(2), []byte("a\rb\r"))
	f.Fuzz(func(t *testing.T, seed uint64, in []byte) {
		r, d, at := rand.New(rand.NewPCG(seed, 3)), &decoder{}, time.Unix(0, 0)
		wait := func(pause time.Duration) (out string) {
			if by := d.deadline(); !by.IsZero() && by.Before(at.Add(pause)) {
				out = string(d.expire())
			}
			at = at.Add(pause)
			return out
		}
		for len(in) > 0 {
			n := min(1+r.IntN(64), len(in))
			d.feed(in[:n], at)
			in = in[n:]
			wait(time.Duration(r.IntN(100)) * time.Millisecond)
		}
		halt := halts[seed%4]
		state, seq := d.state, string(d.seq)
		out := string(d.feed([]byte(halt), at)) + wait(later)
		testkit.Check(t, strings.Contains(out, "\x1c") || strings.Contains(out, key('\\', ctrlKey)),
			"%q is lost in state %d after %q", halt, state, seq)
	})
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
	testkit.OK(t, p.Init())
	t.Cleanup(p.Fini)
	p.SetSize(20, 5)
	return p
}

func putAll(s tcell.Screen, x, y int, text string, style tcell.Style) {
	for width := 0; text != ""; x += width {
		text, width = s.Put(x, y, text, style)
	}
}

// TestOnlyChangesAreHandedOn: a frame that was cleared and drawn as before sets no cell.
func TestOnlyChangesAreHandedOn(t *testing.T) {
	p := newPutting(t)
	s := WrapScreen(p)
	frame := func(text string) int {
		before := p.puts
		s.Clear()
		putAll(s, 0, 1, text, tcell.StyleDefault.Bold(true))
		s.Show()
		return p.puts - before
	}
	frame("織機 the loom")
	testkit.Same(t, "cells are drawn though nothing has changed", 0, frame("織機 the loom"))
	testkit.Same(t, "cells are drawn for one", 1, frame("織機 the room"))
	p.SetSize(10, 5)
	p.SetSize(20, 5)
	frame("織機 the room")
	text, _, _ := p.Get(12, 1)
	testkit.Check(t, text == "m", "what the screen below forgot is %q", text)
	err := p.PostEvent(tcell.NewEventResize(20, 5)) // which a terminal's screen posts
	testkit.OK(t, err)
	s.PollEvent()
	testkit.Same(t, "of 100 cells are drawn after a change of size", 100, frame("織機 the room"))
	text, _, _ = p.Get(12, 1)
	testkit.Check(t, text == "m", "what a change of size took away is %q", text)
}

// TestVeryLargeScreen is drawn on directly, without a second copy.
func TestVeryLargeScreen(t *testing.T) {
	p := newPutting(t)
	p.SetSize(1000, 200)
	s := WrapScreen(p)
	s.Clear()
	putAll(s, 990, 199, "far away", tcell.StyleDefault)
	s.Show()
	text, _, _ := p.Get(995, 199)
	w, h := s.next.Size()
	testkit.Check(t, text == "w" && w*h <= 0, "%q, and %d by %d cells are kept", text, w, h)
	p.SetSize(20, 5)
	s.Clear()
	putAll(s, 3, 3, "near", tcell.StyleDefault)
	s.Show()
	text, _, _ = p.Get(3, 3)
	testkit.Check(t, text == "n", "on a small one again: %q", text)
}

// TestChangesLookTheSame: whatever is drawn, the screen below looks the same as if it had been drawn on
// directly.
func TestChangesLookTheSame(t *testing.T) {
	direct, below := newPutting(t), newPutting(t)
	s := WrapScreen(below)
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

// TestPastesAreTakenOut: whatever a paste contains and however it arrives, the screen's library sees none of
// it, and everything that was typed before and after it.
func TestPastesAreTakenOut(t *testing.T) {
	inside := []string{
		"", "a", "words\rand words\r\n\tmore\n", "\x1b[201;1~/quit\r", "\x1b[0201~", "\x1b[201", "\x1b[20\x1b[200~",
		"\x1b]0;never ended", "\x1b_", "\x1bP\x1bX\x1b^", "\x1b[<0;3;3M\x03\x04\x1a\x07", "\u009b201~", "\x9b201~",
		strings.Repeat("\x1b[201;", 1000), "\x1b", "\x1b[", "\x1b\x1b[201\x1b",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 2, 7, 4096} {
		for _, text := range inside {
			in := "k\x1b[A" + "\x1b[200~" + text + "\x1b[201~" + "\x1b[200~again\x1b[201~" + "\x1bOP\r"
			var pieces []string
			for len(in) > 0 {
				n := min(1+r.IntN(most), len(in))
				pieces, in = append(pieces, in[:n]), in[n:]
			}
			d := &decoder{}
			diff := cmp.Diff("k\x1b[A"+pasted+pasted+"\x1bOP\r", decode(d, pieces...))
			testkit.Need(t, diff == "", "%q: what is read differs (-want +got):\n%s", text, diff)
			for _, want := range []string{text, "again"} {
				p, ok := d.take()
				testkit.Need(t, ok && p.Text == want && p.Size == len(want), "pasted %q, taken %+v", want, p)
			}
			p, ok := d.take()
			testkit.Need(t, !ok, "%q: there is another paste: %+v", text, p)
		}
	}
}

// TestAPasteWithoutAnEnd ends when nothing more arrives; the key that halts, pressed meanwhile, is no part of it.
func TestAPasteWithoutAnEnd(t *testing.T) {
	const motion = "\x1b[<35;3;3M" // of the mouse, which a terminal goes on reporting
	for _, halt := range append([]string{""}, halts...) {
		for _, after := range [][]string{{halt}, {halt, motion}, {motion + halt + motion}} {
			d := &decoder{}
			got := decode(d, append([]string{"\x1b[200~some ", "words"}, after...)...)
			halted := strings.Contains(got, "\x1c") || strings.Contains(got, key('\\', ctrlKey))
			testkit.Check(t, halted == (halt != ""), "%q is read after half a paste and %q", got, after)
			p, ok := d.take()
			testkit.Check(t, ok && strings.HasPrefix(p.Text, "some words") && p.Size == len(p.Text) &&
				(!strings.Contains(p.Text, halt) || halt == ""), "%+v is pasted before %q", p, after)
		}
	}
	d := &decoder{}
	testkit.Same(t, "is read of several lines", pasted, decode(d, "first\r!rm\r", "last"))
	p, ok := d.take()
	testkit.Check(t, ok && p.Text == "first\r!rm\rlast", "%+v is pasted of several lines", p)
}

// TestPastesAreBounded: the size of a paste that is too large to keep is reported, and the next one is
// complete.
func TestPastesAreBounded(t *testing.T) {
	d, at := &decoder{}, time.Unix(0, 0)
	chunk := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	d.feed([]byte("\x1b[200~"), at)
	for range 200 {
		rest := d.feed(chunk, at)
		testkit.Need(t, len(rest) == 0, "%d bytes of it are handed on", len(rest))
	}
	testkit.Need(t, d.text.Len() <= maxPaste+len(pasteEnds), "%d bytes are kept", d.text.Len())
	d.feed([]byte("\x1b[201~\x1b[200~next\x1b[201~"), at)
	for _, want := range []Paste{{Size: 200 << 20}, {Text: "next", Size: 4}} {
		got, _ := d.take()
		testkit.Check(t, got == want, "taken %.80s, want %.80s", fmt.Sprint(got), fmt.Sprint(want))
	}
}

// sized is a terminal that reports a size, as the variables LINES and COLUMNS may make one do.
type sized struct {
	tcell.Tty
	size tcell.WindowSize
}

func (s sized) WindowSize() (tcell.WindowSize, error) { return s.size, nil }

// TestNoSizeIsBelievedBlindly: memory is allocated for each cell.
func TestNoSizeIsBelievedBlindly(t *testing.T) {
	for _, tt := range []struct{ w, h, wantW, wantH int }{
		{80, 24, 80, 24}, {-1, -1, 0, 0}, {1 << 40, 1 << 40, maxColumns, maxRows}, {80, -1, 80, 0},
	} {
		size := tcell.WindowSize{Width: tt.w, Height: tt.h}
		got, err := (&inputTTY{Tty: sized{size: size}}).WindowSize()
		testkit.Check(t, err == nil && got.Width == tt.wantW && got.Height == tt.wantH, "%d × %d: %d × %d, %v", tt.w,
			tt.h, got.Width, got.Height, err)
	}
}
