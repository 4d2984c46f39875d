package history

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// liveKept bounds text that is arriving: of a longer text, the end is kept.
const liveKept = 256 << 10

// tailKept bounds a line that is arriving.
const tailKept = 4 << 10

// growing is text that comes in pieces of any length and is fit for a screen at every moment, as if all of
// it had been sanitised at once: a control sequence may be spread over several pieces. No sequence extends
// over a line end.
type growing struct {
	done []byte // complete lines, sanitised
	tail []byte // the incomplete last line, raw
}

func (g *growing) empty() bool { return len(g.done)+len(g.tail) == 0 }

func (g *growing) add(s string) {
	if len(s) > 2*liveKept {
		s = s[len(s)-2*liveKept:]
	}
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		g.tail = append(g.tail, s[:i+1]...)
		g.commit(len(g.tail))
		s = s[i+1:]
	}
	g.tail = append(g.tail, s...)
	if len(g.tail) > tailKept {
		g.commit(seam(g.tail))
	}
}

// commit finishes the first n bytes of the tail as a text of its own.
func (g *growing) commit(n int) {
	g.done = append(g.done, sanitize.Text(string(g.tail[:n]))...)
	g.tail = append(g.tail[:0], g.tail[n:]...)
	if len(g.done) <= liveKept {
		return
	}
	// Drop a large part at once, so that the beginning of the shown text does not change all the time.
	drop := len(g.done) - liveKept/4*3
	if i := bytes.IndexByte(g.done[drop:], '\n'); i >= 0 && i < tailKept {
		drop += i + 1
	}
	for drop < len(g.done) && !utf8.RuneStart(g.done[drop]) {
		drop++
	}
	g.done = append(g.done[:0], g.done[drop:]...)
}

// seam returns where a long line may be cut: between two letters, neither of which belongs to a sequence or
// carries a mark.
func seam(b []byte) int {
	if bytes.IndexByte(b, 0x1b) < 0 && !bytes.Contains(b, []byte("\xc2\x9b")) {
		right := false
		for end := len(b); end > len(b)/2; {
			r, n := utf8.DecodeLastRune(b[:end])
			left := r != utf8.RuneError && (r > ' ' && r <= '~' || unicode.IsLetter(r))
			if left && right {
				return end
			}
			right = left
			end -= n
		}
	}
	return whole(b)
}

func (g *growing) text() string { return g.end(math.MaxInt) }

// end returns about so many bytes of the end of the text, in whole lines if there are any.
func (g *growing) end(most int) string {
	done := g.done
	if drop := len(done) - most; drop > 0 {
		for drop < len(done) && !utf8.RuneStart(done[drop]) {
			drop++
		}
		done = done[drop:]
		if i := bytes.IndexByte(done, '\n'); i >= 0 && i < len(done)-1 {
			done = done[i+1:]
		}
	}
	return string(done) + sanitize.Text(string(g.tail[:whole(g.tail)]))
}
