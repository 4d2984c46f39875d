package contract

import (
	"encoding/json"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendSafe appends JSON text, or text that is already safe for a terminal, so that no
// terminal or viewer acts on anything in it: see [EncodeLine].
func AppendSafe(dst, text []byte) []byte { return appendSafe(dst, text) }

// isSafe reports whether JSON text is plain ASCII: there is nothing to escape in it.
func isSafe(text []byte) bool {
	for _, c := range text {
		if c >= 0x7f {
			return false
		}
	}
	return true
}

// appendSafe appends JSON text and escapes what encoding/json lets through: DEL,
// the C1 controls, bidirectional controls, line and paragraph separators and tag
// characters. Invalid UTF-8, which json.RawMessage may carry, becomes U+FFFD. In
// valid JSON bytes beyond ASCII occur inside of strings only, so that an escape is
// right wherever one is found.
func appendSafe(dst, text []byte) []byte {
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, text[start:i]...)
			dst = append(dst, `\ufffd`...)
		case acted(r):
			dst = append(dst, text[start:i]...)
			dst = appendEscape(dst, r)
		default:
			i += size
			continue
		}
		i += size
		start = i
	}
	return append(dst, text[start:]...)
}

// acted reports whether terminals or viewers act on a rune instead of showing it.
func acted(r rune) bool {
	switch {
	case r >= 0x7f && r <= 0x9f: // DEL and C1
		return true
	case r < 0x061c:
		return false
	case r == 0x061c, r == 0x200e, r == 0x200f, // bidirectional marks
		r >= 0x2028 && r <= 0x202e, // separators, embeddings and overrides
		r >= 0x2066 && r <= 0x2069: // isolates
		return true
	}
	return r >= 0xe0000 && r <= 0xe007f // tags: invisible text
}

func appendEscape(dst []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		dst = appendEscape(dst, 0xd800+(r>>10))
		return appendEscape(dst, 0xdc00+(r&0x3ff))
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&0xf], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}

// appendQuoted appends a JSON string. Ids and names are plain ASCII.
func appendQuoted(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic("contract: a string has a JSON form: " + err.Error())
			}
			return appendSafe(dst, quoted)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
