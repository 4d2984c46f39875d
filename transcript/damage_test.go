package transcript

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
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

func TestDamagedLinesAreSkipped(t *testing.T) {
	at := func(s *scribe, id string) int {
		return slices.IndexFunc(s.lines, func(l string) bool { return strings.Contains(l, `"uuid":"`+id+`"`) })
	}
	edit := func(id string, to func(line string) string) func(*scribe) {
		return func(s *scribe) { i := at(s, id); s.lines[i] = to(s.lines[i]) }
	}
	before := func(text string) func(*scribe) { return edit("B", func(l string) string { return text + l }) }
	behind := func(lines ...string) func(*scribe) {
		return func(s *scribe) { s.lines = append(s.lines, lines...) }
	}
	join := func(text string) func(*scribe) {
		return func(s *scribe) {
			i := at(s, "B")
			s.lines[i], s.lines[i+1] = text+s.lines[i]+s.lines[i+1], ""
		}
	}
	foreign := `{"type":"user","uuid":"B","parentUuid":null,"sessionId":"0b1f1a6e-0000-4000-8000-00000000ffff","promptSource":"sdk","timestamp":"2027","message":{"role":"user","content":"x"}}`
	for name, harm := range map[string]func(*scribe){
		"none":                                func(*scribe) {},
		"a stub that the next record joins":   before(`{"type":"pr-link","prNu`),
		"two stubs and two records on a line": join(`{"type":"pr-link","prNu{"type":"user","mess`),
		"a missing line end":                  join(""),
		"NULs before a record":                before(strings.Repeat("\x00", 4096)),
		"a record lost within a branch": edit("u2",
			func(string) string { return `{"parentUuid":"A","type":"attach` }),
		"the message lost":         edit("B", func(l string) string { return l[:40] }),
		"a cut last line":          behind(`{"parentUuid":"u9","type":"assist`),
		"a record twice":           func(s *scribe) { s.lines = append(s.lines, s.lines[at(s, "A")]) },
		"another session's record": behind(foreign),
		"another session's record within": func(s *scribe) {
			s.lines = slices.Insert(s.lines, at(s, "B"), foreign)
		},
		"a subagent's record": behind(`{"type":"user","uuid":"S","parentUuid":null,"isSidechain":true,"timestamp":"2027","message":{"role":"user","content":"x"}}`),
		"unknown types": behind(`{"type":"novelty","uuid":"N","parentUuid":"A","timestamp":"2027"}`,
			`{"no":"type"}`, `[1]`, `null`, `"text"`),
		"fields of other types": func(s *scribe) {
			edit("B", func(l string) string { return `{"isMeta":"no","mergedSendUuids":7,` + l[1:] })(s)
			behind(`{"type":7,"uuid":[],"message":"text"}`)(s)
		},
		"a loop beside the branch": behind(`{"type":"attachment","uuid":"x","parentUuid":"y"}`,
			`{"type":"attachment","uuid":"y","parentUuid":"x"}`),
		"blank lines and CRLF": func(s *scribe) {
			for i := range s.lines {
				s.lines[i] += "\r\n"
			}
		},
		"a tool's input that quotes a transcript": behind(`{"type":"assistant","message":{"content":[{"type":"text","text":"{\"type\":\"user\",\"uuid\":\"B\"}"},{"type":"user","uuid":"A","promptSou`),
	} {
		t.Run(name, func(t *testing.T) {
			s, want := plain(), []string{`A ruled {"n":1}`, "B ended", "C begun"}
			if name == "the message lost" {
				want[1] = "B absent"
			}
			harm(s)
			testkit.Same(t, s, want, statuses(t, s.String(), "A", "B", "C"))
		})
	}
}

func TestLoopOnTheBranch(t *testing.T) {
	lines := `{"type":"user","uuid":"A","parentUuid":"b","promptSource":"sdk","message":{"role":"user","content":"x"}}
{"type":"assistant","uuid":"b","parentUuid":"A","message":{"stop_reason":"end_turn","content":[]}}
`
	got := statuses(t, lines, "A")
	testkit.Check(t, len(got) == 1, "got %q", got) // without a leaf any state will do
}

func TestDamagedLinesAreCounted(t *testing.T) {
	s := plain()
	records := len(s.lines)
	s.lines = append(s.lines, `{"type":"novelty"}`, "garbage", `{"type":"user","sessionId":"else"}`,
		`{"type":"last-prompt"}`)
	damaged, err := eachRecord(context.Background(), strings.NewReader(s.String()), func(*Record) { records-- })
	testkit.Check(t, damaged == 1 && records == -3 && err == nil, "damaged %d, more records %d, %v", damaged, -records,
		err)
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
	testkit.Check(t, strings.HasPrefix(got[1], `C ruled {"long":"xxx`) && len(got[1]) >= 1<<20 && got[2] == "D seen",
		"got %.60q", got)
}

func TestLocate(t *testing.T) {
	config := filepath.Join(t.TempDir(), "conf[1]*") // no pattern
	dir := filepath.Join(config, "projects", "-any-name")
	testkit.OK(t, os.MkdirAll(filepath.Join(dir, session, "subagents"), 0o700))
	_, ok := Locate(config, session)
	testkit.Check(t, !ok, "found what is not there")
	file := filepath.Join(dir, session+".jsonl")
	for name, size := range map[string]int{file: 10, filepath.Join(dir, session, "subagents", "agent-a1.jsonl"): 5,
		filepath.Join(dir, session, "subagents", "agent-a1.meta.json"): 7, filepath.Join(dir, "escape.jsonl"): 1} {
		testkit.OK(t, os.WriteFile(name, make([]byte, size), 0o600))
	}
	got, ok := Locate(config, session)
	testkit.Check(t, ok && got == file, "located %q, %v", got, ok)
	testkit.Same(t, "size, of the session and its subagent", 15, Size(file))
	for _, bad := range []string{"", "escape", "../escape", "*", session + "/../" + session, strings.Repeat("?", 36),
		session[:35]} {
		got, ok := Locate(config, bad)
		testkit.Check(t, !ok, "session %q was located at %s", bad, got)
	}
	_, ok = Locate("", session)
	testkit.Check(t, !ok, "located without a configuration directory")
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
			testkit.Check(t, delivery.ID == ids[i] && valid && (delivery.State == Ruled) == (len(delivery.Verdict) > 0),
				"delivery %+v", delivery)
		}
		torn := append(append(bytes.Clone(content), '\n'), "\x00\x00{\"type\":\"user\",\"uuid\":\"A\",\"mess"...)
		testkit.Same(t, "a torn line at the end changed (-before +after)", render(got), render(read(torn)))
	})
}

func reading(id string, tokens int) Sample {
	return Sample{MessageID: id, Model: "opus",
		Usage: Usage{Input: 3, CacheRead: tokens - 5, CacheCreation: 2, Output: 1000}}
}

func TestMeterReadings(t *testing.T) {
	side := reading("s", 900)
	side.Sidechain = true
	own := reading("x", 900)
	own.Model = synthetic
	for _, test := range []struct {
		name    string
		samples []Sample
		fresh   string // which of them were new readings
		tokens  int
	}{
		{"none", nil, "", 0},
		{"output does not count", []Sample{reading("a", 100)}, "+", 100},
		{"one per message", []Sample{reading("a", 100), reading("a", 100), reading("b", 200), reading("b", 250)},
			"+-+-", 200},
		{"a source that lags behind",
			[]Sample{reading("a", 100), reading("b", 200), reading("a", 100), reading("b", 200), reading("c", 300)},
			"++--+", 300},
		{"no id", []Sample{reading("", 100), reading("", 120)}, "++", 120},
		{"a subagent's", []Sample{reading("a", 100), side}, "+-", 100},
		{"the CLI's own", []Sample{reading("a", 100), own}, "+-", 100},
		{"nothing used",
			[]Sample{reading("a", 100), {MessageID: "z", Model: "opus"},
				{MessageID: "y", Model: "opus", Usage: Usage{Output: 9}}}, "+--", 100},
		{"below nothing", []Sample{reading("a", 100), {MessageID: "z", Usage: Usage{Input: -5, CacheRead: 50}}}, "+-",
			100},
		{"beyond all windows",
			[]Sample{reading("a", 100), {MessageID: "z", Usage: Usage{Input: math.MaxInt, CacheRead: math.MaxInt}}},
			"+-", 100},
		{"shrunk", []Sample{reading("a", 300), reading("b", 200)}, "++", 200},
	} {
		var m Meter
		fresh := ""
		for _, s := range test.samples {
			fresh += map[bool]string{true: "+", false: "-"}[m.Sample(s)]
		}
		testkit.Same(t, fmt.Sprintf("%s: fresh", test.name), test.fresh, fresh)
		testkit.Same(t, fmt.Sprintf("%s: m.Tokens()", test.name), test.tokens, m.Tokens())
	}
}

func TestMeterCompaction(t *testing.T) {
	var m Meter
	m.Sample(reading("a", 180000))
	m.TurnEnded()
	m.Compacted("")
	testkit.Check(t, !m.Sample(reading("a", 180000)) && m.Tokens() == 0, "after a compaction: %d", m.Tokens())
	m.TurnEnded()
	testkit.Check(t, m.Sample(reading("b", 30000)) && m.Tokens() == 30000, "read after a compaction: %d", m.Tokens())
}

func TestTurnsLeft(t *testing.T) {
	for _, test := range []struct {
		name  string
		turns string // readings; | ends a turn, C compacts
		limit int
		want  int
	}{
		{"nothing", "", 1000, 0},
		{"one turn", "100 |", 1000, 0},
		{"two turns", "100 | 200 |", 1000, 8},
		{"several readings a turn", "50 100 | 120 150 200 |", 1000, 8},
		{"rounded down", "100 | 400 |", 999, 1},
		{"not even one", "100 | 400 |", 600, 0},
		{"in a turn", "100 | 200 | 900", 1000, 1},
		{"full", "100 | 200 | 1000", 1000, 0},
		{"beyond", "100 | 200 | 1500", 1000, 0},
		{"no growth", "100 | 100 |", 1000, 0},
		{"shrinkage says nothing", "100 | 300 | 150 | 350 |", 1000, 3},
		{"turns without a reading say nothing", "100 | | | 200 | |", 1000, 8},
		{"the mean", "100 | 200 | 500 |", 1000, 2},
		{"the last turns only", "1 | 901 | 902 | 903 | 904 | 905 | 906 | 907 | 908 |", 1000, 92},
		{"from the compaction on", "100 | 800 | C 50 | 60 |", 100, 4},
		{"right after a compaction", "100 | 200 | C", 1000, 0},
		{"no limit", "100 | 200 |", 0, 0},
	} {
		var m Meter
		for i, word := range strings.Fields(test.turns) {
			switch word {
			case "|":
				m.TurnEnded()
			case "C":
				m.Compacted("")
			default:
				var n int
				testkit.Must(fmt.Sscan(word, &n))(t)
				m.Sample(Sample{MessageID: fmt.Sprint(i), Usage: Usage{Input: n}})
			}
		}
		testkit.Same(t, test.name, test.want, m.TurnsLeft(test.limit))
	}
}

func TestWindow(t *testing.T) {
	for _, test := range []struct {
		window Window
		want   int
	}{
		{Window{}, 0}, {Window{Model: 1_000_000}, 1_000_000},
		{Window{Model: 1_000_000, Compaction: 967_000, Cap: 300_000}, 300_000},
		{Window{Model: 200_000, Compaction: 167_000, Cap: 300_000}, 167_000}, {Window{Cap: 5}, 5},
		{Window{Model: -1, Compaction: 7}, 7},
	} {
		testkit.Same(t, test.window, test.want, test.window.Effective())
	}
	for _, test := range []struct {
		tokens, window int
		want           float64
	}{{0, 100, 0}, {70, 100, 70}, {150, 100, 150}, {5, 0, 0}, {-5, 100, 0}} {
		testkit.Same(t, fmt.Sprintf("%d of %d", test.tokens, test.window), test.want,
			Percent(test.tokens, test.window))
	}
}

// Readings stay known for a while, so that a source that lags behind adds no new readings.
func TestMeterForgets(t *testing.T) {
	var m Meter
	for i := range 3 * maxRecent {
		m.Sample(reading(fmt.Sprint(i), i+1))
	}
	testkit.Check(t, m.Compacted("c") && !m.Compacted("c"), "a compaction counts once")
	_, ok := m.Known("0")
	testkit.Check(t, !ok && len(m.recent) == maxRecent, "it holds %d", len(m.recent))
	v, ok := m.Known(fmt.Sprint(3*maxRecent - 1))
	testkit.Check(t, ok && v == 3*maxRecent, "it forgot the last one")
}

// FuzzMeter: with any input, no figure is negative, samples that do not count change nothing, and a message is
// read once.
func FuzzMeter(f *testing.F) {
	f.Add([]byte("\x00\x01\x10\x02\x03\x40\x01\x02\xff"))
	f.Add([]byte{0, 1, 50, 5, 0, 0, 0, 2, 90, 5, 0, 0, 1, 3, 200, 4, 0, 0, 2, 4, 7})
	f.Fuzz(func(t *testing.T, program []byte) {
		var m Meter
		for ; len(program) >= 3; program = program[3:] {
			op, id, n := program[0], program[1], int(program[2])
			s := Sample{MessageID: fmt.Sprint(id % 16), Model: "opus",
				Usage: Usage{Input: n, CacheRead: n * 1000, CacheCreation: int(id)}}
			before := m
			switch op % 8 {
			case 0, 1:
				fresh := m.Sample(s)
				if fresh && m.Tokens() != s.Usage.Context() || !fresh && m.Tokens() != before.Tokens() {
					t.Fatalf("%+v, fresh %v: %d after %d", s, fresh, m.Tokens(), before.Tokens())
				}
				testkit.Need(t, !m.Sample(s), "%+v was read twice", s)
			case 2:
				s.Sidechain = true
			case 3:
				s.Model = synthetic
			case 4:
				s.Usage = Usage{Output: n}
			case 5:
				m.TurnEnded()
			case 6:
				m.Compacted("")
			case 7:
				s.Usage = Usage{Input: -1 - n, CacheRead: math.MaxInt - n}
			}
			if k := op % 8; k == 2 || k == 3 || k == 4 || k == 7 {
				if m.Sample(s) || m.Tokens() != before.Tokens() {
					t.Fatalf("%+v counted: %d after %d", s, m.Tokens(), before.Tokens())
				}
			}
			limit := n * 1000
			left := m.TurnsLeft(limit)
			testkit.Need(t, m.Tokens() >= 0 && left >= 0 && left <= limit && len(m.marks) <= maxMarks &&
				len(m.recent) <= maxRecent, "%+v: %d turns left of %d", m, left, limit)
		}
	})
}
