package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// sources are the texts of testdata.
func sources(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatal("no texts in testdata", err)
	}
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
			if lines[i].Text() != line {
				t.Errorf("%s: %q became %q", lang, line, lines[i].Text())
			}
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
