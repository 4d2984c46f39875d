package history

import (
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
	escape  int    // characters of an escape so far
	unit    rune   // of \uXXXX so far
	high    rune   // a high surrogate that waits for a low one
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
	switch {
	case m.escape > 1:
		m.hex(c)
	case m.escape == 1:
		m.escaped(c)
	case c == '\\':
		m.escape = 1
	case c == '"':
		m.lone()
		m.inString, m.wanted = false, false
	default:
		m.lone()
		m.put(c)
	}
}

func (m *messageReader) escaped(c byte) {
	m.escape = 0
	if c == 'u' {
		m.escape, m.unit = 2, 0
		return
	}
	m.lone()
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	}
	m.put(c)
}

func (m *messageReader) hex(c byte) {
	d := rune(c)
	switch {
	case c >= '0' && c <= '9':
		d -= '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		d = rune(c|0x20) - 'a' + 10
	default: // not an escape
		m.escape = 0
		m.lone()
		m.rune(utf8.RuneError)
		m.inside(c)
		return
	}
	m.unit = m.unit<<4 | d
	if m.escape++; m.escape < 6 {
		return
	}
	m.escape = 0
	if m.high != 0 {
		if r := utf16.DecodeRune(m.high, m.unit); r != utf8.RuneError {
			m.high = 0
			m.rune(r)
			return
		}
		m.lone()
	}
	if m.unit >= 0xd800 && m.unit < 0xdc00 {
		m.high = m.unit
		return
	}
	m.rune(m.unit) // a lone low surrogate becomes U+FFFD
}

// lone writes U+FFFD for a high surrogate that no low one followed.
func (m *messageReader) lone() {
	if m.high != 0 {
		m.high = 0
		m.rune(utf8.RuneError)
	}
}

func (m *messageReader) rune(r rune) {
	var b [utf8.UTFMax]byte
	for _, c := range b[:utf8.EncodeRune(b[:], r)] {
		m.put(c)
	}
}

func (m *messageReader) put(c byte) {
	switch m.reading {
	case theMessage:
		m.out = append(m.out, c)
	case aKey:
		if len(m.key) < maxKey {
			m.key = append(m.key, c)
		}
	}
}
