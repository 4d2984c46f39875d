package history

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// whole returns the length of b without an incomplete rune at its end.
func whole(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

// messageReader reads the member "message" of one JSON object byte by byte. It is lenient, because its
// result is not the verdict itself.
type messageReader struct {
	out    []byte // of the member, decoded; the caller may take it away
	begun  bool   // the member has begun, perhaps for the second time: the last one counts
	closed bool   // the object has ended, or it was not an object

	depth    int
	inString bool
	atKey    bool // the next string of the object itself is a key
	key      []byte
	wanted   bool // the next value is that of the member

	reading target // what the current string is
	rest    []byte // of the current string, from an escape on that has not arrived completely
}

type target uint8

const (
	nothing target = iota
	aKey
	theMessage
)

// maxKey is more than the key that is looked for.
const maxKey = 16

func (m *messageReader) feed(s string) {
	for i := 0; i < len(s) && !m.closed; i++ {
		if m.inString {
			m.inside(s[i])
		} else {
			m.outside(s[i])
		}
	}
}

func (m *messageReader) outside(c byte) {
	switch c {
	case ' ', '\t', '\r', '\n':
	case '"':
		m.inString, m.reading = true, nothing
		switch {
		case m.depth == 1 && m.atKey:
			m.reading, m.key = aKey, m.key[:0]
		case m.depth == 1 && m.wanted:
			m.reading, m.out, m.begun = theMessage, m.out[:0], true
		}
	case '{', '[':
		if m.depth++; m.depth == 1 {
			m.atKey, m.closed = true, c == '['
		}
	case '}', ']':
		m.depth--
	case ':':
		if m.depth == 1 {
			m.atKey, m.wanted = false, string(m.key) == "message"
		}
	case ',':
		if m.depth == 1 {
			m.atKey, m.wanted = true, false
		}
	}
	if m.depth <= 0 && c > ' ' {
		m.closed = true
	}
}

func (m *messageReader) inside(c byte) {
	for m.rest = append(m.rest, c); len(m.rest) > 0; {
		if m.rest[0] == '"' {
			m.inString, m.wanted, m.rest = false, false, m.rest[:0]
			return
		}
		n, text := character(m.rest)
		if n == 0 {
			return
		}
		m.rest = append(m.rest[:0], m.rest[n:]...)
		switch {
		case m.reading == theMessage:
			m.out = append(m.out, text...)
		case m.reading == aKey && len(m.key) < maxKey:
			m.key = append(m.key, text...)
		}
	}
}

// character decodes the beginning of b in a JSON string: an escape, two that are one character, or a byte. n is
// the length in b, 0 if it is incomplete.
func character(b []byte) (n int, text string) {
	switch {
	case b[0] != '\\':
		return 1, string(b[:1])
	case len(b) == 1:
		return 0, ""
	case b[1] != 'u':
		if i := strings.IndexByte("ntrbf", b[1]); i >= 0 {
			return 2, "\n\t\r\b\f"[i : i+1]
		}
		return 2, string(b[1:2])
	}
	unit, n := hexUnit(b)
	if n < 6 || !utf16.IsSurrogate(unit) || unit >= lowSurrogates {
		if n > 0 && n < 6 {
			unit = utf8.RuneError
		}
		return n, string(unit) // a lone low surrogate becomes U+FFFD
	}
	for i, c := range b[6:min(len(b), 8)] {
		if c != `\u`[i] {
			return 6, string(utf8.RuneError)
		}
	}
	if len(b) < 8 {
		return 0, ""
	}
	low, n := hexUnit(b[6:])
	if n == 0 {
		return 0, ""
	}
	if r := utf16.DecodeRune(unit, low); n == 6 && r != utf8.RuneError {
		return 12, string(r)
	}
	return 6, string(utf8.RuneError)
}

// lowSurrogates is the first of the second halves of characters that have two units.
const lowSurrogates = 0xdc00

// hexUnit decodes the escape \uXXXX at the beginning of b. n is its length, 0 if it is incomplete, less than 6
// if it is not an escape.
func hexUnit(b []byte) (unit rune, n int) {
	for n = 2; n < 6; n++ {
		if n == len(b) {
			return 0, 0
		}
		d := strings.IndexByte("0123456789abcdef", b[n]|0x20)
		if d < 0 || b[n] < '0' {
			return 0, n
		}
		unit = unit<<4 | rune(d)
	}
	return unit, n
}
