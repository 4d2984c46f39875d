package terminal

import (
	"fmt"
	"net/url"
)

// shield makes the content of an OSC reach its handler completely. The library reads bytes there, not
// characters, and takes the 0x9c in "✓" for the end of the string. UTF-8 terminals do not.
type shield struct{ at shieldState }

type shieldState int

const (
	outside shieldState = iota
	escaped
	inOSC
)

// pass returns the input for the emulator: in an OSC, bytes beyond ASCII are escaped as in a URL.
func (s *shield) pass(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for _, b := range p {
		switch {
		case b == 0x1b:
			s.at = escaped
		case s.at == escaped && b == ']':
			s.at = inOSC
		case s.at == inOSC && b == '\a', s.at == escaped:
			s.at = outside
		case s.at == inOSC && (b >= 0x80 || b == '%'):
			out = fmt.Appendf(out, "%%%02X", b)
			continue
		}
		out = append(out, b)
	}
	return out
}

func unshield(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
