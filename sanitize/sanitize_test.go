package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a b\n\tc", "a b\n\tc"},
		{"other scripts", "naïve 日本語 한국어 العربية हिन्दी ไทย ☃ 🔥", "naïve 日本語 한국어 العربية हिन्दी ไทย ☃ 🔥"},
		{"CRLF", "a\r\nb\rc\r\r\n", "a\nb\nc\n\n"},
		{"separators", "a\u2028b\u2029c", "a\nb\nc"},
		{"C0", "a\x00\x01\x07\x08\x0b\x0c\x0e\x1fb\x7f", "ab"},
		{"C1", "a\u0080\u0085\u009a\u009cb", "ab"},
		{"invalid UTF-8", "a\xff\xc3(\xe2\x28\xa1\xed\xa0\x80", "a\uFFFD\uFFFD(\uFFFD(\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"raw 8-bit CSI is not UTF-8", "\x9b31mred", "\uFFFD31mred"},

		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"colour, private and with intermediates", "\x1b[?25l\x1b[>0;1 qx\x1b[38:2:1:2:3mx", "xx"},
		{"8-bit CSI", "\u009b2Jx\u009b31;1mx", "xx"},
		{"title by OSC", "\x1b]0;pwned\x07x", "x"},
		{"clipboard by OSC, ST", "\x1b]52;c;cHduZWQ=\x1b\\x", "x"},
		{"8-bit OSC, 8-bit ST", "\u009d52;c;cHdu\u009cx", "x"},
		{"hyperlink", "\x1b]8;;https://evil\x1b\\click\x1b]8;;\x1b\\", "click"},
		{"DCS, SOS, PM, APC", "\x1bPq1\x1b\\a\x1bXs\x1b\\b\x1b^p\x1b\\c\x1b_a\x1b\\d", "abcd"},
		{"8-bit DCS, SOS, PM, APC", "\u0090q\u009ca\u0098s\u009cb\u009ep\u009cc\u009fa\u009cd", "abcd"},
		{"string without an end", "\x1b]0;pwned\nthe rest", "\nthe rest"},
		{"string cut by a sequence", "\x1b]0;pwned\x1b[31mrest", "rest"},
		{"string cut by CAN", "\x1b]0;pwned\x18rest", "rest"},
		{"string with text in UTF-8", "\x1b]0;é©\x07x", "x"},
		{"CSI broken off", "\x1b[31\nrest", "\nrest"},
		{"CSI broken off by ESC", "\x1b[31\x1b[1mx", "x"},
		{"reset, charset, keypad", "\x1bca\x1b(Bb\x1b=c\x1b#8d", "abcd"},
		{"ESC alone", "a\x1b", "a"},
		{"ESC before text beyond ASCII", "\x1bé", "é"},
		{"ESC ESC", "\x1b\x1b[31mx", "x"},
		{"nested", "\x1b[\x1b[31m31mx", "31mx"},

		{"bidirectional", "a\u202eb\u2066c\u2069\u200e\u200f\u061cd\u202a", "abcd"},
		{"tags", "a\U000e0041\U000e007f\U000e0001b", "ab"},
		{"supplementary variation selectors", "a\U000e0100\U000e01efb", "ab"},
		{"zero width", "a\u200bb\u2060c\ufeffd\u00ade\u180ef\u2063g\u034fh", "abcdefgh"},
		{"fillers", "a\u3164\u115f\u1160\uffa0b", "ab"},
		{"annotations", "a\ufff9b\ufffac\ufffbd\ufffc", "abcd"},
		{"noncharacters", "a\ufffe\uffff\ufdd0\U0010ffffb", "ab"},
		{"prepended marks stay", "\u0600١", "\u0600١"},
		{"private use stays", "\ue0b0 \uf015", "\ue0b0 \uf015"},

		{"family", "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"},
		{"skin tone and ZWJ", "🧑🏽‍🚀", "🧑🏽‍🚀"},
		{"heart on fire", "❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"},
		{"rainbow flag", "🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"},
		{"ZWJ between letters", "a\u200db", "ab"},
		{"ZWJ at the ends", "\u200d👨\u200d", "👨"},
		{"ZWJ before text", "👨\u200dx", "👨x"},
		{"row of ZWJ", "👨\u200d\u200d\u200d👩", "👨\u200d👩"},
		{"ZWJ, then something hidden", "👨\u200d\u200b👩", "👨\u200d👩"},
		{"Persian ZWNJ", "می\u200cخواهم", "می\u200cخواهم"},
		{"Devanagari ZWJ", "क\u094d\u200dष", "क\u094d\u200dष"},
		{"ZWNJ in Latin", "pass\u200cword", "password"},
		{"ZWNJ between pictures", "👨\u200c👩", "👨👩"},

		{"four marks", "a\u0300\u0301\u0302\u0303b", "a\u0300\u0301\u0302\u0303b"},
		{"zalgo", "a" + strings.Repeat("\u0300", 50) + "b\u0301", "a\u0300\u0300\u0300\u0300b\u0301"},
		{"zalgo over hidden runes", "a" + strings.Repeat("\u0300\u200b\u200d", 50), "a\u0300\u0300\u0300\u0300"},
		{"row of variation selectors", "a\ufe00\ufe01\ufe0f", "a\ufe00"},
		{"variation selector first", "\ufe0fa", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Text(tt.in)
			testkit.Check(t, got == tt.want, "Text(%q) = %q, want %q", tt.in, got, tt.want)
			check(t, got)
		})
	}
}

func TestLine(t *testing.T) {
	tests := []struct {
		in   string
		max  int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"abcd", 1, "…"},
		{"abcd", 0, "abcd"},
		{"abcd", -1, "abcd"},
		{"", 1, ""},
		{"日本語です", 4, "日本語…"},
		{"a\nb\tc\r\nd", 0, "a b c d"},
		{"a\nb\tc\r\nd", 5, "a b …"},
		{"\x1b[31mabc\x1b[0m", 3, "abc"},
		{"\x1b[31mabc\x1b[0md", 3, "ab…"},
		{"abc" + strings.Repeat("\u200b", 100), 3, "abc"},
		{"👨\u200d👩 x", 3, "👨…"},
		{strings.Repeat("x", 1<<20), 5, "xxxx…"},
		{strings.Repeat("\x1b[0m", 1<<16) + "x", 5, "x"},
	}
	for _, tt := range tests {
		got := Line(tt.in, tt.max)
		testkit.Check(t, got == tt.want, "Line(%.40q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
	}
}

func TestCleanTextIsNotCopied(t *testing.T) {
	clean := "plain ASCII\n\tand naïve 日本語 🔥 👨‍👩‍👧 می\u200cخواهم e\u0301 ❤\ufe0f"
	for name, f := range map[string]func(){
		"Text": func() { Text(clean) },
		"Line": func() { Line("naïve 日本語 👨‍👩‍👧", 40) },
	} {
		n := testing.AllocsPerRun(100, f)
		testkit.Check(t, n == 0, "%s: %v allocations for clean text", name, n)
	}
}

// check checks that a result is safe for a terminal.
func check(t *testing.T, s string) {
	t.Helper()
	testkit.Need(t, utf8.ValidString(s), "not UTF-8: %q", s)
	marks := 0
	for _, r := range s {
		if unicode.Is(unicode.M, r) {
			marks++
		} else if r != zwj && r != zwnj {
			marks = 0
		}
		switch {
		case marks > maxMarks:
			t.Fatalf("%d marks in a row in %q", marks, s)
		case r == '\n', r == '\t', r == zwj, r == zwnj, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs),
			unicode.Is(unicode.Noncharacter_Code_Point, r):
			t.Fatalf("%U in %q", r, s)
		}
	}
	testkit.Need(t, strings.Trim(s, string(zwj)+string(zwnj)) == s, "a joiner that joins nothing in %q", s)
}

func FuzzText(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;t\x07\u009b0m", 5)
	f.Add("👨\u200d\u200b👩e\u0300\u0300\u0300\u0300\u0300\ufe0f\r\n", 3)
	f.Add("क\u094d\u200dष\u202e\U000e0041\xff\xc2", 2)
	f.Fuzz(func(t *testing.T, s string, max int) {
		text := Text(s)
		check(t, text)
		again := Text(text)
		testkit.Need(t, again == text, "Text is not idempotent: %q, then %q", text, again)
		line := Line(s, max)
		check(t, line)
		testkit.Need(t, !strings.ContainsAny(line, "\n\t"), "more than a line: %q", line)
		n := utf8.RuneCountInString(line)
		testkit.Need(t, max <= 0 || n <= max, "%d runes, at most %d were wanted", n, max)
		again = Line(line, max)
		testkit.Need(t, again == line, "Line is not idempotent: %q, then %q", line, again)
		testkit.Need(t, max > 0 || line == strings.NewReplacer("\n", " ", "\t", " ").Replace(text),
			"Line %q and Text %q differ", line, text)
	})
}

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
