package render

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHunks: changes with few lines between them form one hunk with the numbers of a unified diff.
func TestHunks(t *testing.T) {
	numbers := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		old, new string
		want     []string
	}{
		"equal":                {"a\n", "a\n", nil},
		"a new text":           {"", "a\nb\n", []string{"-0,0 +1,2"}},
		"all is gone":          {"a\nb\n", "", []string{"-1,2 +0,0"}},
		"one line":             {numbers(1, 30), numbers(1, 9) + "x\n" + numbers(11, 30), []string{"-7,7 +7,7"}},
		"at the beginning":     {numbers(1, 30), "x\n" + numbers(1, 30), []string{"-1,3 +1,4"}},
		"at the end":           {numbers(1, 30), numbers(1, 30) + "x\n", []string{"-28,3 +28,4"}},
		"two places":           {numbers(1, 30), numbers(2, 29), []string{"-1,4 +1,3", "-27,4 +26,3"}},
		"two that are near":    {numbers(1, 30), numbers(1, 9) + numbers(11, 14) + numbers(16, 30), []string{"-7,12 +7,10"}},
		"what is put in twice": {numbers(1, 3), "x\n" + numbers(1, 3) + "x\n", []string{"-1,3 +1,5"}},
	} {
		var got []string
		for _, h := range Compare(c.old, c.new, "", 3).Hunks {
			got = append(got, h.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestHunksMakeTheNewText from the old one: each hunk replaces its lines, and the lines in between are
// equal.
func TestHunksMakeTheNewText(t *testing.T) {
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		text := func() []string {
			lines := make([]string, rnd.IntN(40))
			for i := range lines {
				lines[i] = string(rune('a' + rnd.IntN(12)))
			}
			return lines
		}
		a, b := text(), text()
		if rnd.IntN(2) == 0 {
			b = slices.Clone(a)
			for range rnd.IntN(4) {
				at := rnd.IntN(len(b) + 1)
				b = slices.Insert(b, at, "new")
			}
		}
		join := func(lines []string) string {
			if len(lines) == 0 {
				return ""
			}
			return strings.Join(lines, "\n") + "\n"
		}
		c := Compare(join(a), join(b), "", rnd.IntN(4))
		var got []string
		at, plus, minus := 0, 0, 0
		for _, h := range c.Hunks {
			got = append(got, a[at:h.Before]...)
			if len(got) != h.After {
				t.Fatalf("seed %d: %v begins at line %d", seed, h, len(got))
			}
			got = append(got, b[h.After:h.After+h.AfterLines]...)
			at, plus, minus = h.Before+h.BeforeLines, plus+h.Added, minus+h.Removed
			if h.First < h.After || h.First > h.After+h.AfterLines {
				t.Fatalf("seed %d: %v differs first in line %d", seed, h, h.First)
			}
		}
		if got = append(got, a[at:]...); join(got) != join(b) {
			t.Fatalf("seed %d: %q becomes %q, not %q", seed, a, got, b)
		}
		if len(a)+plus-minus != len(b) {
			t.Fatalf("seed %d: counted +%d -%d", seed, plus, minus)
		}
	}
}

func TestCleanLines(t *testing.T) {
	clean := func(s string) string { return strings.ReplaceAll(s, "\v", "\n") }
	if got := CleanLines("a\r\nb\vc\n\nd\v", clean); got != "a\nb c\n\nd" {
		t.Errorf("%q", got)
	}
}

// sides1 shows all hunks of a difference, with one line around each.
func sides1(old, new, lang string) (lines []Line) {
	c := Compare(old, new, lang, 1)
	for _, h := range c.Hunks {
		lines = append(lines, c.SideBySide(h, MarkdownOptions{Width: 41})...)
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
