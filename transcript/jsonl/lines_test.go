package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// write formats a line.
func write(l Line) string {
	if l.Oversize {
		return fmt.Sprintf("over %q", l.Data)
	}
	return fmt.Sprintf("%q", l.Data)
}

// split reads the lines of a text that comes in chunks of the given sizes (1 to 256; the rest is one chunk).
func split(in string, most int, sizes []byte) (got []string) {
	l := NewLineReader(&chunks{[]byte(in), sizes}, most)
	for line, err := l.Next(); err == nil; line, err = l.Next() {
		got = append(got, write(line))
	}
	if rest, ok := l.Rest(); ok {
		got = append(got, "rest "+write(rest))
	}
	if rest, again := l.Rest(); again {
		got = append(got, "again "+write(rest))
	}
	return got
}

func TestLines(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"lines", "a\nbc\n", []string{`"a"`, `"bc"`}},
		{"no end", "a\nb", []string{`"a"`, `rest "b"`}},
		{"empty lines", "\n\r\n\n", []string{`""`, `""`, `""`}},
		{"CRLF", "a\r\nb\rc\r\r\n", []string{`"a"`, `"b\rc\r"`}},
		{"NULs, BOM, no UTF-8", "\x00\x00{}\n\xef\xbb\xbf\n\xff\xfe\n",
			[]string{`"\x00\x00{}"`, `"\ufeff"`, `"\xff\xfe"`}},
		{"as long as allowed", "12345678\nb\n", []string{`"12345678"`, `"b"`}},
		{"too long", "123456789\nb\n", []string{`over "12345678"`, `"b"`}},
		{"too long by its CR", "12345678\r\nb\n", []string{`over "12345678"`, `"b"`}},
		{"far too long", strings.Repeat("x", 1000) + "\n\nb\n",
			[]string{`over "xxxxxxxx"`, `""`, `"b"`}},
		{"too long without an end", "a\n123456789", []string{`"a"`, `rest over "12345678"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for size := range byte(12) {
				got := split(tc.in, 8, bytes.Repeat([]byte{size}, len(tc.in)))
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("in chunks of %d (-want +got):\n%s", size+1, diff)
				}
			}
		})
	}
}

// Lines within the buffer need no memory, and a long line leaves none allocated.
func TestLineReaderKeepsLittle(t *testing.T) {
	l := NewLineReader(endless{}, 0)
	if n := testing.AllocsPerRun(10_000, func() { _, _ = l.Next() }); n > 0.1 {
		t.Errorf("%v allocations for each line", n)
	}
	long := strings.Repeat("x", 3*keepBuffer)
	for _, most := range []int{4 * keepBuffer, 2 * keepBuffer} {
		l = NewLineReader(strings.NewReader(long+"\nshort\n"), most)
		if line, err := l.Next(); err != nil || line.Oversize != (most < len(long)) ||
			!line.Oversize && len(line.Data) != len(long) {
			t.Errorf("the long line has %d bytes: %v", len(line.Data), err)
		}
		if line, err := l.Next(); err != nil || string(line.Data) != "short" || cap(l.line) > keepBuffer {
			t.Errorf("%q, %v: %d bytes are kept after a long line", line.Data, err, cap(l.line))
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = "0123456789\n"[i%11]
	}
	return len(b) - len(b)%11, nil
}

func TestLineReader(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name string
		r    io.Reader
		want []string
		err  error
	}{
		{"in pieces", iotest.OneByteReader(strings.NewReader("a\nb\nc")),
			[]string{`"a"`, `"b"`, `rest "c"`}, io.EOF},
		{"data and end at once", iotest.DataErrReader(strings.NewReader("a\nb\n")), []string{`"a"`, `"b"`},
			io.EOF},
		{"failure", io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)),
			[]string{`"a"`, `rest "b"`}, broken},
		{"nothing for ever", io.MultiReader(strings.NewReader("a\n"), silent{}), []string{`"a"`}, io.ErrNoProgress},
		{"longer than the buffer", strings.NewReader(strings.Repeat("x", 3*readBuffer) + "\n"),
			[]string{fmt.Sprintf("%q", strings.Repeat("x", 3*readBuffer))}, io.EOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := NewLineReader(tc.r, 0)
			var got []string
			line, err := l.Next()
			for ; err == nil; line, err = l.Next() {
				got = append(got, write(line))
			}
			if rest, ok := l.Rest(); ok {
				got = append(got, "rest "+write(rest))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%.500s", diff)
			}
			if _, again := l.Next(); err != tc.err || again != tc.err {
				t.Errorf("ended with %v and then %v, want %v", err, again, tc.err)
			}
		})
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// A line is returned as soon as its end has come, even if the reader could read more.
func TestLineReaderDoesNotReadAhead(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	l := NewLineReader(in, 0)
	for range 3 {
		go out.Write([]byte("x\n"))
		if line, err := l.Next(); err != nil || string(line.Data) != "x" {
			t.Fatalf("got %q, %v", line.Data, err)
		}
	}
}

// FuzzLines: any division of the same bytes into chunks gives the same lines as splitting the whole text.
func FuzzLines(f *testing.F) {
	f.Add("{}\n{}\r\n\n", []byte{0, 1, 2})
	f.Add("tail without end", []byte{3})
	f.Add(strings.Repeat("x", 50)+"\r\n\n", []byte{15, 0, 0})
	f.Add("\r\n\r\r\n\x00\xff\n\xef\xbb\xbf\n", []byte{0, 0, 0, 0})
	f.Add("0123456789abcdef\n0123456789abcdef\r\n", []byte{16, 15})
	f.Fuzz(func(t *testing.T, in string, sizes []byte) {
		const most = 16
		var want []string
		for rest := in; rest != ""; {
			data, after, whole := strings.Cut(rest, "\n")
			l, kind := Line{}, "rest "
			if whole {
				kind = ""
			}
			if l.Oversize = len(data) > most; l.Oversize {
				data = data[:most]
			} else {
				data = strings.TrimSuffix(data, "\r")
			}
			l.Data = []byte(data)
			want = append(want, kind+write(l))
			rest = after
		}
		if diff := cmp.Diff(want, split(in, most, sizes)); diff != "" {
			t.Fatalf("%q in %v (-want +got):\n%s", in, sizes, diff)
		}
	})
}
