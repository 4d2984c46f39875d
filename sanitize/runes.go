package sanitize

import "unicode"

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
