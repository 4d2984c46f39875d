package history

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNoteLength is more than the length of a note.
const maxNoteLength = 64

// leftOut returns the note that replaces what was omitted.
func leftOut(n int, of string) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return "… " + b.String() + " " + of + " left out …"
}

// shorten keeps about n bytes of s, the beginning and a bit of the end, whole lines if they are short, and
// notes what it omitted.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n < maxNoteLength {
		return leftOut(len(s), "bytes")
	}
	const line = 200
	head, tail := n/4*3, len(s)-n/4
	if i := strings.LastIndexByte(s[head-min(head, line):head], '\n'); i >= 0 {
		head += i - min(head, line)
	}
	if i := strings.IndexByte(s[tail:min(tail+line, len(s))], '\n'); i >= 0 {
		tail += i + 1
	}
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + "\n" + leftOut(tail-head, "bytes") + "\n" + s[tail:]
}

// shortenJSON keeps about n bytes of a JSON value, by shortening the longest of its strings. Input that is
// not JSON is not made into JSON.
func shortenJSON(raw []byte, n int) []byte {
	for limit := n / 2; limit >= 2*maxNoteLength; limit /= 8 {
		if short := cutStrings(raw, limit); len(short) <= n {
			return short
		}
	}
	note, err := json.Marshal(map[string]string{"…": leftOut(len(raw), "bytes")})
	if err != nil {
		return nil
	}
	return note
}

// cutStrings returns raw with every string literal of more than limit bytes cut.
func cutStrings(raw []byte, limit int) []byte {
	var out []byte
	done := 0 // raw[:done] is in out
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		start, end := i+1, i+1
		for end < len(raw) && raw[end] != '"' {
			end += unit(raw[end:])
		}
		i = end
		if end-start <= limit {
			continue
		}
		head, tail := start, start
		for next := head; next <= start+limit/4*3; next += unit(raw[next:]) {
			head = next
		}
		for tail = head; tail < end-limit/4; {
			tail += unit(raw[tail:])
		}
		out = append(out, raw[done:head]...)
		out = append(out, `\n`+leftOut(tail-head, "bytes")+`\n`...)
		done = tail
	}
	return append(out, raw[done:]...)
}

// unit returns the length of the first character of b in a JSON string: an escape, two that are one
// character, or a rune.
func unit(b []byte) int {
	n := 1
	switch {
	case b[0] == '\\' && len(b) > 1 && b[1] == 'u':
		n = 6
		if len(b) > 7 && (b[2]|0x20) == 'd' && strings.IndexByte("89abAB", b[3]) >= 0 && b[6] == '\\' && b[7] == 'u' {
			n = 12
		}
	case b[0] == '\\':
		n = 2
	case b[0] >= utf8.RuneSelf:
		_, n = utf8.DecodeRune(b)
	}
	return min(n, len(b))
}
