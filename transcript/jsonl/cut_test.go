package jsonl

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestCut: wherever a text is cut, no part of a word is left at the cut, unless the word is longer than a secret.
func TestCut(t *testing.T) {
	testkit.Same(t, "cut in mid-rune", "a", Cut("aé", 2))
	testkit.Same(t, "before", "", Cut("é", 0))
	testkit.Same(t, "the end in mid-rune", "a", CutFront("éa", 2))
	testkit.Same(t, "nothing", "", CutFront("éa", 0))
	const secret = "made-up+of/4711=looms"
	for _, text := range []string{"it is " + secret + " and more", `{"a":"b","c":"` + secret + `","d":"e"}`} {
		for n := range len(text) {
			head, tail := Cut(text, n), CutFront(text, n)
			testkit.Check(t, len(head) <= n && strings.HasPrefix(text, head), "%d bytes of %q: %q", n, text, head)
			testkit.Check(t, len(tail) <= n && strings.HasSuffix(text, tail), "%d last bytes of %q: %q", n, text, tail)
			for _, part := range []string{head, tail} {
				testkit.Check(t, strings.Contains(part, secret) ||
					!strings.Contains(part, secret[:3]) && !strings.Contains(part, secret[len(secret)-3:]),
					"cut at %d: %q", n, part)
			}
		}
	}
	long := strings.Repeat("y", 3*longWord)
	testkit.Same(t, "a long word", 2*longWord, len(Cut("x "+long, 2*longWord)))
	testkit.Same(t, "the end of a long word", 2*longWord, len(CutFront(long+" x", 2*longWord)))
	testkit.Same(t, "whole lines", "PASSWORD='c d'\nx", CutFront("a b\nPASSWORD='c d'\nx", 18))
	testkit.Same(t, "exactly whole lines", "PASSWORD='c d'\nx", strings.TrimSpace(CutFront("b\nPASSWORD='c d'\nx", 16)))
}

func TestPrivateLines(t *testing.T) {
	const body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
	for name, tt := range map[string]struct{ text, want string }{
		"a key": {"a\n-----BEGIN PRIVATE KEY-----\n" + body + "\nAA==\n-----END PRIVATE KEY-----\nb\n", "..xx.."},
		"encrypted": {"-----BEGIN EC PRIVATE KEY-----\nDEK-Info: a,b\n\n" + body +
			"\n-----END EC PRIVATE KEY-----\nb\n", "...x.."},
		"cut off":          {"-----BEGIN PRIVATE KEY-----\n" + body + "\nand then more.\n" + body + "\n", ".x.."},
		"numbered":         {"1→-----BEGIN PRIVATE KEY-----\n2→" + body + "\n 3\tAA==\n", ".xx"},
		"only mentioned":   {"-----BEGIN PRIVATE KEY-----\nis\n" + body + "\n", "..."},
		"not a secret one": {"-----BEGIN CERTIFICATE-----\n" + body + "\n", ".."},
		"on one line":      {"-----BEGIN PRIVATE KEY-----" + body + "-----END PRIVATE KEY-----\n" + body + "\n", ".."},
	} {
		var keys PrivateLines
		got := ""
		for line := range strings.Lines(tt.text) {
			got += map[bool]string{false: ".", true: "x"}[keys.Hides(strings.TrimSuffix(line, "\n"))]
		}
		testkit.Same(t, name, tt.want, got)
	}
}
