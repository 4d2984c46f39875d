package render

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// hostileMarkdown returns texts that try to take too much time or room, or to leave their place.
func hostileMarkdown(n int) map[string]string {
	m := map[string]string{
		"no spaces":      strings.Repeat("x", n),
		"no spaces, CJK": strings.Repeat("語", n/3),
		"no spaces, RTL": strings.Repeat("ע", n/2),
		"emoji":          strings.Repeat("👩‍👩‍👧", n/18),
		"flags":          strings.Repeat("🇩🇪", n/8),
		"marks":          strings.Repeat("e\u0301\u0301\u0301\u0301", n/9),
		"tabs":           strings.Repeat("\t", n),
		"tabs in code":   "```\n" + strings.Repeat("\t", n) + "\n```",
		"lines":          strings.Repeat("\n", n),
		"short lines":    strings.Repeat("a\n", n/2),
		"fences":         strings.Repeat("```\n", n/4),
		"one fence":      "```go\n" + strings.Repeat("/*\"`'\n", n/6),
		"long code":      "```go\n" + strings.Repeat("x(\"y\") ", n/7),
		"table":          "|a|b|\n|-|-|\n" + strings.Repeat("|1|`2`|\n", n/8),
		"wide table": strings.Repeat("|a", n/4) + "\n" + strings.Repeat("|-", n/4) + "\n" +
			strings.Repeat("|\n", 100),
		"broad rows": strings.Repeat("|a", 40) + "\n" + strings.Repeat("|-", 40) + "\n" +
			strings.Repeat("x\n", n/2),
		"rows of rows":   strings.Repeat("a|b\n-|-\n", n/8),
		"escaped pipes":  "|a|b|\n|-|-|\n" + strings.Repeat("|`\\|`|x|\n", n/9),
		"long heading":   "# " + strings.Repeat("*a_ ", n/4),
		"nested list":    nestedList(n),
		"items":          strings.Repeat("- a\n", n/4),
		"loose items":    strings.Repeat("1. a\n\n", n/6),
		"one long item":  "- a\n" + strings.Repeat("  - *b*\n", n/8),
		"one long quote": strings.Repeat("> *a* b\n", n/8),
		"definitions":    strings.Repeat("[a]: b\n", n/7),
		"HTML":           strings.Repeat("<div>\n", n/6),
		"indented code":  strings.Repeat("    a\n", n/6),
		"lazy":           "> " + strings.Repeat("a\n", n/2),
	}
	for _, s := range []string{
		"> ", "- ", "1. ", "* ", "*", "**", "_", "`", "``", "~~", "[", "]", "![", "](", "[]()", "<", "<!--", "<a", "&",
		"&amp;", "\\", "#", "-", "=", "|", "|-", "*a ", "a* ", "*a_ ", "**a *b ", "_a ",
		"`a``", "[a](", "[a](b ", "[a][", "~~a ", "http://", "http://a.b(", "www.", "<http://a", "a@b ", "**`", "*[",
		"- > ", "> - ", "+ 1. > ", "<?", "<![CDATA[", "&#1;", "[red]", "[:::https://x]", "[[", `["r"]`, ":-|", "- [ ] ",
		"-\t", ">\t",
	} {
		m[s] = strings.Repeat(s, n/len(s))
	}
	return m
}

// nestedList is a list in a list in a list.
func nestedList(n int) string {
	var b strings.Builder
	for depth := 0; b.Len() < n; depth++ {
		b.WriteString(strings.Repeat("  ", depth) + "- a\n")
	}
	return b.String()
}

// narrow fails if a line is wider than allowed.
func narrow(t testing.TB, lines []Line, width int) {
	t.Helper()
	for i, l := range lines {
		w := l.Width()
		testkit.Need(t, w <= width, "line %d takes %d of %d columns: %q", i, w, width, l)
		testkit.Need(t, !strings.ContainsAny(l.Text(), "\n\t\r\x1b"), "line %d: %q", i, l)
	}
}

func TestWidthIsNeverExceeded(t *testing.T) {
	size := 500
	if testkit.AtNight() {
		size = 1500
	}
	texts := hostileMarkdown(size)
	for name, src := range sources(t) {
		texts[name] = src
	}
	for name, src := range texts {
		src = sanitize.Text(src)
		for _, width := range []int{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 20, 40, 80, 200} {
			o := MarkdownOptions{Width: width}
			lines := Markdown(src, o)
			narrow(t, lines, max(width, 1))
			narrow(t, new(MarkdownStream).Set(src, o), max(width, 1))
			narrow(t, Diff(src[:len(src)/2], src[len(src)/3:], "go", o), max(width, 1))
			testkit.Check(t, width <= 3 || strings.TrimSpace(src) == "" || len(lines) != 0,
				"%s: no part of it is shown", name)
		}
	}
}

// TestHostileTextsEnd lays out large amounts of each hostile text: with quadratic time it would not end
// while tests run, and would need more memory.
func TestHostileTextsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	size := 1 << 16
	if testkit.AtNight() {
		size = 1 << 18
	}
	for name, src := range hostileMarkdown(size) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		Markdown(src, MarkdownOptions{Width: 80})
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		testkit.Check(t, n <= 4<<10*uint64(len(src)), "%q: %d bytes were allocated for %d", name, n, len(src))
	}
}

// TestMegabyteLine streams one long line, in prose and in code.
func TestMegabyteLine(t *testing.T) {
	for _, begin := range []string{"", "- ", "> ", "# ", "|", "```\n"} {
		src := begin + strings.Repeat("x", 1<<20)
		o := MarkdownOptions{Width: 80}
		var s MarkdownStream
		for at := 0; at < len(src); at += 1 << 18 {
			s.Set(src[:at], o)
		}
		lines := s.Set(src+"\n", o)
		narrow(t, lines, 80)
		testkit.Same(t, fmt.Sprintf("%q: what is shown", begin), 1<<20, strings.Count(plainText(lines), "x"))
	}
}

// TestNesting: a nesting depth of 10,000 is shown, and quickly.
func TestNesting(t *testing.T) {
	const deep = 10_000
	for name, src := range map[string]string{
		"quotes":   strings.Repeat(">", deep) + " bottom",
		"lists":    strings.Repeat("- ", deep) + "bottom",
		"emphasis": strings.Repeat("*", deep) + "bottom" + strings.Repeat("*", deep),
		"strong":   strings.Repeat("**a ", deep) + "bottom" + strings.Repeat("**", deep),
		"links":    strings.Repeat("[", deep) + "bottom" + strings.Repeat("](x)", deep),
		"mixed":    strings.Repeat("> - 1. ", deep) + "bottom",
	} {
		for _, width := range []int{1, 10, 80} {
			lines := Markdown(src, MarkdownOptions{Width: width})
			narrow(t, lines, width)
			var all strings.Builder
			for _, l := range lines {
				all.WriteString(strings.TrimSpace(l.Text()))
			}
			testkit.Check(t, strings.Contains(all.String(), "bottom"), "%s: the bottom is not shown", name)
		}
	}
}

// TestWordsStayInOrder: every word of plain prose is shown, in order.
func TestWordsStayInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abcdefgäß語字ע.,;?!'\"()-:/")
	for range map[bool]int{false: 100, true: 300}[testkit.AtNight()] {
		var b strings.Builder
		for range r.IntN(3000) {
			switch n := r.IntN(60); {
			case n < 1:
				b.WriteString("\n\n")
			case n < 4:
				b.WriteString("\n")
			default:
				b.WriteString(" ")
			}
			b.WriteByte(byte('a' + r.IntN(26))) // a word does not begin with a marker
			for range r.IntN(12) {
				b.WriteRune(letters[r.IntN(len(letters))])
			}
		}
		src := b.String()
		want := joined(src)
		if got := joined(plainText(Markdown(src, MarkdownOptions{Width: 200}))); got != want {
			t.Fatal(cmp.Diff(want, got))
		}
	}
}

// joined is a text without blanks.
func joined(s string) string { return strings.Join(strings.Fields(s), "") }

// TestStreamIsMarkdown: in whatever pieces a text arrives, the final result equals that of the whole text.
func TestStreamIsMarkdown(t *testing.T) {
	check := func(name, src string, width int, deltas ...int) {
		t.Helper()
		r := rand.New(rand.NewPCG(3, 4))
		o := MarkdownOptions{Width: width}
		want := dump(Markdown(src+"\n", o))
		for _, most := range deltas {
			var s MarkdownStream
			for at := 0; at < len(src); {
				at = min(at+1+r.IntN(most), len(src))
				lines := s.Set(src[:at], o)
				narrow(t, lines[max(len(lines)-50, 0):], width)
			}
			if got := dump(s.Set(src+"\n", o)); got != want {
				t.Fatalf("%q in pieces of up to %d at width %d:\n%s", name, most, width, cmp.Diff(want, got))
			}
		}
	}
	texts, all := hostileMarkdown(400), testkit.AtNight()
	for name, src := range sources(t) {
		check(name, src, 1, 7)
		check(name, src, 30, 1, 300)
		if all {
			check(name, src, 1, 1)
		}
	}
	for i, name := range slices.Sorted(maps.Keys(texts)) {
		src := texts[name]
		if i%8 == 0 || all {
			check(name, src, 1, 2, 50)
		}
		if i%8 == 1 || all {
			check(name, src, 30, 1, 7)
		}
	}
	for name, src := range hostileMarkdown(30_000) {
		check(name, src, 30, 5000)
	}
}

// mixture puts elements of Markdown in any order.
func mixture(r *rand.Rand) string {
	tokens := []string{
		"\n", "\n", "\n", "\n\n", " ", "  ", "    ", "\t", "a", "word", "語", "ע", "👩‍👩‍👧", "\u0301", "*", "**", "_",
		"~~", "`", "``", "```", "```go", "~~~", "> ", ">", "- ", "-", "+ ", "1. ", "2) ", "10. ", "# ", "### ", "---",
		"===", "***", "|", "|-|", "|-|-|", "|a|b|", ":-:", "[", "](", "](x)", "]", ")", "![", "<", ">", "<b>", "<div>",
		"<!--", "-->", "&amp;", "&#27;", "\\", "http://a.b/c", "[ ] ", "[x] ", "[red]", "\"", "'", "/*", "*/", "//",
	}
	var b strings.Builder
	for range r.IntN(80) {
		b.WriteString(tokens[r.IntN(len(tokens))])
	}
	return b.String()
}

// TestStreamIsMarkdownOnceClosed: after a blank line, the text before it is final.
func TestStreamIsMarkdownOnceClosed(t *testing.T) {
	for name, src := range sources(t) {
		var s MarkdownStream
		o := MarkdownOptions{Width: 60}
		for i := range len(src) {
			got := s.Set(src[:i], o)
			if !strings.HasSuffix(src[:i], "\n\n") {
				continue
			}
			d := cmp.Diff(dump(Markdown(src[:i], o)), dump(got))
			testkit.Need(t, d == "", "%s after %d bytes:\n%s", name, i, d)
		}
	}
}

// TestStreamOfAnotherText starts again if the text or the options change.
func TestStreamOfAnotherText(t *testing.T) {
	var s MarkdownStream
	for _, c := range []struct {
		src   string
		width int
	}{{"# a\n\nb\n\nc", 20}, {"# a\n\nb\n\nc *d* e f g", 20}, {"# a\n\nb\n\nc *d* e f g", 8}, {"# x\n\nb\n\nc", 8},
		{"", 8}, {"y", 8}, {"- ```\n  one two three\n  a\n  ```\n  - ```\n    one two three\n    a", 16},
		{"- ```\n  one two three\n  a\n  ```\n  - ```\n    one two three\n    a b", 16}} {
		o := MarkdownOptions{Width: c.width}
		testkit.Same(t, c.src, dump(Markdown(c.src, o)), dump(s.Set(c.src, o)))
	}
}

// TestUnclosedElements: what has arrived of an element is shown as it is, and looks different once the element is
// closed. Nothing has to guess how the text goes on. Only a line of markers is not shown before it ends, because it
// would change the text above it.
func TestUnclosedElements(t *testing.T) {
	for src, want := range map[string]string{
		"a **bo":               "a **bo",
		"a **bold*":            "a *«i|bold»",
		"a **bold**":           "a «b|bold»",
		"a *":                  "a *",
		"2 * 3":                "2 * 3",
		"a `co":                "a `co",
		"a ~~b":                "a ~~b",
		"snake_case_na":        "snake_case_na",
		"[a](https://x.ex":     "[a](«a|https://x.ex»",
		"[a](https://x.ex)":    "«a|a» («a|https://x.ex»)",
		"**b** c":              "«b|b» c",
		"- *a":                 "«dim|• »*a",
		"> **a":                "«q|│ »«q|**a»",
		"# a *b":               "«h1|a *b»",
		"a\n-":                 "a",
		"a\n- b":               "a\n«dim|• »b",
		"a\n-\n":               "«h|a»",
		"a\n#":                 "a",
		"a\n``":                "a",
		"```go\nx":             "«frame|│ »«dim|go»\n«frame|│ »«code|x»",
		"```\nx\n``":           "«frame|│ »«code|x»",
		"```\nx\n```":          "«frame|│ »«code|x»",
		"|a|b|\n|-":            "|a|b|",
		"|a|b|\n|-|-|\n":       "«b|a»  «b|b»\n«frame|─  ─»",
		"|a|b|\n|-|-|\n|c":     "«b|a»  «b|b»\n«frame|─  ─»\nc",
		"a **b\n\nc":           "a **b\n\nc",
		"    code *a":          "«frame|│ »«code|code *a»",
		"<b>*a":                "<b>*a",
		"a \\*b":               "a *b",
		"1. a\n   ```\n   x*y": "«dim|1. »a\n   «frame|│ »«code|x*y»",
	} {
		var s MarkdownStream
		got := strings.TrimRight(dump(s.Set(src, MarkdownOptions{Width: 40})), "\n")
		testkit.Same(t, src, want, got)
	}
}

func TestDiff(t *testing.T) {
	same := "}\n\n// b\n// c\n// c\n// c\n// d\n// e\nfunc b() {}\n"
	old := "package x\n\nfunc a() {\n\treturn 1\n" + same
	edited := "package x\n\nfunc a() {\n\treturn 2 // two\n" + same + "func c() {}\n"
	tuitest.File(t, "diff", dump(Diff(old, edited, "go", MarkdownOptions{Width: 24}))+
		dump(Diff("", "a\nb\n", "", MarkdownOptions{Width: 24}))+dump(Diff("a\nb", "", "", MarkdownOptions{Width: 24}))+
		dump(Diff("a\nb\n", "a\nb\n", "", MarkdownOptions{Width: 24})))
}

// TestCompare: the edits turn one text into the other, and are few where few suffice.
func TestCompare(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	text := func(n, kinds int) []string {
		s := make([]string, n)
		for i := range s {
			s[i] = string(rune('a' + r.IntN(kinds)))
		}
		return s
	}
	for range 5000 {
		a := text(r.IntN(40), 1+r.IntN(20))
		b := slices.Clone(a)
		changes := r.IntN(6)
		for range changes {
			if len(b) == 0 || r.IntN(2) == 0 {
				b = slices.Insert(b, r.IntN(len(b)+1), text(1, 20)...)
			} else {
				i := r.IntN(len(b))
				b = slices.Delete(b, i, i+1)
			}
		}
		var gotA, gotB []string
		for _, e := range compare(a, b) {
			switch e.op {
			case removed:
				gotA = append(gotA, a[e.a:e.a+e.n]...)
			case added:
				gotB = append(gotB, b[e.b:e.b+e.n]...)
			case same:
				gotA, gotB = append(gotA, a[e.a:e.a+e.n]...), append(gotB, b[e.b:e.b+e.n]...)
				testkit.Need(t, slices.Equal(a[e.a:e.a+e.n], b[e.b:e.b+e.n]), "%q %q: not the same: %v", a, b, e)
			}
		}
		testkit.Need(t, slices.Equal(a, gotA) && slices.Equal(b, gotB), "%q, %q became %q, %q", a, b, gotA, gotB)
	}
}

// TestDiffOfMuch is bounded in output and time.
func TestDiffOfMuch(t *testing.T) {
	o := MarkdownOptions{Width: 40}
	lines := Diff(strings.Repeat("a\n", 200_000), strings.Repeat("b\n", 200_000), "", o)
	testkit.Check(t, len(lines) == maxDiffRows+1 && lines[maxDiffRows].Text() == "… 398000 lines more",
		"%d lines, the last is %q", len(lines), lines[len(lines)-1].Text())
	r := rand.New(rand.NewPCG(7, 8))
	shuffled := make([]string, 100_000)
	for i := range shuffled {
		shuffled[i] = strings.Repeat("x", r.IntN(300))
	}
	before := strings.Join(shuffled, "\n")
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	narrow(t, Diff(before, strings.Join(shuffled, "\n"), "go", o), 40)
}

func FuzzMarkdown(f *testing.F) {
	for _, src := range sources(f) {
		f.Add(src, 30, 7)
	}
	for _, src := range hostileMarkdown(60) {
		f.Add(src, 9, 3)
	}
	r, rounds := rand.New(rand.NewPCG(9, 10)), 1000
	if testkit.AtNight() {
		rounds = 3000
	}
	for range rounds {
		f.Add(mixture(r), r.IntN(30), r.IntN(12))
	}
	f.Fuzz(func(t *testing.T, src string, width, step int) {
		src = sanitize.Text(src)
		width, step = 1+(width&0xff), 1+(step&0x3f)
		if len(src) > 8<<10 {
			return
		}
		step = max(step, len(src)/64)
		o := MarkdownOptions{Width: width}
		want := Markdown(src, o)
		narrow(t, want, width)
		var s MarkdownStream
		for at := step; at < len(src); at += step {
			narrow(t, s.Set(src[:at], o), width)
		}
		d := cmp.Diff(dump(Markdown(src+"\n", o)), dump(s.Set(src+"\n", o)))
		testkit.Need(t, d == "", "%v", d)
		narrow(t, Diff(src, src[len(src)/2:], "go", o), width)
		for i := range languages {
			lang := strings.Fields(languages[i].names)[0]
			for j, line := range Highlight(lang, src) {
				want := strings.TrimRight(strings.Split(src, "\n")[j], "\r")
				testkit.Need(t, line.Text() == want, "%s: %q became %q", lang, want, line.Text())
			}
		}
	})
}
