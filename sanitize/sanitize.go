package sanitize

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks may follow one another. Living scripts need at most four; more would be
// drawn over the neighbouring lines.
const maxMarks = 4

// noLimit is no limit. One more rune can be added to it without an overflow.
const noLimit = math.MaxInt - 1

// Text returns s without anything that a terminal interprets and without invisible characters. It keeps
// newlines and tabs; CRLF, a lone CR and the Unicode separators become newlines; invalid UTF-8 becomes U+FFFD.
// It returns clean text unchanged, without an allocation.
func Text(s string) string {
	c := cleaner{src: s, limit: noLimit}
	c.run()
	return c.result()
}

// Line is like Text, on one line: newlines and tabs become spaces, and a line of more than max runes is cut and
// ends in "…". A max of 0 or less means no limit.
func Line(s string, max int) string {
	c := cleaner{src: s, limit: noLimit}
	if max > 0 {
		c.limit = max
	}
	c.run()
	s = c.result()
	if c.more || utf8.RuneCountInString(s) > c.limit {
		s = cut(s, c.limit-1) + "…"
	}
	if strings.ContainsAny(s, "\n\t") {
		s = strings.NewReplacer("\n", " ", "\t", " ").Replace(s)
	}
	return s
}

// cut returns the first n runes of s, without a joiner at the end that has nothing to join any more.
func cut(s string, n int) string {
	for i := range s {
		if n == 0 {
			s = s[:i]
			break
		}
		n--
	}
	return strings.TrimRight(s, string(zwnj)+string(zwj))
}

// cleaner copies src rune by rune. Until something is left out or replaced, it copies nothing and only counts.
type cleaner struct {
	src   string
	limit int  // about the maximum number of runes; the rest is not read
	more  bool // src continued beyond the limit

	same   int  // the result is src[:same] as long as nothing is copied
	copied bool // out is the result
	out    strings.Builder
	runes  int
	last   rune // last rune made, 0 at first
	marks  int  // combining marks since the last other rune
	joiner rune // a joiner that waits for the rune on its right, or 0
	at     int  // offset of the joiner in src
}

func (c *cleaner) run() {
	for i := 0; i < len(c.src); {
		if c.runes > c.limit {
			c.more = true
			return
		}
		if c.joiner != 0 && c.src[i] < utf8.RuneSelf {
			c.drop()
		}
		if c.joiner == 0 {
			if n, runes := ordinary(c.src[i:], c.limit-c.runes+1); n > 0 {
				c.keep(i, n)
				c.runes += runes
				i += n
				c.last, _ = utf8.DecodeLastRuneInString(c.src[:i])
				c.marks = 0
				continue
			}
		}
		i += c.special(i)
	}
}

// special handles what is not ordinary, or follows a joiner, at i, and returns its length.
func (c *cleaner) special(i int) int {
	r, size := utf8.DecodeRuneInString(c.src[i:])
	switch {
	case r == utf8.RuneError && size == 1:
		c.put("\uFFFD", utf8.RuneError)
	case r == '\r':
		c.put("\n", '\n')
		if strings.HasPrefix(c.src[i+1:], "\n") {
			return 2
		}
	case r == lineSeparator, r == paragraphSeparator:
		c.put("\n", '\n')
	case r < ' ', r >= 0x7f && r <= 0x9f:
		return sequence(c.src[i:])
	case r == zwj, r == zwnj:
		if c.joiner == 0 {
			c.joiner, c.at = r, i
		}
	case hidden(r):
	case r >= 0x0300 && unicode.Is(unicode.M, r):
		c.combine(r, i, size)
	default:
		c.join(r)
		c.keep(i, size)
		c.runes++
		c.last, c.marks = r, 0
	}
	return size
}

// combine keeps a combining mark, unless there are too many, or it is a second variation selector in a row:
// such a row can carry hidden text.
func (c *cleaner) combine(r rune, i, size int) {
	if c.marks == maxMarks || variation(r) && (variation(c.last) || c.last == 0) {
		return
	}
	c.join(r)
	c.keep(i, size)
	c.runes++
	c.marks++
	c.last = r
}

// join decides about the waiting joiner, now that the rune on its right is known.
func (c *cleaner) join(right rune) {
	if c.joiner != 0 && joins(c.last, c.joiner, right) {
		c.keep(c.at, len(string(c.joiner)))
		c.runes++
	}
	c.joiner = 0
}

// drop drops the waiting joiner: nothing that it could join followed.
func (c *cleaner) drop() { c.joiner = 0 }

// keep adds src[i:i+n] to the result.
func (c *cleaner) keep(i, n int) {
	if !c.copied && i == c.same {
		c.same += n
		return
	}
	c.copy()
	c.out.WriteString(c.src[i : i+n])
}

// put adds a replacement to the result.
func (c *cleaner) put(text string, r rune) {
	c.drop()
	c.copy()
	c.out.WriteString(text)
	c.runes++
	c.last, c.marks = r, 0
}

func (c *cleaner) copy() {
	if !c.copied {
		c.copied = true
		c.out.Grow(c.same + min(len(c.src)-c.same, c.limit) + utf8.UTFMax)
		c.out.WriteString(c.src[:c.same])
	}
}

func (c *cleaner) result() string {
	if !c.copied {
		return c.src[:c.same]
	}
	return c.out.String()
}

const (
	zwnj               = '\u200c'
	zwj                = '\u200d'
	lineSeparator      = '\u2028'
	paragraphSeparator = '\u2029'
	objectReplacement  = '\ufffc'
)

// hidden reports whether a rune is invisible or changes the order of others: format characters (bidirectional
// controls, tags, zero-width space, word joiner, byte order mark …), fillers that count as letters, and the
// supplementary variation selectors, which can carry any text invisibly.
func hidden(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0x034f, // combining grapheme joiner
		r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, // Hangul fillers
		r == 0x17b4, r == 0x17b5, // Khmer inherent vowels
		r == 0x2065, r >= 0xfff0 && r <= 0xfff8, // unassigned, ignorable
		r == objectReplacement,
		r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe, // noncharacters
		r >= 0xe0000 && r <= 0xe0fff: // tags, variation selectors and reserved
		return true
	}
	// The prepended marks, such as the Arabic number sign, are format characters that are visible.
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// variation reports whether a rune selects the shape of the one before.
func variation(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// joining are the scripts in which joiners change the shapes of letters.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
	unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
	unicode.Tibetan,
}

// joins reports whether a joiner between two runes has an effect: between letters of a joining script, or, for
// ZWJ, between pictures.
func joins(left, joiner, right rune) bool {
	if unicode.In(left, joining...) && unicode.In(right, joining...) {
		return true
	}
	return joiner == zwj && (picture(left) || left == 0xfe0f) && picture(right)
}

// picture approximates Unicode's Extended_Pictographic, with the skin tones.
func picture(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff
}

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
		return n // another C1 control is one character
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
