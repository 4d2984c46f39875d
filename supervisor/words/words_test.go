package words

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(-1234567), "-1,234,567"}, {Number(123), "123"}, {Number(int64(1000)), "1,000"},
		{Count(1, "line"), "1 line"}, {Count(2, "process"), "2 processes"}, {Count(0, "line"), "0 lines"},
		{Count(0, "crash"), "0 crashes"}, {Count(1234, "line"), "1,234 lines"},
		{Tokens(-4), "0"}, {Tokens(999), "999"}, {Tokens(1000), "1k"}, {Tokens(1250), "1.2k"}, {Tokens(9_949), "9.9k"},
		{Tokens(84_400), "84k"},
		{Tokens(142_000), "142k"}, {Tokens(999_499), "999k"}, {Tokens(999_500), "1M"}, {Tokens(1_250_000), "1.2M"},
		{Tokens(2_000_000), "2M"},
		{Bytes(912), "912 B"}, {Bytes(83_500), "84 kB"}, {Bytes(1_204_332), "1.2 MB"},
		{Bytes(int64(3_000_000_000)), "3.0 GB"},
		{Size(-1), "-1 B"}, {Size(1023), "1023 B"}, {Size(1536), "1.5 KiB"}, {Size(3 << 30), "3.0 GiB"},
		{Size(1 << 52), "4096.0 TiB"},
	} {
		testkit.Same(t, "", c.want, c.got)
	}
}

func TestSlips(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "pause", 5}, {"pause", "pause", 0}, {"puase", "pause", 1}, {"pase", "pause", 1},
		{"paause", "pause", 1}, {"pawse", "pause", 1}, {"help", "halt", 2}} {
		testkit.Same(t, fmt.Sprintf("%s, %s", c.a, c.b), c.want, Slips(c.a, c.b))
	}
}

func TestQuote(t *testing.T) {
	for text, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "": "''", "a b": "'a b'", "it's": `'it'\''s'`,
		"$(x)": "'$(x)'", "a;b": "'a;b'"} {
		testkit.Same(t, text, want, Quote(text))
	}
	testkit.Same(t, "several", "ssh -o 'ProxyCommand x' ''", Quote("ssh", "-o", "ProxyCommand x", ""))
}

func TestHead(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"", 0, ""}, {"ab", 2, "ab"}, {"abc", 2, "ab\n(cut)"}, {"a長", 3, "a\n(cut)"}} {
		testkit.Same(t, fmt.Sprintf("Head(%q, %d) =", c.text, c.n), c.want, Head(c.text, c.n))
	}
}

func TestQuoteLines(t *testing.T) {
	for text, want := range map[string]string{"a": "| a", "a\r\nb\n": "| a\n| b\n| ", "a\u2028| b": "| a\n| | b"} {
		testkit.Same(t, text, want, QuoteLines(text))
	}
	testkit.Same(t, "cited", "a b c", Cite(" a\vb\n\n c "))
}

func TestTitle(t *testing.T) {
	for task, want := range map[string]string{
		"":                            "",
		"Make a thing\nand another":   "Make a thing",
		"\n  # A lighthouse\n\nTall.": "A lighthouse",
		"#42 is broken":               "#42 is broken",
		"---\n***\nAfter rules":       "After rules",
		Requirements("R.md", "# A lighthouse\n\nIt must be tall.\n"):                 "A lighthouse",
		Requirements("R.md", "It must be tall."):                                     "It must be tall.",
		"Build this\n\n" + Requirements("R.md", "# A lighthouse"):                    "Build this",
		Requirements("R.md", Requirements("inner.md", "twice")):                      "Requirements (inner.md):",
		Requirements("R.md", "###\n"):                                                "",
		Requirements("R.md", "Written in May.\n\n## A lighthouse\n# More"):           "A lighthouse",
		Requirements("R.md", "---\ntitle: x\n---\n# A lighthouse"):                   "A lighthouse",
		Requirements("R.md", "Run it:\n```\n# as root\nmake\n```\nA lighthouse"):     "Run it:",
		Requirements("R.md", "Run it:\n~~~\n# as root\n```\n~~~\n# A lighthouse"):    "A lighthouse",
		Requirements("R.md", "A lighthouse\n"+strings.Repeat("\n", 1000)+"# Behind"): "A lighthouse",
		"Two things\n# A heading":                                                    "Two things",
	} {
		testkit.Same(t, fmt.Sprintf("%q is called", task), want, Title(task))
	}
}

// TestRules: what a rule allows.
func TestRules(t *testing.T) {
	for rule, want := range map[string]string{
		"Bash(go test *)":              "every command that begins with `go test` (its options can run programs)",
		"Bash(go test:*)":              "every command that begins with `go test` (its options can run programs)",
		"Bash(npm*)":                   "every command that begins with `npm` (its options can run programs)",
		"Bash(git * main)":             "every command of the form `git * main` (its options can run programs)",
		"Bash(touch a)":                "exactly this line",
		"Bash":                         "every use of the tool Bash",
		"Read(//tmp/**)":               "reading everything under /tmp",
		"Read(//**)":                   "reading everything under /",
		"Read(//etc/passwd)":           "reading /etc/passwd",
		"Edit(//w/**)":                 "all edits under /w",
		"Edit(//w/a.go)":               "edits of /w/a.go",
		"Edit(src/**)":                 "all edits under src",
		"Edit":                         "every use of the tool Edit, everywhere on this machine",
		"mcp__s__t":                    "every use of the tool mcp__s__t",
		"mcp__s":                       "every use of the tool mcp__s",
		"mcp__s__*":                    "every use of the tool mcp__s__*",
		"mcp__s__get_*":                "every use of the tool mcp__s__get_*",
		"WebFetch(domain:example.com)": "every use of the tool WebFetch for example.com",
		"WebFetch":                     "every use of the tool WebFetch",
		"Skill(pdf)":                   "every use of the tool Skill for pdf",
		"Agent(Explore)":               "every use of the tool Agent for Explore",
		"Bash(":                        "what the rule Bash( allows",
	} {
		testkit.Same(t, rule, want, Rules(rule))
	}
}
