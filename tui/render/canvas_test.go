package render

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

func testLook(t testing.TB, g *Glyphs) *Look {
	theme := testkit.Must(NewTheme("dark", TrueColor))(t)
	return &Look{Theme: theme, Glyphs: g}
}

func testScreen(t testing.TB, w, h int) tcell.SimulationScreen {
	s := tcell.NewSimulationScreen("UTF-8")
	testkit.OK(t, s.Init())
	s.SetSize(w, h)
	t.Cleanup(s.Fini)
	return s
}

// row returns the text of a row of the screen, a wide character once.
func row(s tcell.Screen, y int) string {
	w, _ := s.Size()
	var b strings.Builder
	for x := 0; x < w; {
		text, _, width := s.Get(x, y)
		b.WriteString(text)
		x += max(width, 1)
	}
	return b.String()
}

// columnsOf returns the number of columns that the characters of a row take.
func columnsOf(s tcell.Screen, y int) (n int) {
	w, _ := s.Size()
	for n < w {
		_, _, width := s.Get(n, y)
		n += max(width, 1)
	}
	return n
}

// hostile contains texts that try to leave their place.
var hostile = []string{
	"plain", "", "世界", "a世b界c", "👩‍👩‍👧‍👦 family", "🇩🇪🇫🇷", "e\u0301e\u0301", "שלום עולם", "مرحبا", "\u202egnirts\u202c",
	"\x1b[31mred\x1b[0m", "\x1b]0;title\a", "\x9b31m", "\u009b31m", "\xff\xfe", "a\tb\tc", "one\ntwo\rthree",
	"\x00\x07\x08\x7f", "[red]tag[-] [\"r\"]", "⸺⸻", "\u0301\u0301",
	strings.Repeat("a\u0301\u0302\u0303\u0304\u0305", 9), "ＦＵＬＬ", "ﷺ", "☺️", "0️⃣", "\u200b\u200d\ufeff", "각각",
	"\U000e0041", "क्षि", "ก็็็",
}

func TestCanvasStaysInside(t *testing.T) {
	s, look := testScreen(t, 14, 5), testLook(t, Unicode)
	for _, text := range hostile {
		for w := range 9 {
			for x := -4; x < 10; x++ {
				fill(s, "#")
				c := On(s, 3, 2, w, 1, look)
				c.Clear(Base)
				c.Text(x, 0, text, Strong)
				c.Line(x, 1, Of(Base, text))
				c.Line(x, -1, Of(Base, text))
				for y := range 5 {
					for X := range 14 {
						got, _, _ := s.Get(X, y)
						testkit.Need(t, y == 2 && X >= 3 && X < 3+w || got == "#",
							"%q at %d in %d columns: %q was drawn at %d,%d", text, x, w, got, X, y)
						testkit.Need(t, !strings.ContainsFunc(got, unicode.IsControl) && utf8.ValidString(got),
							"%q was drawn as %q", text, got)
					}
				}
				if y2 := row(s, 2); Width(y2) != 14 {
					t.Fatalf("%q at %d in %d columns: the row is %q, %d columns", text, x, w, y2, Width(y2))
				}
			}
		}
	}
}

func fill(s tcell.Screen, with string) {
	w, h := s.Size()
	for y := range h {
		for x := range w {
			s.Put(x, y, with, tcell.StyleDefault)
		}
	}
}

func TestCanvasText(t *testing.T) {
	for _, c := range []struct {
		text string
		x    int
		want string
		end  int
	}{
		{"abc", 1, ".abc....", 4},
		{"世界", 0, "世界....", 4},
		{"世界", -1, " 界.....", 3},
		{"abcdefghij", 0, "abcdefgh", 8},
		{"abcdefg世", 0, "abcdefg ", 9},
		{"a\tb", 0, "a   b...", 5},
		{"a\x1b[1mb", 0, "a[1mb...", 5},
		{"\xffa", 0, "\ufffda......", 2},
		{"⸺!", 0, "——!.....", 3},
		{"[red]x", 0, "[red]x..", 6},
	} {
		s := testScreen(t, 8, 1)
		fill(s, ".")
		end := On(s, 0, 0, 8, 1, testLook(t, Unicode)).Text(c.x, 0, c.text, Base)
		if got := row(s, 0); got != c.want && !strings.HasPrefix(c.text, "⸺") {
			t.Errorf("Text(%d, %q) drew %q, want %q", c.x, c.text, got, c.want)
		}
		testkit.Check(t, end == c.end || c.end == c.x+Width(c.text) || strings.HasPrefix(c.text, "⸺"),
			"Text(%d, %q) ended at %d, want %d", c.x, c.text, end, c.end)
	}
	s := testScreen(t, 8, 1)
	On(s, 0, 0, 8, 1, testLook(t, ASCII)).Text(0, 0, "“a” · 2×…", Base)
	testkit.Same(t, "in ASCII", `"a" - 2x`, row(s, 0))
}

// Drawing over one half of a wide character removes the other half: otherwise a terminal would draw the
// whole character over the newer text.
func TestCanvasPartsWideCharacters(t *testing.T) {
	look := testLook(t, Unicode)
	for x, want := range map[int]string{0: "AB世世", 1: " AB 世", 2: "世AB世", 3: "世 AB "} {
		s := testScreen(t, 6, 1)
		c := On(s, 0, 0, 6, 1, look)
		c.Text(0, 0, "世世世", Base)
		c.Sub(x, 0, 2, 1).Text(0, 0, "AB", Base)
		testkit.Same(t, fmt.Sprintf("over column %d", x), want, row(s, 0))
	}
	s := testScreen(t, 6, 1)
	c := On(s, 0, 0, 6, 1, look)
	c.Text(0, 0, "世世世", Base)
	c.Sub(1, 0, 4, 1).Clear(Base)
	testkit.Same(t, "cleared", "      ", row(s, 0))
}

func TestCanvasFrame(t *testing.T) {
	s := testScreen(t, 12, 3)
	c := On(s, 0, 0, 12, 3, testLook(t, Unicode))
	in := c.Frame(Of(Title, "a long title"), Frame)
	in.Text(0, 0, "inside of it", Base)
	for y, want := range []string{"╭─ a lon… ─╮", "│inside of │", "╰──────────╯"} {
		testkit.Same(t, fmt.Sprintf("row %d", y), want, row(s, y))
	}
	for w := range 8 {
		for h := range 5 {
			in := On(testScreen(t, 8, 5), 0, 0, w, h, testLook(t, ASCII)).Frame(Of(Title, "世界世界"), Frame)
			iw, ih := in.Size()
			testkit.Check(t, iw <= max(w-2, 0) && ih <= max(h-2, 0), "a frame of %dx%d has room for %dx%d", w, h, iw, ih)
		}
	}
}

func TestRestyleKeepsText(t *testing.T) {
	s := testScreen(t, 8, 1)
	look := testLook(t, Unicode)
	c := On(s, 0, 0, 8, 1, look)
	c.Text(0, 0, "a世b", Base)
	c.Restyle(-3, 0, 99, Selection)
	c.Restyle(0, 7, 3, Selection)
	testkit.Same(t, "the row is", "a世b    ", row(s, 0))
	for x := range 8 {
		_, style, _ := s.Get(x, 0)
		testkit.Check(t, style == look.Theme.Style(Selection), "column %d was left out", x)
	}
}

func FuzzCanvas(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, i-5, i%7, uint64(i))
	}
	look := testLook(f, Unicode)
	f.Fuzz(func(t *testing.T, text string, x, w int, seed uint64) {
		const columns = 24
		s := testScreen(t, columns, 3)
		fill(s, "#")
		x, w = x%40, (w%columns+columns)%columns
		random := rand.New(rand.NewPCG(seed, 1))
		c := On(s, 4, 1, w, 1, look)
		c.Clear(Base)
		for range 4 {
			c.Sub(random.IntN(8)-2, 0, random.IntN(12), 1).Text(x, 0, text, Role(random.IntN(int(roles))))
			c.Restyle(random.IntN(8)-2, 0, random.IntN(12), Selection)
		}
		for y := range 3 {
			// Neighbours are measured separately: the terminal receives the position of each.
			got := row(s, y)
			testkit.Need(t, columnsOf(s, y) == columns && !strings.ContainsFunc(got, unicode.IsControl) &&
				utf8.ValidString(got), "row %d is %q", y, got)
			for X := range columns {
				got, _, _ := s.Get(X, y)
				inside := y == 1 && X >= 4 && X < 4+w
				testkit.Need(t, inside || got == "#", "%q at %d,%d", got, X, y)
			}
		}
	})
}

func TestMeter(t *testing.T) {
	for _, c := range []struct {
		glyphs  *Glyphs
		columns int
		pct     float64
		level   string
		want    Line
	}{
		{Unicode, 4, 0, "", Line{{"────", MeterEmpty}}},
		{Unicode, 4, 0.1, "", Line{{"╸", Meter}, {"───", MeterEmpty}}},
		{Unicode, 4, 50, "", Line{{"━━", Meter}, {"──", MeterEmpty}}},
		{Unicode, 4, 62.5, "", Line{{"━━╸", Meter}, {"─", MeterEmpty}}},
		{Unicode, 4, 72, "warn", Line{{"━━━", MeterWarn}, {"─", MeterEmpty}}},
		{Unicode, 4, 99.9, "critical", Line{{"━━━╸", MeterBad}}},
		{Unicode, 4, 100, "critical", Line{{"━━━━", MeterBad}}},
		{Unicode, 4, 1e9, "", Line{{"━━━━", Meter}}},
		{Unicode, 4, -3, "", Line{{"────", MeterEmpty}}},
		{Unicode, 4, math.NaN(), "", Line{{"────", MeterEmpty}}},
		{Unicode, 4, math.Inf(1), "", Line{{"━━━━", Meter}}},
		{Unicode, 0, 50, "", nil},
		{ASCII, 5, 50, "", Line{{"###", Meter}, {"..", MeterEmpty}}},
		{ASCII, 5, 99, "", Line{{"####", Meter}, {".", MeterEmpty}}},
	} {
		l := &Look{Glyphs: c.glyphs}
		testkit.Same(t, fmt.Sprintf("Meter(%d, %v, %q)", c.columns, c.pct, c.level), c.want,
			l.Meter(c.columns, c.pct, c.level))
	}
}

func TestMeterGrows(t *testing.T) {
	l, before := &Look{Glyphs: Unicode}, -1
	for pct := 0.0; pct <= 100; pct += 0.25 {
		filled := 0
		for _, s := range l.Meter(7, pct, "") {
			if s.Role == Meter {
				filled += 2*strings.Count(s.Text, Unicode.Full) + strings.Count(s.Text, Unicode.Parts[0])
			}
		}
		testkit.Need(t, filled >= before, "at %v%% the bar is shorter than before", pct)
		before = filled
	}
	testkit.Same(t, "halves of a full bar", 7*2, before)
}

func TestMotion(t *testing.T) {
	at := time.UnixMilli(0)
	for _, g := range []*Glyphs{Unicode, ASCII} {
		l, still := &Look{Glyphs: g}, &Look{Glyphs: g, Still: true}
		spins, awaits := map[string]bool{}, map[string]bool{}
		for i := range 40 {
			now := at.Add(time.Duration(i) * 50 * time.Millisecond)
			spins[l.Spin(now)] = true
			awaits[l.Await(now, Dim, Strong).Text()] = true
			testkit.Same(t, "columns of the dots", 3, l.Await(now, Dim, Strong).Width())
			testkit.Check(t, still.Spin(now) == still.Spin(at) &&
				still.Await(now, Dim, Strong).Text() == still.Await(at, Dim, Strong).Text(),
				"something moves that should be still")
		}
		testkit.Check(t, len(spins) == len(g.Spinner) && len(awaits) == 3, "%d pictures of the spinner, %d of the dots",
			len(spins), len(awaits))
	}
}

func TestGlyphsAreOneColumn(t *testing.T) {
	for _, g := range []*Glyphs{Unicode, ASCII} {
		all := append([]string{g.Done, g.Current, g.Pending, g.Failed, g.Skipped, g.Gutter, g.Folded, g.Unfolded,
			g.Ellipsis, g.Bullet, g.Arrow, g.Separator, g.Prompt, g.GutterMarked, g.Full, g.Empty, g.Horizontal,
			g.Vertical, g.TopLeft, g.TopRight, g.BottomLeft, g.BottomRight, g.Branch, g.LastLeaf,
			g.Dot, g.DotLit, g.Chosen, g.More, g.Less}, append(g.Parts, g.Spinner...)...)
		for _, s := range all {
			testkit.Check(t, Width(s) == 1 && (g != ASCII || s[0] >= ' ' && s[0] <= '~'), "%q is not a glyph", s)
		}
	}
}

func TestSigilFits(t *testing.T) {
	for _, g := range []*Glyphs{Unicode, ASCII} {
		l, most := &Look{Glyphs: g}, 0
		for w := -3; w < 140; w += 3 {
			for h := -3; h < 40; h++ {
				lines := l.Sigil(w, h)
				most = max(most, len(lines))
				testkit.Need(t, len(lines) <= max(h, 0), "%d rows in %d", len(lines), h)
				for i, line := range lines {
					testkit.Need(t, line.Width() <= w && line.Width() == lines[0].Width(),
						"row %d takes %d columns of %d", i, line.Width(), w)
				}
				testkit.Need(t, len(lines) != 0 || w < 26 || h < 5, "nothing in %dx%d", w, h)
			}
		}
		testkit.Check(t, most >= 15, "the largest has %d rows", most)
	}
}

// Left and right are symmetric at every size: the eye looks straight ahead.
func TestSigilIsEven(t *testing.T) {
	l := &Look{Glyphs: Unicode}
	for h := sigilMinRows; h < 30; h++ {
		p := &plate{NewDots(h*7/2&^1, h), float64(h * 7 / 2 &^ 1 * 2), float64(h * 4)}
		p.sigil()
		for y := range p.rows * 4 {
			for x := range p.columns {
				a, b := p.values[y*p.columns*2+x], p.values[(y+1)*p.columns*2-1-x]
				testkit.Need(t, a == b, "%d rows: dot %d,%d is %d, its mirror image %d", h, x, y, a, b)
			}
		}
		roles := map[Role]bool{}
		for _, l := range l.Sigil(200, h) {
			for _, s := range l {
				roles[s.Role] = true
			}
		}
		testkit.Check(t, roles[Sigil] && roles[SigilBright], "%d rows: an eye without light", h)
	}
}

func TestSigilGolden(t *testing.T) {
	var b strings.Builder
	for _, h := range []int{16, 5} {
		fmt.Fprintf(&b, "%d rows\n", h)
		for _, l := range (&Look{Glyphs: Unicode}).Sigil(200, h) {
			b.WriteString(strings.TrimRight(l.Text(), " ") + "\n")
		}
	}
	tuitest.File(t, "sigil", b.String())
}
