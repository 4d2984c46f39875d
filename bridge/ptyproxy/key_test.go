package ptyproxy

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestKeyIsFound(t *testing.T) {
	for typed, want := range map[string]string{ // the part that the child receives
		"\x1d":                         "",
		"abc\x1ddef":                   "abc",
		"\x1b\x1d":                     "",
		"\x1b[93;5u":                   "",
		"x\x1b[93;5uy":                 "x",
		"\x1b[93;5:1u":                 "",
		"\x1b[93:125;5:2;29u":          "",
		"\x1b[93;197u":                 "",
		"\x1b[27;5;93~":                "",
		"\x1b[A\x1b[27;5;93~":          "\x1b[A",
		"\x1b[200~a\x1db\x1b[201~\x1d": "\x1b[200~a\x1db\x1b[201~",
	} {
		k := keyWatch{letter: ']'}
		got, pressed := k.look([]byte(typed))
		testkit.Check(t, pressed && string(got) == want, "%q: %q is the child's, pressed %v, want %q", typed, got,
			pressed, want)
		// Byte by byte the key is found as well; the beginning of its sequence has already been passed on.
		k = keyWatch{letter: ']'}
		var passed strings.Builder
		for i := range len(typed) {
			part, found := k.look([]byte(typed[i : i+1]))
			passed.Write(part)
			if found {
				break
			}
			testkit.Check(t, i != len(typed)-1, "%q byte by byte is not found", typed)
		}
		if !strings.HasPrefix(typed, passed.String()) {
			t.Errorf("%q byte by byte: %q is the child's", typed, passed.String())
		}
	}
}

func TestOtherKeysAreTheChilds(t *testing.T) {
	for _, typed := range []string{
		"", "]", "text ]", "\x1b", "\x1b]", "\x1b[", "\x1b[A", "\x1bOP", "\x1b[93u", "\x1b[93;3u", "\x1b[93;5:3u",
		"\x1b[93;6u", "\x1b[92;5u", "\x1b[27;5;92~", "\x1b[27;5~", "\x1b[5;93~", "\x1b[<0;93;5M",
		"\x1b[200~\x1b[93;5u \x1d\x1b[201~", "\x1b[?1;2c", "\x1b[;u", "\x1b[" + strings.Repeat("9", 100) + "u",
		"\x1b[x;5u", "世界\x9d",
	} {
		k := keyWatch{letter: ']'}
		got, pressed := k.look([]byte(typed))
		testkit.Check(t, !pressed && string(got) == typed, "%q: %q is the child's, pressed %v", typed, got, pressed)
	}
}

func FuzzKey(f *testing.F) {
	f.Add("a\x1b[93;5u", 2)
	f.Add("\x1b[200~\x1d", 1)
	f.Fuzz(func(t *testing.T, typed string, cut int) {
		k := keyWatch{letter: ']'}
		rest, passed := typed, ""
		for rest != "" {
			n := min(max(cut, 1), len(rest))
			part, pressed := k.look([]byte(rest[:n]))
			passed += string(part)
			if pressed {
				return
			}
			if string(part) != rest[:n] {
				t.Fatalf("%q became %q", rest[:n], part)
			}
			rest = rest[n:]
		}
		testkit.Check(t, passed == typed && len(k.seq) <= longestSeq, "%q passes as %q", typed, passed)
	})
}
