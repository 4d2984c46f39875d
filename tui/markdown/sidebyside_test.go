package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// sides1 shows all hunks of a difference, with one line around each.
func sides1(old, new, lang string) (lines []render.Line) {
	c := Compare(old, new, lang, 1)
	for _, h := range c.Hunks {
		lines = append(lines, c.SideBySide(h, Options{Width: 41})...)
	}
	return lines
}

// TestSideBySide: lines that were removed and inserted at one place are shown side by side, with the
// unchanged lines around them.
func TestSideBySide(t *testing.T) {
	before := strings.Repeat("same\n", 20) + "\told 世界\ngone\n" + strings.Repeat("end\n", 9)
	after := strings.Repeat("same\n", 20) + "\tnew\n" + strings.Repeat("end\n", 9)
	var got []string
	for _, line := range sides1(before, after, "") {
		if line.Width() > 41 {
			t.Errorf("%q takes %d columns", line.Text(), line.Width())
		}
		got = append(got, strings.TrimRight(line.Text(), " "))
	}
	want := []string{
		"20 same             │20 same",
		"21-    old 世界     │21+    new",
		"22-gone             │",
		"23 end              │22 end",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	long := strings.Repeat("x", 100)
	for _, line := range sides1("", long, "go") {
		if line.Width() > 41 || !strings.HasSuffix(line.Text(), "…") {
			t.Errorf("a long line is shown as %q", line.Text())
		}
	}
	if got := sides1("a\n", "a\n", ""); len(got) != 0 {
		t.Errorf("equal texts: %d lines", len(got))
	}
}
