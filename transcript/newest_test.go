package transcript

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
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
				s.user(strings.Repeat("y", 3*firstLook+n), false)
			}
		}, "", "100"},
		{"in a long line", func(s *scribe) {
			s.prompt("A")
			s.spent("m1", 100, m{"toolUseResult": strings.Repeat("z", 4<<20)})
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
			case n.Compacted:
				got = "compacted"
			}
			if got != test.want {
				t.Errorf("%s, want %s: %+v", got, test.want, n)
			}
		})
	}
}

// TestNewestAtEachPlace: it makes no difference where the first look begins in a line.
func TestNewestAtEachPlace(t *testing.T) {
	s := &scribe{}
	s.spent("m1", 100, nil)
	s.spent("m2", 200, nil)
	for shift := range 2 * len(s.lines[1]) {
		path := inFile(t, s.String()+strings.Repeat("x", firstLook-shift)+"\n")
		if n := testkit.Must(ReadNewest(path))(t); n.Sample.MessageID != "m2" {
			t.Fatalf("%d bytes before the end of the look: %+v", shift, n)
		}
	}
}

// TestNewestGivesUp: a file without a reading is not read to its beginning.
func TestNewestGivesUp(t *testing.T) {
	testkit.WithoutRace(t)
	s := &scribe{}
	s.spent("m1", 100, nil)
	path := inFile(t, s.String())
	testkit.OK(t, os.Truncate(path, maxLook+1<<20)) // sparse
	f := testkit.Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	testkit.Must(f.WriteString("\n"))(t)
	testkit.OK(t, f.Close())
	if n := testkit.Must(ReadNewest(path))(t); n.Found {
		t.Errorf("%+v", n)
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
