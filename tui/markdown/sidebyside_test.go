package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSideBySide: what was taken away and put in at one place stand beside each other, and what stays is counted.
func TestSideBySide(t *testing.T) {
	before := strings.Repeat("same\n", 20) + "\told 世界\ngone\n" + strings.Repeat("end\n", 9)
	after := strings.Repeat("same\n", 20) + "\tnew\n" + strings.Repeat("end\n", 9)
	var got []string
	for _, line := range SideBySide(before, after, "", Options{Width: 41}, 1) {
		if line.Width() > 41 {
			t.Errorf("%q takes %d columns", line.Text(), line.Width())
		}
		got = append(got, strings.TrimRight(line.Text(), " "))
	}
	want := []string{
		"… 19 lines",
		"20 same             │20 same",
		"21     old 世界     │21     new",
		"22 gone             │",
		"23 end              │22 end",
		"… 8 lines",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	long := strings.Repeat("x", 100)
	for _, line := range SideBySide("", long, "go", Options{Width: 41}, 1) {
		if line.Width() > 41 || !strings.HasSuffix(line.Text(), "…") {
			t.Errorf("a long line is shown as %q", line.Text())
		}
	}
	if got := SideBySide("a\n", "a\n", "", Options{Width: 80}, 3); len(got) != 1 {
		t.Errorf("equal texts: %d lines", len(got))
	}
}
