package sanitize

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// ordinary returns the length of the beginning of s that stays unchanged, whatever is next to it: printable
// ASCII, tabs, newlines, and runes that do not combine, join or hide. It stops after most runes and before
// anything else, including invalid UTF-8.
func ordinary(s string, most int) (n, runes int) {
	odd := odd()
	for n < len(s) && runes < most {
		c := s[n]
		if c < 0x80 {
			k := plain(s[n : n+min(most-runes, len(s)-n)])
			if k == 0 {
				return n, runes
			}
			n, runes = n+k, runes+k
			continue
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		if size == 1 || r >= tabled || odd[r>>6]&(1<<(r&63)) != 0 { // invalid, or not in the table
			return n, runes
		}
		n, runes = n+size, runes+1
	}
	return n, runes
}

// plain returns the length of the printable ASCII, tabs and newlines at the beginning of s. It checks eight
// bytes at a time.
func plain(s string) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// The high bit of a byte shows non-ASCII in w, controls in (w-' '), and DEL in (w+1).
		if (w|(w-' '*ones)|(w+ones))&highs == 0 {
			continue
		}
		for k := range len(b) {
			if !plainByte[b[k]] {
				return i + k
			}
		}
	}
	for ; i < len(s); i++ {
		if !plainByte[s[i]] {
			return i
		}
	}
	return i
}

var plainByte = func() (t [256]bool) {
	for b := ' '; b <= '~'; b++ {
		t[b] = true
	}
	t['\n'], t['\t'] = true, true
	return t
}()

// tabled limits the runes in odd: to the two planes with living scripts and pictures.
const tabled = 0x20000

// runeSet has a bit for each rune below tabled.
type runeSet [tabled / 64]uint64

// odd is the set of runes that need a closer look, and of surrogates, which are not runes. It is built with the
// first text, not at the start of the program.
var odd = sync.OnceValue(func() *runeSet {
	t := new(runeSet)
	set := func(from, to, stride uint32) {
		for r := from; r <= to && r < tabled; r += stride {
			t[r>>6] |= 1 << (r & 63)
		}
	}
	for _, table := range []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Cs, unicode.M, unicode.Zl, unicode.Zp} {
		for _, r := range table.R16 {
			set(uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
		}
		for _, r := range table.R32 {
			set(r.Lo, r.Hi, r.Stride)
		}
	}
	for _, r := range [][2]uint32{
		{0x115f, 0x1160}, {0x3164, 0x3164}, {0xffa0, 0xffa0}, {0x2065, 0x2065}, {0xfdd0, 0xfdef}, {0xfff0, 0xfffc},
		{0xfffe, 0xffff}, {0x1fffe, 0x1ffff},
	} {
		set(r[0], r[1], 1)
	}
	return t
})
