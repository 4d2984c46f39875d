package render

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// sources are the texts of testdata.
func sources(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.md")
	testkit.Need(t, err == nil && len(paths) != 0, "no texts in testdata %v", err)
	m := map[string]string{}
	for _, path := range paths {
		src := testkit.Must(os.ReadFile(path))(t)
		m[strings.TrimSuffix(filepath.Base(path), ".md")] = string(src)
	}
	return m
}

func TestMarkdown(t *testing.T) {
	for name, src := range sources(t) {
		tuitest.File(t, name+".60", dump(Markdown(src, MarkdownOptions{Width: 60})))
	}
}

// TestMarkdownNarrow: tables as records, and long words broken. TestWidthIsNeverExceeded and TestWordsStayInOrder look
// at the other widths.
func TestMarkdownNarrow(t *testing.T) {
	tuitest.File(t, "everything.24", dump(Markdown(sources(t)["everything"], MarkdownOptions{Width: 24})))
}

func TestMarkdownASCII(t *testing.T) {
	look := &Look{Glyphs: ASCII}
	src := "> - [x] done\n\n- a\n\n---\n\n```go\nx\n```"
	want := "| v done\n\n* a\n\n" + strings.Repeat("-", 20) + "\n\n| go\n| x\n"
	testkit.Same(t, "", want, plainText(Markdown(src, MarkdownOptions{Width: 20, Look: look})))
}

// TestRules are single rules of the layout.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		src, want string
		width     int
	}{
		"a link says where it goes": {src: "[bank.example](https://evil.example)",
			want: "bank.example (https://evil.example)"},
		"but not twice": {src: "[https://a.example](https://a.example) <me@a.example>",
			want: "https://a.example me@a.example"},
		"nor is it hidden by an empty text": {src: "[](https://a.example)", want: "https://a.example"},
		"or behind a picture": {src: "[![alt](https://i.example/x.png)](https://a.example)",
			want: "alt (https://i.example/x.png) (https://a.example)"},
		"nor by what reorders it": {src: "[a](https://a.example/&#x202e;moc)",
			want: "a (https://a.example/moc)"},
		"tags are text": {src: "[red]a[-] [:::https://x.example]b[[ [\"r\"]",
			want: `[red]a[-] [:::https://x.example]b[[ ["r"]`},
		"references are text": {src: "[a][b] [c]\n\n[b]: https://x.example",
			want: "[a][b] [c]\n\n[b]: https://x.example"},
		"HTML is text": {src: "a <b>b</b> <script>x</script>\n\n<div>\n  *x*\n</div>",
			want: "a <b>b</b> <script>x</script>\n\n<div>\n  *x*\n</div>"},
		"addresses in text are links": {src: "see http://localhost:80/x, (file:///a).",
			want: "see http://localhost:80/x, (file:///a)."},
		"unbalanced markers are text":       {src: "a ** b `c [d](e *f", want: "a ** b `c [d](e *f"},
		"escape sequences do not come back": {src: "a&#27;[2J&#155;b&#10;c&#0;", want: "a[2J›b c�"},
		"short lines stay":                  {src: "a\nb", want: "a\nb"},
		"long lines flow": {src: strings.Repeat("word ", 12) + "\nb",
			want: strings.Repeat("word ", 12) + "b", width: 100},
		"without a blank in Chinese": {src: strings.Repeat("字", 30) + "\n字", want: strings.Repeat("字", 31),
			width: 100},
		"numbers count on":           {src: "1. a\n1. b\n\n   c\n1. d", want: "1. a\n2. b\n\n   c\n3. d"},
		"and begin where they do":    {src: "7) a\n7) b", want: "7) a\n8) b"},
		"a list after text":          {src: "a:\n- b\n- c\n\nd", want: "a:\n• b\n• c\n\nd"},
		"not every number is a list": {src: "in the year\n1984. It", want: "in the year\n1984. It"},
		"code in a list": {src: "- a\n\n  ```\n  b\n\n  c\n  ```\n  d\n- e",
			want: "• a\n\n  │ b\n  │\n  │ c\n  d\n• e"},
		"code that begins an item":     {src: "1. ```go\n   x\n   ```\n2. b", want: "1. │ go\n   │ x\n2. b"},
		"code in an item ends with it": {src: "- ```\n  a\nb", want: "• │ a\n\nb"},
		"nested items after code": {src: "- a\n  - b\n    ```\n    c\n    ```\n    d\n  - e",
			want: "• a\n  • b\n    │ c\n    d\n  • e"},
		"code closes only with its mark": {src: "````\n```\n````\nb", want: "│ ```\n\nb"},
		"tabs":                           {src: "```\n\ta\tb\n```", want: "│     a   b"},
		"a rule":                         {src: "a\n\n***\nb", want: "a\n\n────────────────────\n\nb"},
		"a table of one column":          {src: "|a|\n|-|\n|b|", want: "a\n─\nb"},
		"a table without a head's pipe":  {src: "a\n-|-\nb", want: "a\n─  ─\nb"},
		"a table whose cells are missing": {src: "a|b|c|d|e\n-|-|-|-|-\n" + strings.Repeat("x\n", 9),
			want: "a|b|c|d|e\n-|-|-|-|-" + strings.Repeat("\nx", 9)},
		"a table in text":           {src: "x\na|b\n-|-\n1|2", want: "x\n\na  b\n─  ─\n1  2"},
		"missing and surplus cells": {src: "a|b\n-|-\n1\n1|2|3", want: "a  b\n─  ─\n1\n1  2"},
		"columns too narrow for words": {src: "a|b\n-|-\nunbreakable|something",
			want: "a: unbreakable\nb: something"},
		"columns shrunk": {src: "a|b\n-|-\nx y z|some words to wrap",
			want: "a      b\n─────  ─────────────\nx y z  some words to\n       wrap"},
		"records": {src: "alpha|beta|gamma\n-|-|-\n1|long long long text|3\n4||5",
			want: "alpha: 1\nbeta: long\n  long long\n  text\ngamma: 3\n\nalpha: 4\ngamma: 5", width: 15},
		"spaces in code": {src: "`a  b`", want: "a  b"},
		"nothing":        {src: " \n\n\t", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			if c.width == 0 {
				c.width = 20
				if strings.Contains(c.src, "http") || strings.Contains(c.src, "red") ||
					strings.Contains(c.src, "** ") || strings.Contains(c.src, "<b>") {
					c.width = 70
				}
			}
			if c.want != "" {
				c.want += "\n"
			}
			testkit.Same(t, "", c.want, plainText(Markdown(c.src, MarkdownOptions{Width: c.width})))
		})
	}
}

func TestHighlight(t *testing.T) {
	src := testkit.Must(os.ReadFile("testdata/code.txt"))(t)
	var b strings.Builder
	for block := range strings.SplitSeq(string(src), "=== ") {
		lang, code, _ := strings.Cut(block, "\n")
		if lang == "" {
			continue
		}
		lines := Highlight(lang, strings.TrimSuffix(code, "\n"))
		for i, line := range strings.Split(strings.TrimSuffix(code, "\n"), "\n") {
			testkit.Same(t, lang, line, lines[i].Text())
		}
		b.WriteString("=== " + lang + "\n" + dump(lines))
	}
	tuitest.File(t, "code", b.String())
}

// short names the roles a text can have, for the dumps of the tests.
var short = map[Role]string{
	Dim: "dim", Strong: "b", Emphasis: "i", StrongEmphasis: "bi", Strike: "s",
	Heading: "h", Title: "h1", Quote: "q", Link: "a", Code: "code",
	CodeKeyword: "kw", CodeString: "str", CodeComment: "com", CodeNumber: "num",
	CodeName: "name", DiffAdd: "add", DiffRemove: "del", DiffHunk: "hunk",
	Frame: "frame", Good: "good", Pending: "todo",
}

// dump returns the text of lines with their roles: «role|text», plain where it is Base.
func dump(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		for _, s := range l {
			if s.Role == Base {
				b.WriteString(s.Text)
				continue
			}
			b.WriteString("«" + short[s.Role] + "|" + s.Text + "»")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainText returns lines without their roles.
func plainText(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.Text(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

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
		got := testkit.Each(Compare(c.old, c.new, "").Hunks, func(h Hunk) string { return h.String() })
		testkit.Same(t, name, c.want, got)
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
		c := Compare(join(a), join(b), "")
		var got []string
		at, plus, minus := 0, 0, 0
		for _, h := range c.Hunks {
			got = append(got, a[at:h.Before]...)
			testkit.Need(t, len(got) == h.After, "seed %d: %v begins at line %d", seed, h, len(got))
			got = append(got, b[h.After:h.After+h.AfterLines]...)
			at, plus, minus = h.Before+h.BeforeLines, plus+h.Added, minus+h.Removed
			testkit.Need(t, h.First >= h.After && h.First <= h.After+h.AfterLines,
				"seed %d: %v differs first in line %d", seed, h, h.First)
		}
		if got = append(got, a[at:]...); join(got) != join(b) {
			t.Fatalf("seed %d: %q becomes %q, not %q", seed, a, got, b)
		}
		testkit.Need(t, len(a)+plus-minus == len(b), "seed %d: counted +%d -%d", seed, plus, minus)
	}
}

func TestCleanLines(t *testing.T) {
	clean := func(s string) string { return strings.ReplaceAll(s, "\v", "\n") }
	testkit.Same(t, "", "a\nb c\n\nd", CleanLines("a\r\nb\vc\n\nd\v", clean))
}

// sides1 shows all hunks of a difference.
func sides1(old, new, lang string) (lines []Line) {
	c := Compare(old, new, lang)
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
		testkit.Check(t, line.Width() <= 41, "%q takes %d columns", line.Text(), line.Width())
		got = append(got, strings.TrimRight(line.Text(), " "))
	}
	want := []string{
		"18 same             │18 same",
		"19 same             │19 same",
		"20 same             │20 same",
		"21-    old 世界     │21+    new",
		"22-gone             │",
		"23 end              │22 end",
		"24 end              │23 end",
		"25 end              │24 end",
	}
	testkit.Same(t, "", want, got)
	long := strings.Repeat("x", 100)
	for _, line := range sides1("", long, "go") {
		testkit.Check(t, line.Width() <= 41 && strings.HasSuffix(line.Text(), "…"), "a long line is shown as %q",
			line.Text())
	}
	if got := sides1("a\n", "a\n", ""); len(got) != 0 {
		t.Errorf("equal texts: %d lines", len(got))
	}
}
