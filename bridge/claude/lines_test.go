package claude

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readLines(r io.Reader, max int) []string {
	l := newLineReader(r, max)
	var got []string
	for {
		line, err := l.next()
		switch {
		case err == nil:
			got = append(got, string(line))
		case errors.Is(err, errLineTooLong):
			got = append(got, "TOO LONG")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return append(got, "CUT")
		default:
			return got
		}
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, test := range []struct {
		name, in string
		max      int
		want     []string
	}{
		{"plain", "a\nb\r\n\nc\n", 10, []string{"a", "b", "", "c"}},
		{"tail without an end", "a\nb", 10, []string{"a", "CUT"}},
		{"nothing", "", 10, nil},
		{"longer than the buffer", long + "\nb\n", 1 << 20, []string{long, "b"}},
		{"just as long as allowed", "12345\nb\n", 5, []string{"12345", "b"}},
		{"one too long", "123456\r\nb\n", 5, []string{"TOO LONG", "b"}},
		{"far too long", long + "\nb\n", 70_000, []string{"TOO LONG", "b"}},
		{"too long and cut", "a\n" + long, 70_000, []string{"a", "CUT"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, readLines(strings.NewReader(test.in), test.max)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, readLines(iotest.HalfReader(strings.NewReader(test.in)), test.max)); diff != "" {
				t.Errorf("in pieces (-want +got):\n%s", diff)
			}
		})
	}
}

// Any chunking of the same bytes gives the same lines.
func FuzzLineReader(f *testing.F) {
	f.Add("a\nbb\n", 3)
	f.Add("\r\n\x00\n", 1)
	f.Fuzz(func(t *testing.T, in string, max int) {
		max = 1 + (max&0xffff+0xffff)&0xffff
		whole := readLines(strings.NewReader(in), max)
		if diff := cmp.Diff(whole, readLines(iotest.OneByteReader(strings.NewReader(in)), max)); diff != "" {
			t.Errorf("whole, byte by byte:\n%s", diff)
		}
	})
}
