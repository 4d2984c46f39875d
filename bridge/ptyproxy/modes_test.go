package ptyproxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestTerminalModesAreUndone(t *testing.T) {
	for sent, want := range map[string]string{
		"":                     "",
		"text":                 "\x1b[m",
		"\x1b[?1049h\x1b[?25l": "\x1b[m\x1b[?1049l\x1b[?25h",
		"\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l": "\x1b[m",
		"\x1b[?1000;1006h":                         "\x1b[m\x1b[?1006l\x1b[?1000l",
		"\x1b[?7l":                                 "\x1b[m\x1b[?7h",
		"\x1b[>1u\x1b[>5u\x1b[<u":                  "\x1b[<1u\x1b[m",
		"\x1b[>1u\x1b[<9u":                         "\x1b[m",
		"\x1b[=5;1u":                               "\x1b[=0u\x1b[m",
		"\x1b[>4;2m":                               "\x1b[>4;0m\x1b[m",
		"\x1b[>4;2m\x1b[>4m":                       "\x1b[m",
		"\x1b=":                                    "\x1b>\x1b[m",
		"\x1b=\x1b>":                               "\x1b[m",
		"\x1b[5 q":                                 "\x1b[0 q\x1b[m",
		"\x1b[5 q\x1b[ q":                          "\x1b[m",
		"\x1b[?1049h\x1bc":                         "\x1b[m",
		"\x1b]2;half a title":                      "\x18\x1b\\\x1b[m",
		"\x1b]2;title\x07\x1b]8;;\x1b\\":           "\x1b[m",
		"\x1b]2;\x1b[?1049h\x07":                   "\x1b[m", // text of a title
		"\x1bP+q\x1b[?1049h\x1b\\":                 "\x1b[m",
		"\x1b[?10":                                 "\x18\x1b\\\x1b[m",
		"\x1b(B\x1b[?2004h":                        "\x1b[m\x1b[?2004l",
		"\x1b[38;2;1;2;3m\x1b[4m\x1b[u\x1b[6n":     "\x1b[m",
		"\x1b[" + strings.Repeat("1;", 200) + "m\x1b[?5h": "\x1b[m\x1b[?5l",
	} {
		var whole modes
		whole.look([]byte(sent))
		testkit.Same(t, fmt.Sprintf("%q is undone by", sent), want, whole.undo())
	}
}

// FuzzTerminalModesUndone: how the bytes are split makes no difference, and undoing twice changes nothing more.
func FuzzTerminalModesUndone(f *testing.F) {
	f.Add("\x1b[?1049h\x1b[?25l\x1b[>1u\x1b=\x1b[5 qtext\x1b]2;t", 3)
	f.Add("\x1b\x1b[[\x1b]\x1b\x18\x1b[?7l", 1)
	f.Fuzz(func(t *testing.T, sent string, cut int) {
		var whole, parts, again modes
		whole.look([]byte(sent))
		for rest := sent; rest != ""; {
			n := min(max(cut, 1), len(rest))
			parts.look([]byte(rest[:n]))
			rest = rest[n:]
		}
		undo := whole.undo()
		got := parts.undo()
		testkit.Check(t, got == undo, "%q in parts of %d is undone by %q, whole by %q", sent, cut, got, undo)
		again.look([]byte(sent + undo))
		got = again.undo()
		testkit.Check(t, got == "" || got == "\x1b[m", "%q and %q leave %q", sent, undo, got)
	})
}
