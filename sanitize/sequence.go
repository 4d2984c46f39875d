package sanitize

import "strings"

// Controls that open or end sequences (ECMA-48).
const (
	esc = 0x1b
	bel = 0x07
	can = 0x18
	sub = 0x1a
)

// sequence returns the length of the control character, or of the whole escape sequence, at the beginning of s.
// It knows both forms: ESC and a letter, and the C1 control in two bytes of UTF-8.
func sequence(s string) int {
	if s[0] != esc && s[0] != 0xc2 || len(s) == 1 {
		return 1
	}
	intro, n := s[1], 2
	if s[0] == 0xc2 {
		intro -= 0x40 // U+009B is ESC [, and so on
	}
	switch intro {
	case '[':
		return n + controlSequence(s[n:])
	case ']', 'P', 'X', '^', '_': // OSC, DCS, SOS, PM, APC
		return n + controlString(s[n:])
	}
	if s[0] != esc {
		return n // another C1 control is complete by itself
	}
	// ESC, intermediate bytes, one final byte; any other byte is not part of the sequence.
	n = 1
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
		n++
	}
	return n
}

// controlSequence returns the length of a CSI's parameters, intermediate bytes and final byte. An incomplete
// one ends at the first byte that does not fit.
func controlSequence(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		n++
	}
	return n
}

// controlString returns the length of an OSC, DCS, SOS, PM or APC string with its end, ST or BEL. A string
// without an end reaches to the end of its line, so that a stray introducer cannot hide all that follows.
func controlString(s string) int {
	for i := range len(s) {
		switch s[i] {
		case bel, can, sub:
			return i + 1
		case '\n', '\r':
			return i
		case esc:
			if strings.HasPrefix(s[i+1:], `\`) {
				return i + 2
			}
			return i // a new sequence
		case 0xc2:
			if strings.HasPrefix(s[i+1:], "\x9c") {
				return i + 2
			}
		}
	}
	return len(s)
}
