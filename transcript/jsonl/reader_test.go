package jsonl

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func readLines(r io.Reader, max int) (lines []string, over int) {
	l := NewLineReader(r, max)
	for {
		line, err := l.NextOrLast()
		if err != nil {
			return lines, over
		}
		text := string(line.Data)
		if line.Oversize {
			over++
			text = "OVER " + text
		}
		lines = append(lines, text)
	}
}

func TestNextOrLast(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"empty", "", nil},
		{"two", "a\nb\n", []string{"a", "b"}},
		{"no end", "a\nb", []string{"a", "b"}},
		{"carriage returns", "a\r\nb\rc\r\n", []string{"a", "b\rc"}},
		{"blank", "\n\n", []string{"", ""}},
		{"longer than the buffer", long + "\nb\n", []string{long, "b"}},
		{"exactly the limit", strings.Repeat("y", 300_000) + "\nb\n", []string{strings.Repeat("y", 300_000), "b"}},
		{"one over", strings.Repeat("y", 300_001) + "\nb\n", []string{"OVER " + strings.Repeat("y", ExcerptLen), "b"}},
		{"over, no end", "a\n" + strings.Repeat("y", 400_000),
			[]string{"a", "OVER " + strings.Repeat("y", ExcerptLen)}},
	} {
		got, _ := readLines(strings.NewReader(tc.in), 300_000)
		testkit.Same(t, tc.name, tc.want, got)
	}
}

func TestNextOrLastPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	l := NewLineReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 100)
	for _, want := range []string{"a", "b"} {
		line, err := l.NextOrLast()
		testkit.Check(t, err == nil && string(line.Data) == want, "got %q, %v, want %q", line.Data, err, want)
	}
	testkit.Fails(t, "l.NextOrLast", testkit.Err(l.NextOrLast()), broken)
}

// chunks returns the data in pieces of the lengths that the fuzzer selects.
type chunks struct {
	data  []byte
	sizes []byte
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.sizes) > 0 {
		n, c.sizes = int(c.sizes[0])+1, c.sizes[1:]
	}
	n = copy(b, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// FuzzNextOrLast: the lines do not depend on how the bytes arrive.
func FuzzNextOrLast(f *testing.F) {
	f.Add([]byte("{}\n{}\r\n\n"), []byte{0, 1, 2})
	f.Add([]byte("tail without end"), []byte{3})
	f.Add(bytes.Repeat([]byte("x"), 50), []byte{255})
	f.Add([]byte("\r\n\r\r\n\x00\xff\n"), []byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data, sizes []byte) {
		const max = 16
		var want []string
		rest := string(data)
		for rest != "" {
			var line string
			line, rest, _ = strings.Cut(rest, "\n")
			if len(line) > max {
				line = "OVER " + line[:max]
			} else {
				line = strings.TrimSuffix(line, "\r")
			}
			want = append(want, line)
		}
		got, _ := readLines(&chunks{bytes.Clone(data), sizes}, max)
		diff := cmp.Diff(want, got)
		testkit.Need(t, diff == "", "%q in %v: -want +got:\n%s", data, sizes, diff)
	})
}
