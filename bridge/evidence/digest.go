package evidence

import (
	"hash"
	"strings"
	"unicode/utf8"
)

// capture counts and hashes all output, and keeps the end of it.
type capture struct {
	sum   hash.Hash
	bytes int64
	end   []byte // a ring of the last bytes, once it is full
	at    int    // where the next byte goes then
	max   int
}

func (c *capture) Write(p []byte) (int, error) {
	written := len(p)
	c.sum.Write(p)
	c.bytes += int64(len(p))
	if len(p) > c.max {
		p = p[len(p)-c.max:]
	}
	space := min(c.max-len(c.end), len(p))
	c.end = append(c.end, p[:space]...)
	for p = p[space:]; len(p) > 0; {
		n := copy(c.end[c.at:], p)
		p = p[n:]
		c.at = (c.at + n) % c.max
	}
	return written, nil
}

// tail returns the end as valid UTF-8, at most max bytes: it begins with a whole rune, and bytes that are
// not text are shown as such.
func (c *capture) tail() string {
	raw := append(append(make([]byte, 0, len(c.end)), c.end[c.at:]...), c.end[:c.at]...)
	if c.bytes > int64(len(raw)) {
		raw = raw[partialRune(raw):]
	}
	return lastBytes(strings.ToValidUTF8(string(raw), string(utf8.RuneError)), c.max)
}

// partialRune returns how many bytes at the beginning belong to a rune that was cut.
func partialRune(b []byte) int {
	for i := range min(utf8.UTFMax-1, len(b)) {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return 0 // no text at all
}

// lastBytes returns the end of s, at most max bytes, beginning with a whole rune.
func lastBytes(s string, max int) string {
	if len(s) <= max {
		return s
	}
	from := len(s) - max
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
