package transcript

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// plain is a session of three turns: one with a verdict, one with a text, and one whose tool still runs.
func plain() *scribe {
	s := &scribe{}
	s.prompt("A")
	s.rule("t1", m{"n": 1})
	s.prompt("B")
	s.assistant("end_turn", text("done"))
	s.prompt("C")
	s.assistant("tool_use", use("t2", "Bash", m{"command": "make"}))
	return s
}

var plainStatuses = []string{`A ruled {"n":1}`, "B ended", "C begun"}

func TestDamagedLinesAreSkipped(t *testing.T) {
	at := func(s *scribe, id string) int {
		for i, l := range s.lines {
			if strings.Contains(l, `"uuid":"`+id+`"`) {
				return i
			}
		}
		return -1
	}
	insert := func(s *scribe, i int, l string) {
		s.lines = append(s.lines[:i], append([]string{l}, s.lines[i:]...)...)
	}
	foreign := `{"type":"user","uuid":"B","parentUuid":null,"sessionId":"0b1f1a6e-0000-4000-8000-00000000ffff","promptSource":"sdk","timestamp":"2027","message":{"role":"user","content":"x"}}`
	for _, test := range []struct {
		name string
		harm func(*scribe)
		want []string
	}{
		{"none", func(*scribe) {}, plainStatuses},
		{"a stub that the next record joins", func(s *scribe) {
			i := at(s, "B")
			s.lines[i] = `{"type":"pr-link","prNu` + s.lines[i]
		}, plainStatuses},
		{"two stubs and two records on a line", func(s *scribe) {
			i := at(s, "B")
			s.lines[i] = `{"type":"pr-link","prNu{"type":"user","mess` + s.lines[i] + s.lines[i+1]
			s.lines[i+1] = ""
		}, plainStatuses},
		{"a missing line end", func(s *scribe) { i := at(s, "B"); s.lines[i] += s.lines[i+1]; s.lines[i+1] = "" },
			plainStatuses},
		{"NULs before a record", func(s *scribe) {
			i := at(s, "B")
			s.lines[i] = strings.Repeat("\x00", 4096) + s.lines[i]
		}, plainStatuses},
		{"a record lost within a branch", func(s *scribe) {
			i := at(s, "u2")
			s.lines[i] = `{"parentUuid":"A","type":"attach`
		}, plainStatuses},
		{"the message lost", func(s *scribe) { i := at(s, "B"); s.lines[i] = s.lines[i][:40] },
			[]string{`A ruled {"n":1}`, "B absent", "C begun"}},
		{"a cut last line", func(s *scribe) { s.lines = append(s.lines, `{"parentUuid":"u9","type":"assist`) },
			plainStatuses},
		{"a record twice", func(s *scribe) { s.lines = append(s.lines, s.lines[at(s, "A")]) }, plainStatuses},
		{"another session's record", func(s *scribe) { s.lines = append(s.lines, foreign) }, plainStatuses},
		{"another session's record within", func(s *scribe) { insert(s, at(s, "B"), foreign) }, plainStatuses},
		{"a subagent's record", func(s *scribe) {
			s.lines = append(s.lines, `{"type":"user","uuid":"S","parentUuid":null,"isSidechain":true,"timestamp":"2027","message":{"role":"user","content":"x"}}`)
		}, plainStatuses},
		{"unknown types", func(s *scribe) {
			s.lines = append(s.lines, `{"type":"novelty","uuid":"N","parentUuid":"A","timestamp":"2027"}`,
				`{"no":"type"}`, `[1]`, `null`, `"text"`)
		}, plainStatuses},
		{"fields of other types", func(s *scribe) {
			i := at(s, "B")
			s.lines[i] = `{"isMeta":"no","mergedSendUuids":7,` + s.lines[i][1:]
			s.lines = append(s.lines, `{"type":7,"uuid":[],"message":"text"}`)
		}, plainStatuses},
		{"a loop beside the branch", func(s *scribe) {
			s.lines = append(s.lines, `{"type":"attachment","uuid":"x","parentUuid":"y"}`,
				`{"type":"attachment","uuid":"y","parentUuid":"x"}`)
		}, plainStatuses},
		{"blank lines and CRLF", func(s *scribe) {
			for i := range s.lines {
				s.lines[i] += "\r\n"
			}
		}, plainStatuses},
		{"a tool's input that quotes a transcript", func(s *scribe) {
			s.lines = append(s.lines, `{"type":"assistant","message":{"content":[{"type":"text","text":"{\"type\":\"user\",\"uuid\":\"B\"}"},{"type":"user","uuid":"A","promptSou`)
		}, plainStatuses},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := plain()
			test.harm(s)
			if diff := cmp.Diff(test.want, statuses(t, s.String(), "A", "B", "C")); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, s)
			}
		})
	}
}

func TestLoopOnTheBranch(t *testing.T) {
	lines := `{"type":"user","uuid":"A","parentUuid":"b","promptSource":"sdk","message":{"role":"user","content":"x"}}
{"type":"assistant","uuid":"b","parentUuid":"A","message":{"stop_reason":"end_turn","content":[]}}
`
	if got := statuses(t, lines, "A"); len(got) != 1 { // without a leaf any state will do
		t.Errorf("got %q", got)
	}
}

func TestDamagedLinesAreCounted(t *testing.T) {
	s := plain()
	records := len(s.lines)
	s.lines = append(s.lines, `{"type":"novelty"}`, "garbage", `{"type":"user","sessionId":"else"}`,
		`{"type":"last-prompt"}`)
	damaged, err := eachRecord(context.Background(), strings.NewReader(s.String()), func(Record) { records-- })
	if damaged != 1 || records != -3 || err != nil {
		t.Errorf("damaged %d, more records %d, %v", damaged, -records, err)
	}
}

func TestLongLines(t *testing.T) {
	testkit.WithoutRace(t)
	s := plain()
	long := strings.Repeat("x", 12<<20)
	s.assistant("tool_use", text(long), use("t3", "StructuredOutput", m{"long": long[:1<<20]}))
	s.result("t3", false)
	s.lines = append(s.lines, `{"type":"user","x":"`+strings.Repeat("y", jsonl.MaxLine)+`"}`)
	s.prompt("D") // a line after one that is too long is still read
	got := statuses(t, s.String(), "A", "C", "D")
	if !strings.HasPrefix(got[1], `C ruled {"long":"xxx`) || len(got[1]) < 1<<20 || got[2] != "D seen" {
		t.Errorf("got %.60q", got)
	}
}

func TestLocate(t *testing.T) {
	config := filepath.Join(t.TempDir(), "conf[1]*") // no pattern
	dir := filepath.Join(config, "projects", "-any-name")
	testkit.OK(t, os.MkdirAll(filepath.Join(dir, session, "subagents"), 0o700))
	if _, ok := Locate(config, session); ok {
		t.Error("found what is not there")
	}
	file := filepath.Join(dir, session+".jsonl")
	for name, size := range map[string]int{file: 10, filepath.Join(dir, session, "subagents", "agent-a1.jsonl"): 5,
		filepath.Join(dir, session, "subagents", "agent-a1.meta.json"): 7, filepath.Join(dir, "escape.jsonl"): 1} {
		testkit.OK(t, os.WriteFile(name, make([]byte, size), 0o600))
	}
	if got, ok := Locate(config, session); !ok || got != file {
		t.Errorf("located %q, %v", got, ok)
	}
	if n := Size(file); n != 15 {
		t.Errorf("size %d, want the session's and its subagent's", n)
	}
	for _, bad := range []string{"", "escape", "../escape", "*", session + "/../" + session, strings.Repeat("?", 36),
		session[:35]} {
		if got, ok := Locate(config, bad); ok {
			t.Errorf("session %q was located at %s", bad, got)
		}
	}
	if _, ok := Locate("", session); ok {
		t.Error("located without a configuration directory")
	}
}

func TestNoTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), session+".jsonl")
	if _, err := ReadDeliveries(context.Background(), path, []string{"A"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	testkit.OK(t, os.Mkdir(path, 0o700))
	if _, err := ReadDeliveries(context.Background(), path, nil); !errors.Is(err, ErrNotRegular) {
		t.Errorf("directory: %v", err)
	}
	given, cancel := context.WithCancel(context.Background())
	cancel()
	file := filepath.Join(t.TempDir(), session+".jsonl")
	testkit.OK(t, os.WriteFile(file, []byte(plain().String()), 0o600))
	if _, err := ReadDeliveries(given, file, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// FuzzStatuses: with any content of the file, reading it ends, every message has one
// status, and a verdict is JSON. Damage after the end of a whole file changes nothing.
func FuzzStatuses(f *testing.F) {
	f.Add([]byte(plain().String()))
	f.Add([]byte(`{"type":"pr-link","prNu{"parentUuid":null,"type":"user","uuid":"A"}` + "\n"))
	f.Add([]byte(`{"type":"user","uuid":"A","message":{"content":"x"}}{"type":"assistant","uuid":"B","parentUuid":"A"}`))
	f.Add([]byte("\x00\x00\x00{\"type\":\"user\",\"uuid\":\"A\"}\n\x00\n"))
	f.Add([]byte(`{"type":"user","uuid":"A","parentUuid":"A"}` + "\n" +
		`{"type":"assistant","uuid":"B","parentUuid":"C"}`))
	f.Add([]byte(`{"type":"system","subtype":"compact_boundary","uuid":"A","logicalParentUuid":"B"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		ids := []string{"A", "B", "C", ""}
		read := func(b []byte) []Delivery {
			h := newHistory(session)
			testkit.OK(t, h.read(context.Background(), bytes.NewReader(b)))
			return h.deliveries(ids)
		}
		got := read(content)
		for i, delivery := range got {
			valid := delivery.State == Absent || delivery.State == Seen || delivery.State == Begun || delivery.State == Ended ||
				delivery.State == Ruled
			if delivery.ID != ids[i] || !valid || (delivery.State == Ruled) != (len(delivery.Verdict) > 0) {
				t.Errorf("delivery %+v", delivery)
			}
		}
		torn := append(append(bytes.Clone(content), '\n'), "\x00\x00{\"type\":\"user\",\"uuid\":\"A\",\"mess"...)
		if diff := cmp.Diff(render(got), render(read(torn))); diff != "" {
			t.Errorf("a torn line at the end changed (-before +after):\n%s", diff)
		}
	})
}
