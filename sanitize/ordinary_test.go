package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestOrdinary: the table treats no rune as ordinary that special would change, and only few others as odd.
func TestOrdinary(t *testing.T) {
	slow := 0
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		n, runes := ordinary(string(r), 2)
		plain := r >= ' ' && r <= '~' || r == '\n' || r == '\t'
		odd := r < ' ' && !plain || r >= 0x7f && r <= 0x9f || r == zwj || r == zwnj || r == lineSeparator ||
			r == paragraphSeparator || hidden(r) || r >= 0x0300 && unicode.Is(unicode.M, r)
		switch {
		case n > 0 && odd:
			t.Errorf("%U is taken for ordinary", r)
		case n > 0 && (n != utf8.RuneLen(r) || runes != 1):
			t.Errorf("%U: %d bytes, %d runes", r, n, runes)
		case n == 0 && !odd && r < tabled:
			slow++
		}
	}
	testkit.Check(t, slow <= 200, "%d runes are looked at closely for nothing", slow)
	for _, bad := range []string{"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x80\x80", "\xe2\x28\xa1",
		"\xe2\x82", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf0\x9f\x98", "\xf0\x9f\x28\x80", "\xf4\x90\x80\x80",
		"\xff"} {
		n, _ := ordinary(bad, 9)
		testkit.Check(t, n == 0, "%q is taken for %d ordinary bytes", bad, n)
	}
	for i := range 20 { // the odd one at each position in eight bytes
		for _, c := range []string{"\x00", "\x1b", "\x7f", "\x80", "\u009b", "\r"} {
			n, _ := ordinary(strings.Repeat("a", i)+c+"bbbbbbbbbb", 99)
			testkit.Check(t, n == i, "%q after %d letters: %d", c, i, n)
		}
	}
	for most := 1; most < 30; most++ {
		s := strings.Repeat("aé日", 10)
		_, runes := ordinary(s, most)
		testkit.Check(t, runes == most, "%d runes, at most %d", runes, most)
	}
}
