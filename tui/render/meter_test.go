package render

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

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
		if diff := cmp.Diff(c.want, l.Meter(c.columns, c.pct, c.level)); diff != "" {
			t.Errorf("Meter(%d, %v, %q) (-want +got):\n%s", c.columns, c.pct, c.level, diff)
		}
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
		if filled < before {
			t.Fatalf("at %v%% the bar is shorter than before", pct)
		}
		before = filled
	}
	if before != 7*2 {
		t.Errorf("a full bar has %d halves", before)
	}
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
			if w := l.Await(now, Dim, Strong).Width(); w != 3 {
				t.Errorf("the dots take %d columns", w)
			}
			if still.Spin(now) != still.Spin(at) || still.Await(now, Dim, Strong).Text() != still.Await(at, Dim,
				Strong).Text() {
				t.Error("something moves that should be still")
			}
		}
		if len(spins) != len(g.Spinner) || len(awaits) != 3 {
			t.Errorf("%d pictures of the spinner, %d of the dots", len(spins), len(awaits))
		}
	}
}

func TestGlyphsAreOneColumn(t *testing.T) {
	for _, g := range []*Glyphs{Unicode, ASCII} {
		all := append([]string{g.Done, g.Current, g.Pending, g.Failed, g.Skipped, g.Gutter, g.Folded, g.Unfolded,
			g.Ellipsis, g.Bullet, g.Arrow, g.Separator, g.Prompt, g.GutterMarked, g.Full, g.Empty, g.Horizontal,
			g.Vertical, g.TopLeft, g.TopRight, g.BottomLeft, g.BottomRight, g.Branch, g.LastLeaf,
			g.Dot, g.DotLit, g.Chosen, g.More, g.Less}, append(g.Parts, g.Spinner...)...)
		for _, s := range all {
			if Width(s) != 1 || g == ASCII && (s[0] < ' ' || s[0] > '~') {
				t.Errorf("%q is not a glyph", s)
			}
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
				if len(lines) > max(h, 0) {
					t.Fatalf("%d rows in %d", len(lines), h)
				}
				for i, line := range lines {
					if line.Width() > w || line.Width() != lines[0].Width() {
						t.Fatalf("row %d takes %d columns of %d", i, line.Width(), w)
					}
				}
				if len(lines) == 0 && w >= 26 && h >= 5 {
					t.Fatalf("nothing in %dx%d", w, h)
				}
			}
		}
		if most < 15 {
			t.Errorf("the largest has %d rows", most)
		}
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
				if a, b := p.values[y*p.columns*2+x], p.values[(y+1)*p.columns*2-1-x]; a != b {
					t.Fatalf("%d rows: dot %d,%d is %d, its mirror image %d", h, x, y, a, b)
				}
			}
		}
		if roles := rolesOf(l.Sigil(200, h)); !roles[Sigil] || !roles[SigilBright] {
			t.Errorf("%d rows: an eye without light", h)
		}
	}
}

func rolesOf(lines []Line) map[Role]bool {
	roles := map[Role]bool{}
	for _, l := range lines {
		for _, s := range l {
			roles[s.Role] = true
		}
	}
	return roles
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
