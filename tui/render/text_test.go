package render

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "世界": 4, "e\u0301": 1, "ae\u0301b": 3, "👩‍👩‍👧‍👦": 2, "🇩🇪": 2, "a\tb": 5, "\ta": 5,
		"abcd\te": 9, "a\x00b": 2, "⸺": 3, "⸻": 4, "ＦＵ": 4, "ﾊ": 1,
	} {
		testkit.Same(t, fmt.Sprintf("Width(%q)", text), want, Width(text))
		got, n := Clip(text, want)
		testkit.Check(t, got == text && n == want, "Clip(%q, %d) = %q, %d", text, want, got, n)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abcdef", 1, "…"}, {"abcdef", 0, ""}, {"abcdef", -1, ""},
		{"世界世界", 5, "世界…"}, {"世界世界", 6, "世界…"}, {"", 0, ""}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		testkit.Same(t, fmt.Sprintf("Shorten(%q, %d)", c.text, c.columns), c.want, Shorten(c.text, c.columns, "…"))
		testkit.Same(t, fmt.Sprintf("Line.Shorten(%q, %d)", c.text, c.columns), c.want,
			Of(Base, c.text).Shorten(c.columns, "…").Text())
	}
	l := Line{{"abc", Strong}, {"def", Dim}, {"ghi", Bad}}
	testkit.Same(t, "", Line{{"abc", Strong}, {"d…", Dim}}, l.Shorten(5, "…"))
	testkit.Same(t, "", Line{{"abc", Strong}, {"…", Dim}}, l.Shorten(4, "…"))
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"", 5, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 100, []string{"one two three"}},
		{"one  two", 4, []string{"one", "two"}},
		{"abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"ab abcdefgh", 4, []string{"ab", "abcd", "efgh"}},
		{"世界世界", 5, []string{"世界", "世界"}},
		{"  indented text", 10, []string{"  indented", "text"}},
		{"        indented", 10, []string{"     inden", "ted"}},
		{"      short", 8, []string{"    shor", "t"}},
		{"a\tb", 10, []string{"a   b"}},
		{"well-known", 6, []string{"well-", "known"}},
		{"and arbiter --resume", 14, []string{"and arbiter", "--resume"}},
		{"add (--no-input)", 12, []string{"add", "(--no-input)"}},
		{"a -well-known", 8, []string{"a", "-well-kn", "own"}},
		{"trailing   ", 20, []string{"trailing"}},
		{"x", 0, []string{"x"}},
	} {
		got := testkit.Each(Wrap(Of(Base, c.text), c.columns), func(l Line) string { return l.Text() })
		testkit.Same(t, fmt.Sprintf("Wrap(%q, %d)", c.text, c.columns), c.want, got)
	}
}

func TestWrapKeepsRoles(t *testing.T) {
	got := Wrap(Line{{"bold", Strong}, {"tail and ", Base}, {"more", Code}, {".", Base}}, 9)
	want := []Line{{{"bold", Strong}, {"tail", Base}}, {{"and ", Base}, {"more", Code}}, {{".", Base}}}
	testkit.Same(t, "a word of two roles was taken apart", want[:1], got[:1])
	for _, l := range got {
		testkit.Check(t, l.Width() <= 9, "%v is too wide", l)
	}
}

func TestCut(t *testing.T) {
	got := testkit.Each(Cut(Line{{"  if a {", Code}, {"\tb 世界", CodeName}}, 6), func(l Line) string { return l.Text() })
	testkit.Same(t, "", []string{"  if a", " {  b ", "世界"}, got)
}

// squeeze removes the characters that wrapping may drop or replace.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, s)
}

func FuzzWrap(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, text, i%9)
		f.Add("a word "+text+" and  more of them", " "+text, 7)
	}
	f.Fuzz(func(t *testing.T, a, b string, columns int) {
		columns %= 50
		l := Line{{a, Base}, {b, Strong}}
		for how, lines := range map[string][]Line{"wrapped": Wrap(l, columns), "cut": Cut(l, columns)} {
			var all strings.Builder
			for _, line := range lines {
				all.WriteString(line.Text())
				clusters := visible(line.Text())
				w := line.Width()
				testkit.Need(t, w <= max(columns, 1) || clusters <= 1 || !utf8.ValidString(a+b) ||
					joinsAtEdge(line, max(columns, 1)), "%s: %q takes %d columns of %d", how, line.Text(), w, columns)
			}
			got, want := squeeze(all.String()), squeeze(a+b)
			testkit.Need(t, got == want || !utf8.ValidString(a) || !utf8.ValidString(b), "%s: %q became %q", how, want,
				got)
		}
		head, n := Clip(a, columns)
		testkit.Need(t, n <= max(columns, 0) && strings.HasPrefix(a, head) && Width(head) == n, "Clip(%q, %d) = %q, %d",
			a, columns, head, n)
		if s := l.Shorten(columns, "…"); l.Width() > columns && s.Width() > max(columns, 0) {
			t.Fatalf("Shorten(%q, %d) = %q", l.Text(), columns, s.Text())
		}
	})
}

// visible counts the clusters that take columns: a single one may be too wide.
func visible(s string) (n int) {
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if g.Width() > 0 {
			n++
		}
	}
	return n
}

// joinsAtEdge reports whether the line is too wide only because clusters that were measured separately
// became one cluster of more columns: a mark or a selector that follows from another span, or after a
// break.
func joinsAtEdge(l Line, columns int) bool {
	w := 0
	for _, s := range l {
		for _, r := range s.Text {
			w += Width(string(r))
		}
	}
	return w <= columns
}

// A model that writes long lines without a space must not block the screen: text is not copied again and
// again as it grows.
func TestLongLinesAreCopiedOnce(t *testing.T) {
	const size = 1 << 16
	for _, unit := range []string{"x", "世", "a ", "a\t", "e\u0301", "\u0301", "\x00", "🇩🇪", "a-", "👩‍👩‍👧 "} {
		line := Of(Base, strings.Repeat(unit, size/len(unit)))
		for _, columns := range []int{20, 1 << 30} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			Wrap(line, columns)
			Cut(line, columns)
			line.Shorten(columns, "…")
			runtime.ReadMemStats(&after)
			if copied := after.TotalAlloc - before.TotalAlloc; copied > 400*size {
				t.Errorf("%d bytes of %q in %d columns: %d bytes were allocated", size, unit, columns, copied)
			}
		}
	}
}
