package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// spent adds a line of an assistant with usage.
func (s *scribe) spent(id string, tokens int, more m) string {
	fields := m{"type": "assistant",
		"message": m{"id": id, "role": "assistant", "model": "opus", "content": []m{text("x")},
			"usage": m{"input_tokens": 1, "cache_read_input_tokens": tokens - 1, "output_tokens": 9}}}
	for k, v := range more {
		fields[k] = v
	}
	return s.line(fields)
}

func (s *scribe) compacts(post int) {
	s.line(m{"type": "system", "subtype": "compact_boundary", "parentUuid": nil, "logicalParentUuid": s.leaf,
		"compactMetadata": m{"trigger": "auto", "postTokens": post}})
}

func inFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), session+extension)
	testkit.OK(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestNewest(t *testing.T) {
	for _, test := range []struct {
		name  string
		write func(*scribe)
		tail  string // after the end of the last line
		want  string
	}{
		{"an empty file", func(s *scribe) {}, "", "nothing"},
		{"no answer yet", func(s *scribe) { s.prompt("A") }, "", "nothing"},
		{"the only line", func(s *scribe) { s.spent("m1", 100, nil) }, "", "100"},
		{"the last of two", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.spent("m2", 200, nil)
			s.result("t", false)
		}, "", "200"},
		{"blocks of one message", func(s *scribe) { s.spent("m1", 100, nil); s.spent("m1", 100, nil) }, "", "100"},
		{"a subagent's", func(s *scribe) { s.spent("m1", 100, nil); s.spent("m2", 900, m{"isSidechain": true}) }, "",
			"100"},
		{"synthetic", func(s *scribe) { s.spent("m1", 100, nil); s.own("No response requested.", false) }, "", "100"},
		{"synthetic, with usage", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.spent("m2", 9, m{"message": m{"id": "m2", "model": "<synthetic>", "usage": m{"input_tokens": 9}}})
		}, "", "100"},
		{"an API error", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.spent("m2", 200, m{"isApiErrorMessage": true})
		}, "", "100"},
		{"nothing used", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.line(m{"type": "assistant", "message": m{"id": "m2", "model": "opus", "usage": m{"input_tokens": 0}}})
		}, "", "100"},
		{"less than nothing", func(s *scribe) { s.spent("m1", 100, nil); s.spent("m2", -50, nil) }, "", "100"},
		{"no count at all", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.line(m{"type": "assistant",
				"message": m{"id": "m2", "model": "opus", "usage": m{"input_tokens": "many"}}})
		}, "", "100"},
		{"another session's", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.spent("m2", 200, m{"sessionId": "else"})
		}, "", "100"},
		{"a compaction", func(s *scribe) { s.spent("m1", 100, nil); s.compacts(42); s.user("summary", false) }, "",
			"compacted"},
		{"a subagent's compaction", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.line(m{"type": "system", "subtype": "compact_boundary", "isSidechain": true})
		}, "", "100"},
		{"another session's compaction", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.line(m{"type": "system", "subtype": "compact_boundary", "sessionId": "else"})
		}, "", "100"},
		{"read after a compaction", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.compacts(42)
			s.spent("m2", 50, nil)
		}, "", "50"},
		{"a cut last line", func(s *scribe) { s.spent("m1", 100, nil) },
			`{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":7`, "100"},
		{"a last line without its end", func(s *scribe) { s.spent("m1", 100, nil) },
			`{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":7}}}`, "100"},
		{"a cut line as long as many blocks", func(s *scribe) { s.spent("m1", 100, nil) }, strings.Repeat("x", 5<<20),
			"100"},
		{"a stub joined with the line", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.lines[0] = `{"type":"pr-link","prNu` + s.lines[0]
		}, "", "100"},
		{"two on a line", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.spent("m2", 200, nil)
			s.lines = []string{s.lines[0] + s.lines[1]}
		}, "", "200"},
		{"a compaction before it on a line", func(s *scribe) {
			s.compacts(42)
			s.spent("m2", 200, nil)
			s.lines = []string{s.lines[0] + s.lines[1]}
		}, "", "200"},
		{"NULs and garbage behind", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.lines = append(s.lines, "\x00\x00", `{"usage"`)
		}, "", "100"},
		{"a text that quotes a transcript", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.user(`{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":7}}}`+"\n"+`"compact_boundary"`,
				false)
		}, "", "100"},
		{"long lines behind", func(s *scribe) {
			s.spent("m1", 100, nil)
			for n := range 5 {
				s.user(strings.Repeat("y", 3*firstBlock+n), false)
			}
		}, "", "100"},
		{"in a long line", func(s *scribe) {
			s.prompt("A")
			s.spent("m1", 100, m{"toolUseResult": strings.Repeat("z", 3*maxBlock)})
			s.prompt("B")
		}, "", "100"},
		{"CRLF", func(s *scribe) {
			s.spent("m1", 100, nil)
			s.lines[0] += "\r"
			s.lines = append(s.lines, "\r", "")
		}, "", "100"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &scribe{}
			test.write(s)
			content := test.tail
			if len(s.lines) > 0 {
				content = s.String() + test.tail
			}
			n := testkit.Must(ReadNewest(inFile(t, content)))(t)
			got := "nothing"
			switch {
			case n.Found:
				got = fmt.Sprint(n.Sample.Usage.Context())
				if line, _, _ := strings.Cut(content[n.Offset:], "\n"); !strings.Contains(line, n.Sample.MessageID) ||
					n.Offset > 0 && content[n.Offset-1] != '\n' {
					t.Errorf("offset %d of %+v is not a line's", n.Offset, n)
				}
			case n.Compacted:
				got = "compacted"
			}
			if got != test.want || n.GaveUp {
				t.Errorf("%s, want %s: %+v", got, test.want, n)
			}
		})
	}
}

// TestBackwardLines: every line is returned whole, with any sizes of lines and blocks.
func TestBackwardLines(t *testing.T) {
	testkit.WithoutRace(t)
	for _, sizes := range [][]int{{}, {0}, {0, 0}, {1}, {firstBlock - 1}, {firstBlock}, {firstBlock + 1},
		{firstBlock - 1, 0, firstBlock},
		{10, 5 * firstBlock, 10}, {3, maxBlock, maxBlock + 1, 2*maxBlock - 1, 7}, {5 << 20, 1, 5 << 20}} {
		for _, tail := range []string{"", "cut", strings.Repeat("c", 3*firstBlock)} {
			var content bytes.Buffer
			var want []string
			for i, n := range sizes {
				line := strings.Repeat(string(rune('a'+i)), n)
				want = append([]string{line}, want...)
				content.WriteString(line + "\n")
			}
			content.WriteString(tail)
			b := newBackward(bytes.NewReader(content.Bytes()), int64(content.Len()))
			var got []string
			for {
				line, at, err := b.previous()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.HasPrefix(content.Bytes()[at:], append(line, '\n')) {
					t.Errorf("sizes %v: line at %d is not what the file has there", sizes, at)
				}
				got = append(got, string(line))
			}
			if !cmp.Equal(want, got) {
				t.Errorf("sizes %v, tail of %d: %d lines, want %d", sizes, len(tail), len(got), len(want))
			}
			if b.looked != int64(content.Len()) {
				t.Errorf("sizes %v, tail of %d: %d bytes read of %d", sizes, len(tail), b.looked, content.Len())
			}
		}
	}
}

// sparse is a file of x's with lines at given offsets. It needs no memory for the x's.
type sparse struct {
	size  int64
	lines map[int64]string
}

func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	for from, line := range s.lines {
		for i := range len(line) {
			if k := from + int64(i) - at; k >= 0 && k < int64(len(p)) {
				p[k] = line[i]
			}
		}
	}
	return len(p), nil
}

// A line that is too long to keep is skipped with limited memory, and the scan of a file without a reading
// gives up.
func TestBackwardBounds(t *testing.T) {
	testkit.WithoutRace(t)
	f := sparse{size: jsonl.MaxLine + 1<<20, lines: map[int64]string{0: "first\n", jsonl.MaxLine + 1000: "\nlast\n"}}
	b := newBackward(f, f.size)
	for _, want := range []string{"last", "first"} {
		line, _, err := b.previous()
		if err != nil || string(line) != want {
			t.Fatalf("%.20q, %v; want %q", line, err, want)
		}
	}
	if cap(b.buf) > maxBlock {
		t.Errorf("a buffer of %d bytes is kept", cap(b.buf))
	}
	f = sparse{size: 1 << 40}
	b = newBackward(f, f.size)
	if line, _, err := b.previous(); !errors.Is(err, io.EOF) || !b.gaveUp || b.looked > MaxLook+maxBlock {
		t.Errorf("%.20q, %v, gave up %v after %d", line, err, b.gaveUp, b.looked)
	}
}

// A file that shrinks while it is read is an error, not a shorter file.
func TestBackwardTruncated(t *testing.T) {
	b := newBackward(strings.NewReader("a\nb\n"), 100)
	if line, _, err := b.previous(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", line, err)
	}
}

func TestNewestUnreadable(t *testing.T) {
	if _, err := ReadNewest(filepath.Join(t.TempDir(), session+extension)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := ReadNewest(t.TempDir()); !errors.Is(err, ErrNotRegular) {
		t.Errorf("directory: %v", err)
	}
}
