package render

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
