package jsonl

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Secrets are masked where events are recorded, which may be on another host. What is cut or divided before that must
// stay recognizable: no text may end within a secret, and none may be the middle of one.

const (
	// longWord is how long a word may be that [Cut] leaves out rather than divide it. Secrets are shorter; code without
	// blanks is longer.
	longWord = 1 << 10
	blanks   = " \t\r\n"
	// marks divide code without blanks. Secrets of known formats have none of them.
	marks = "\"'`,;<>(){}[]|&"
)

// Cut shortens s to at most n bytes. It does not divide a rune, and no word unless the word is very long: a part of a
// secret would not be recognized as one.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	from := max(n-longWord, 0)
	for _, borders := range []string{blanks, marks} {
		if i := strings.LastIndexAny(s[from:n+1], borders); i > 0 {
			return s[:min(from+i+1, n)]
		}
	}
	return s[:n]
}

// CutFront is like [Cut], and keeps the end. It begins with a whole line if there is one: the name before a quoted
// secret of several words is on the same line.
func CutFront(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	to := min(from+longWord, len(s)-1)
	for _, borders := range []string{"\n", blanks, marks} {
		// A border just before from counts: the cut is between two lines then.
		if i := strings.IndexAny(s[from-1:to], borders); i >= 0 {
			return s[from+i:]
		}
	}
	return s[from:]
}

// PrivateLines finds the private keys in a text that is passed on line by line: a line of a key does not look like a
// secret. The zero value is ready for use; it has one owner.
type PrivateLines struct{ inKey, body bool }

// keyLine matches a line of a key's body, and one of its headers or an empty one. The line may have a number before it,
// or the mark of a quote or a change.
var keyLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\s*\d*[\t:|>→-])?\s*(?:([A-Za-z0-9+/=]+)["',\s]*|[A-Za-z-]+: .*)?$`)
})

// Hides reports whether a line belongs to a private key that began on an earlier line: it is not to be passed on.
func (p *PrivateLines) Hides(line string) bool {
	const leastBody = 16 // bytes of the first line: a text may only mention a key
	begins, ends := strings.LastIndex(line, "-----BEGIN "), strings.LastIndex(line, "-----END ")
	switch {
	case begins >= 0 && strings.Contains(line[begins:], "PRIVATE KEY"):
		*p = PrivateLines{inKey: ends < begins}
		return false
	case !p.inKey:
		return false
	}
	is := keyLine().FindStringSubmatch(line)
	switch {
	case ends >= 0, is == nil:
		*p = PrivateLines{}
	case is[1] != "" && (p.body || len(is[1]) >= leastBody):
		p.body = true
		return true
	case is[1] != "" || p.body && strings.TrimSpace(line) != "":
		*p = PrivateLines{}
	}
	return false
}
