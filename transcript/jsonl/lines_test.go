package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// split feeds all of in to s, in chunks of the given sizes (1 to 256; the rest is one chunk), and formats the
// lines.
func split(s *Splitter, in string, sizes []byte) (got []string) {
	for in != "" {
		n := len(in)
		if len(sizes) > 0 {
			n, sizes = min(n, int(sizes[0])+1), sizes[1:]
		}
		chunk := []byte(in[:n])
		in = in[n:]
		s.Feed(chunk)
		for line, ok := s.Next(); ok; line, ok = s.Next() {
			got = append(got, write(line))
		}
		for i := range chunk {
			chunk[i] = '?' // the caller may change the chunk now
		}
	}
	if rest, ok := s.Rest(); ok {
		got = append(got, "rest "+write(rest))
	}
	return got
}

func write(l Line) string {
	if l.Oversize {
		return fmt.Sprintf("%d-%d over %q", l.Start, l.End, l.Data)
	}
	return fmt.Sprintf("%d-%d %q", l.Start, l.End, l.Data)
}

func TestSplitter(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"lines", "a\nbc\n", []string{`0-2 "a"`, `2-5 "bc"`}},
		{"no end", "a\nb", []string{`0-2 "a"`, `rest 2-3 "b"`}},
		{"empty lines", "\n\r\n\n", []string{`0-1 ""`, `1-3 ""`, `3-4 ""`}},
		{"CRLF", "a\r\nb\rc\r\r\n", []string{`0-3 "a"`, `3-9 "b\rc\r"`}},
		{"NULs, BOM, no UTF-8", "\x00\x00{}\n\xef\xbb\xbf\n\xff\xfe\n",
			[]string{`0-5 "\x00\x00{}"`, `5-9 "\ufeff"`, `9-12 "\xff\xfe"`}},
		{"as long as allowed", "12345678\nb\n", []string{`0-9 "12345678"`, `9-11 "b"`}},
		{"too long", "123456789\nb\n", []string{`0-10 over "12345678"`, `10-12 "b"`}},
		{"too long by its CR", "12345678\r\nb\n", []string{`0-10 over "12345678"`, `10-12 "b"`}},
		{"far too long", strings.Repeat("x", 1000) + "\n\nb\n",
			[]string{`0-1001 over "xxxxxxxx"`, `1001-1002 ""`, `1002-1004 "b"`}},
		{"too long without an end", "a\n123456789", []string{`0-2 "a"`, `rest 2-11 over "12345678"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for size := range byte(12) {
				s := Splitter{Max: 8}
				got := split(&s, tc.in, bytes.Repeat([]byte{size}, len(tc.in)))
				testkit.Same(t, fmt.Sprintf("in chunks of %d", size+1), tc.want, got)
				if s.Fed() != int64(len(tc.in)) {
					t.Errorf("fed %d bytes of %d", s.Fed(), len(tc.in))
				}
			}
		})
	}
}

func TestSplitterContinues(t *testing.T) {
	var s Splitter
	split(&s, "one\ntw", nil)
	s.Reset(100)
	testkit.Same(t, "after a reset", []string{`100-102 "x"`, `rest 102-103 "y"`}, split(&s, "x\ny", nil))
}

// Lines within a chunk need no memory, and a long line leaves none allocated.
func TestSplitterKeepsLittle(t *testing.T) {
	chunk := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 600)
	var s Splitter
	n := testing.AllocsPerRun(10, func() {
		s.Feed(chunk)
		for _, ok := s.Next(); ok; _, ok = s.Next() {
		}
	})
	testkit.Check(t, n == 0, "%v allocations for lines within a chunk", n)
	long := bytes.Repeat([]byte("x"), keepBuffer)
	for range 3 {
		s.Feed(long)
		s.Next()
	}
	s.Feed([]byte("\nshort\n"))
	line, ok := s.Next()
	testkit.Check(t, ok && len(line.Data) == 3*keepBuffer, "the long line has %d bytes", len(line.Data))
	s.Next()
	testkit.Check(t, cap(s.carry) <= keepBuffer, "%d bytes are kept after a long line", cap(s.carry))
	s = Splitter{Max: 4 * keepBuffer}
	for range 5 {
		s.Feed(long)
		s.Next()
	}
	testkit.Check(t, cap(s.carry) <= keepBuffer, "%d bytes are kept of a line that is too long", cap(s.carry))
}

func TestSplitterRefusesAnEarlyFeed(t *testing.T) {
	defer func() {
		testkit.Check(t, recover() != nil, "lines were dropped without a word")
	}()
	var s Splitter
	s.Feed([]byte("a\nb\n"))
	s.Next()
	s.Feed([]byte("c\n"))
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
			[]string{`0-2 "a"`, `2-4 "b"`, `rest 4-5 "c"`}, io.EOF},
		{"data and end at once", iotest.DataErrReader(strings.NewReader("a\nb\n")), []string{`0-2 "a"`, `2-4 "b"`},
			io.EOF},
		{"failure", io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)),
			[]string{`0-2 "a"`, `rest 2-3 "b"`}, broken},
		{"nothing for ever", io.MultiReader(strings.NewReader("a\n"), silent{}), []string{`0-2 "a"`}, io.ErrNoProgress},
		{"longer than the buffer", strings.NewReader(strings.Repeat("x", 3*readBuffer) + "\n"),
			[]string{fmt.Sprintf("0-%d %q", 3*readBuffer+1, strings.Repeat("x", 3*readBuffer))}, io.EOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := NewLineReader(tc.r, 0)
			var got []string
			line, err := l.Next()
			for ; err == nil; line, err = l.Next() {
				got = append(got, write(line))
			}
			if rest, ok := l.Splitter.Flush(); ok {
				got = append(got, "rest "+write(rest))
			}
			testkit.Same(t, tc.name, tc.want, got)
			_, again := l.Next()
			testkit.Check(t, err == tc.err && again == tc.err, "ended with %v and then %v, want %v", err, again, tc.err)
		})
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestSplitterFlush(t *testing.T) {
	s := Splitter{Max: 4}
	for _, tc := range []struct{ feed, want string }{
		{"a\nb\r", `2-4 "b"`}, {"cc", `4-6 "cc"`}, {"d\n", ""}, {"12345", `8-13 over "1234"`}, {"", ""},
		{"e", `13-14 "e"`},
	} {
		s.Feed([]byte(tc.feed))
		for _, ok := s.Next(); ok; _, ok = s.Next() {
		}
		got := ""
		if line, ok := s.Flush(); ok {
			got = write(line)
		}
		testkit.Same(t, fmt.Sprintf("after %q", tc.feed), tc.want, got)
		_, again := s.Rest()
		testkit.Check(t, !again, "after %q: flushed, and still there", tc.feed)
	}
}

// A line is returned as soon as its end has come, even if the reader could read more.
func TestLineReaderDoesNotReadAhead(t *testing.T) {
	in, out := io.Pipe()
	defer in.Close()
	l := NewLineReader(in, 0)
	for range 3 {
		go out.Write([]byte("x\n"))
		line, err := l.Next()
		testkit.Need(t, err == nil && string(line.Data) == "x", "got %q, %v", line.Data, err)
	}
}

// FuzzSplitter: any division of the same bytes into chunks gives the same lines and offsets as splitting the
// whole text.
func FuzzSplitter(f *testing.F) {
	f.Add("{}\n{}\r\n\n", []byte{0, 1, 2})
	f.Add("tail without end", []byte{3})
	f.Add(strings.Repeat("x", 50)+"\r\n\n", []byte{15, 0, 0})
	f.Add("\r\n\r\r\n\x00\xff\n\xef\xbb\xbf\n", []byte{0, 0, 0, 0})
	f.Add("0123456789abcdef\n0123456789abcdef\r\n", []byte{16, 15})
	f.Fuzz(func(t *testing.T, in string, sizes []byte) {
		const most = 16
		var want []string
		start, rest := int64(0), in
		for rest != "" {
			data, after, whole := strings.Cut(rest, "\n")
			l := Line{Start: start, End: start + int64(len(data))}
			kind := "rest "
			if whole {
				l.End++
				kind = ""
			}
			switch {
			case len(data) > most:
				data, l.Oversize = data[:most], true
			case whole:
				data = strings.TrimSuffix(data, "\r")
			}
			l.Data = []byte(data)
			want = append(want, kind+write(l))
			start, rest = l.End, after
		}
		s := Splitter{Max: most}
		diff := cmp.Diff(want, split(&s, in, sizes))
		testkit.Need(t, diff == "", "%q in %v (-want +got):\n%s", in, sizes, diff)
	})
}

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

func TestMembers(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []Member
		err  string
	}{
		{in: `{}`},
		{in: " {\t}\r\n"},
		{in: `{"a":1}`, want: []Member{{"a", json.RawMessage(`1`)}}},
		{in: `{ "a" : [ {"b" : "]}"} , 2 ] , "A":"x\"," , "a" :null }`, want: []Member{
			{"a", json.RawMessage(`[ {"b" : "]}"} , 2 ]`)}, {"A", json.RawMessage(`"x\","`)}, {"a", json.RawMessage(`null`)}}},
		{in: `{"\u0061\"":-1e5,"` + "\xff" + `":true}`, want: []Member{
			{`a"`, json.RawMessage(`-1e5`)}, {"\ufffd", json.RawMessage(`true`)}}},
		{in: ``, err: "not valid JSON: the line ends too early"},
		{in: `[1]`, err: "expected a JSON object, got an array"},
		{in: ` null`, err: "expected a JSON object, got null"},
		{in: `{"a":1,"b":`, want: []Member{{"a", json.RawMessage(`1`)}}, err: "not valid JSON: the line ends too early"},
		{in: `{"a":1} {`, want: []Member{{"a", json.RawMessage(`1`)}}, err: "not valid JSON: something follows the object"},
		{in: `{"a":1,2:3}`, want: []Member{{"a", json.RawMessage(`1`)}},
			err: "not valid JSON: invalid character '2' looking for beginning of object key string"},
	} {
		data := []byte(tc.in)
		got, err := Members(data)
		clear(data) // it is the caller's again
		testkit.Same(t, tc.in, tc.want, got)
		testkit.Same(t, fmt.Sprintf("%s: error", tc.in), tc.err, errorText(err))
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzMembers compares the fields of valid objects with those that encoding/json's decoder finds.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":{"b":[1,"]",{}]},"c":"\\\"","a":0.5e-7}`, ` { "x" : true , "y":[] } `, `{"a":1}2`,
		`[{}]`, `"a"`, `{"\ud800":"é"}`, "{\"\xff\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Members(data)
		if !json.Valid(data) {
			testkit.Need(t, err != nil, "%q has the members %v", data, got)
			return
		}
		want, wantErr := damagedMembers(data)
		if wantErr != nil && wantErr.Error() == "not valid JSON: something follows the object" {
			wantErr = nil // it expects a fault
		}
		if diff := cmp.Diff(want, got); diff != "" || errorText(err) != errorText(wantErr) {
			t.Fatalf("%q: %v, want %v (-want +got):\n%s", data, err, wantErr, diff)
		}
		for _, m := range got {
			var want string
			fault := json.Unmarshal(m.Value, &want)
			text, err := String(m.Value)
			testkit.Need(t, m.Value[0] != '"' || err == nil && fault == nil && text == want,
				"%s is read as %q (%v), want %q (%v)", m.Value, text, err, want, fault)
		}
	})
}

// TestCut: wherever a text is cut, no part of a word is left at the cut, unless the word is longer than a secret.
func TestCut(t *testing.T) {
	testkit.Same(t, "cut in mid-rune", "a", Cut("aé", 2))
	testkit.Same(t, "before", "", Cut("é", 0))
	testkit.Same(t, "the end in mid-rune", "a", CutFront("éa", 2))
	testkit.Same(t, "nothing", "", CutFront("éa", 0))
	const secret = "made-up+of/4711=looms"
	for _, text := range []string{"it is " + secret + " and more", `{"a":"b","c":"` + secret + `","d":"e"}`} {
		for n := range len(text) {
			head, tail := Cut(text, n), CutFront(text, n)
			testkit.Check(t, len(head) <= n && strings.HasPrefix(text, head), "%d bytes of %q: %q", n, text, head)
			testkit.Check(t, len(tail) <= n && strings.HasSuffix(text, tail), "%d last bytes of %q: %q", n, text, tail)
			for _, part := range []string{head, tail} {
				testkit.Check(t, strings.Contains(part, secret) ||
					!strings.Contains(part, secret[:3]) && !strings.Contains(part, secret[len(secret)-3:]),
					"cut at %d: %q", n, part)
			}
		}
	}
	long := strings.Repeat("y", 3*longWord)
	testkit.Same(t, "a long word", 2*longWord, len(Cut("x "+long, 2*longWord)))
	testkit.Same(t, "the end of a long word", 2*longWord, len(CutFront(long+" x", 2*longWord)))
	testkit.Same(t, "whole lines", "PASSWORD='c d'\nx", CutFront("a b\nPASSWORD='c d'\nx", 18))
	testkit.Same(t, "exactly whole lines", "PASSWORD='c d'\nx", strings.TrimSpace(CutFront("b\nPASSWORD='c d'\nx", 16)))
}

func TestPrivateLines(t *testing.T) {
	const body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
	for name, tt := range map[string]struct{ text, want string }{
		"a key": {"a\n-----BEGIN PRIVATE KEY-----\n" + body + "\nAA==\n-----END PRIVATE KEY-----\nb\n", "..xx.."},
		"encrypted": {"-----BEGIN EC PRIVATE KEY-----\nDEK-Info: a,b\n\n" + body +
			"\n-----END EC PRIVATE KEY-----\nb\n", "...x.."},
		"cut off":          {"-----BEGIN PRIVATE KEY-----\n" + body + "\nand then more.\n" + body + "\n", ".x.."},
		"numbered":         {"1→-----BEGIN PRIVATE KEY-----\n2→" + body + "\n 3\tAA==\n", ".xx"},
		"only mentioned":   {"-----BEGIN PRIVATE KEY-----\nis\n" + body + "\n", "..."},
		"not a secret one": {"-----BEGIN CERTIFICATE-----\n" + body + "\n", ".."},
		"on one line":      {"-----BEGIN PRIVATE KEY-----" + body + "-----END PRIVATE KEY-----\n" + body + "\n", ".."},
	} {
		var keys PrivateLines
		got := ""
		for line := range strings.Lines(tt.text) {
			got += map[bool]string{false: ".", true: "x"}[keys.Hides(strings.TrimSuffix(line, "\n"))]
		}
		testkit.Same(t, name, tt.want, got)
	}
}
