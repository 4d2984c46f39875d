package memory

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func lesson(text string) Lesson {
	return Lesson{Text: text, Evidence: "seen", Run: "0123abcd-4567", Date: now}
}

func open(t *testing.T, state, cwd string) *Store {
	t.Helper()
	s := testkit.Must(Open(state, cwd, sanitize.Redact))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func load(t *testing.T, s *Store) Memory {
	t.Helper()
	m := testkit.Must(s.Load())(t)
	return m
}

func texts(lessons []Lesson) (list []string) {
	for _, l := range lessons {
		list = append(list, l.Text)
	}
	return list
}

// TestLessonsAreKeptPerWorkspace: lessons are kept per workspace, in a bounded number; the oldest are dropped, and each
// text is kept once.
func TestLessonsAreKeptPerWorkspace(t *testing.T) {
	state, cwd := t.TempDir(), t.TempDir()
	s := open(t, state, cwd)
	testkit.OK(t, s.Learn([]Lesson{lesson("one"), lesson("two")}), s.Learn([]Lesson{lesson("one"), {Text: " \x1b[0m"}}),
		s.Learn(nil))
	got := texts(load(t, open(t, state, cwd)).Lessons)
	testkit.Check(t, cmp.Equal(got, []string{"two", "one"}), "%q", got)
	m := load(t, open(t, state, t.TempDir()))
	testkit.Check(t, m.Lessons == nil, "another workspace remembers %+v", m)
	for i := range MaxLessons + 5 {
		testkit.OK(t, s.Learn([]Lesson{lesson(fmt.Sprint(i))}))
	}
	if got := texts(load(t, s).Lessons); len(got) != MaxLessons || got[0] != "5" {
		t.Errorf("%d lessons, from %s", len(got), got[0])
	}
	testkit.OK(t, s.Clear(), s.Clear())
	if m := load(t, s); m.Lessons != nil {
		t.Errorf("%+v", m)
	}
}

// TestTextsAreHarmless: one line, no control characters, no secrets, of bounded length.
func TestTextsAreHarmless(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	key := "sk-ant-api03-" + strings.Repeat("a1B2", 20)
	testkit.OK(t, s.Learn([]Lesson{{Text: "a\nb\x1b[31m\u202e " + key, Evidence: strings.Repeat("é", 10_000), Run: "x\ny",
		Date: now}}))
	testkit.OK(t, s.Record(Outcome{Run: "r\n", Agents: []AgentOutcome{{Name: "m\x00" + key, Failed: -1}}}))
	raw := testkit.Must(os.ReadFile(s.Path()))(t)
	l := load(t, s).Lessons[0]
	testkit.Check(t, !strings.Contains(string(raw), key) && strings.HasPrefix(l.Text, "a b") &&
		!strings.ContainsAny(l.Text+l.Run, "\n\x1b\u202e"), "%s", raw)
	n := len([]rune(l.Evidence))
	testkit.Check(t, n <= MaxText, "the evidence has %d characters", n)
}

// TestWritersAtOnce: nothing is lost when several runs write.
func TestWritersAtOnce(t *testing.T) {
	state, cwd := t.TempDir(), t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		s := open(t, state, cwd)
		wg.Go(func() {
			for j := range 5 {
				testkit.Works(t, "Learn", s.Learn([]Lesson{lesson(fmt.Sprintf("%d of %d", j, i))}))
				testkit.Works(t, "Record", s.Record(Outcome{Run: fmt.Sprint(i), Date: now, CostUSD: float64(j)}))
			}
		})
	}
	wg.Wait()
	if m := load(t, open(t, state, cwd)); len(m.Lessons) != 40 || len(m.Outcomes) != 8 || m.Outcomes[3].CostUSD != 4 {
		t.Errorf("%d lessons, %+v", len(m.Lessons), m.Outcomes)
	}
}

// TestUnreadableFiles: a damaged file, or one of another version, is not changed.
func TestUnreadableFiles(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	for want, text := range map[string]string{
		"not a JSON object": "{", "not have version 1": `{"v":2}`,
		"is for the workspace": `{"v":1,"cwd":"/x","lessons":[],"outcomes":[]}`,
		"unknown field":        `{"v":1,"more":1}`, "after top-level value": `{"v":1} {}`,
		"over 2048 KiB": strings.Repeat(" ", maxBytes+1),
	} {
		testkit.OK(t, os.WriteFile(s.Path(), []byte(text), 0o600))
		_, err := s.Load()
		testkit.Fails(t, text[:min(len(text), 20)], err, want, "removes it")
		testkit.Fails(t, "to write to it", s.Learn([]Lesson{lesson("x")}), "removes it")
		raw, err := os.ReadFile(s.Path())
		testkit.Check(t, err == nil && string(raw) == text, "%.20s: it was changed: %v", text, err)
	}
	testkit.OK(t, s.Clear(), s.Learn([]Lesson{lesson("x")}))
}

// TestBrief: the newest come first, marked as reports, in bounded size.
func TestBrief(t *testing.T) {
	testkit.Same(t, "nothing is brief", "", Brief(nil))
	want := briefHeader + "- 2026-03-01, by a human: two\n- 2026-03-01, run 0123abcd: one (evidence: seen)\n"
	testkit.Same(t, "", want, Brief([]Lesson{lesson("one"), {Text: "two", Date: now}}))
	var many []Lesson
	for range MaxLessons {
		many = append(many, Lesson{Text: strings.Repeat("é", MaxText), Date: now})
	}
	if text := Brief(many); len(text) > briefBytes || !strings.HasSuffix(text, "older reports are left out.\n") {
		t.Errorf("%d bytes: …%s", len(text), text[len(text)-50:])
	}
}

// TestPerformance: the sums of all runs, in the form of a decider's input.
func TestPerformance(t *testing.T) {
	got := Performance([]Outcome{
		{Agents: []AgentOutcome{{Name: "tester", Succeeded: 2, Failed: 1, TriesToSuccess: 5, LastSuccess: now,
			LastFailure: now}}},
		{Agents: []AgentOutcome{{Name: "tester", Failed: 3, LastFailure: now.Add(time.Second)}, {Name: "idle",
			Restarts: 2}}},
	})
	want := map[string]decider.DecisionPerformance{"tester": {
		LastSuccess: "2026-03-01T12:00:00.000Z", LastFailure: "2026-03-01T12:00:01.000Z", SuccessRate: 33.3,
		IterationAverage: 2.5,
	}}
	testkit.Same(t, "", want, got)
}

// TestTally: the history counts executions, and agents report their usage; recorded and summed, that equals
// the performance that the history itself reports.
func TestTally(t *testing.T) {
	h := decider.DecisionHistory{}.
		Add(decider.DecisionExecution{Agent: "tester", Status: decider.StatusFailure, StartedAt: now, CompletedAt: now}).
		Add(decider.DecisionExecution{Agent: "tester", Status: decider.StatusSuccess, StartedAt: now, CompletedAt: now})
	agents := Tally(h.Counts(), []AgentOutcome{{Name: "tester", Restarts: 1, CostUSD: 0.25},
		{Name: "tester", Handoffs: 2, CostUSD: 0.5}, {Name: "idle", CostUSD: 0.125}})
	want := []AgentOutcome{
		{Name: "idle", CostUSD: 0.125},
		{"tester", 1, 1, 2, now, now, 1, 2, 0.75, 0, 0},
	}
	testkit.Same(t, "", want, agents)
	s := open(t, t.TempDir(), t.TempDir())
	testkit.OK(t, s.Record(Outcome{Run: "one", Date: now, Agents: agents}))
	got := Performance(load(t, s).Outcomes)["tester"]
	testkit.Same(t, "", *h.Performance("tester"), got)
}

// TestOutcomesAreBounded: the newest runs stay.
func TestOutcomesAreBounded(t *testing.T) {
	testkit.WithoutRace(t)
	s := open(t, t.TempDir(), t.TempDir())
	for i := range MaxOutcomes + 3 {
		testkit.OK(t, s.Record(Outcome{Run: fmt.Sprint(i), Agents: make([]AgentOutcome, maxAgents+1)}))
	}
	m := load(t, s)
	if len(m.Outcomes) != MaxOutcomes || m.Outcomes[0].Run != "3" || len(m.Outcomes[0].Agents) != maxAgents {
		t.Errorf("%d outcomes, the first: %+v", len(m.Outcomes), m.Outcomes[0])
	}
}

// TestReplaceKeepsConcurrentAdditions: lessons that a run added while a human edited are not lost.
func TestReplaceKeepsConcurrentAdditions(t *testing.T) {
	s := open(t, t.TempDir(), t.TempDir())
	testkit.OK(t, s.Learn([]Lesson{lesson("one"), lesson("two")}))
	seen := load(t, s).Lessons
	testkit.OK(t, s.Learn([]Lesson{lesson("three")}))
	edited, err := Parse(strings.Replace(Text(seen), "lesson: two", "lesson: second", 1), now)
	testkit.OK(t, err, s.Replace(seen, edited[1:]))
	got := texts(load(t, s).Lessons)
	testkit.Check(t, cmp.Equal(got, []string{"second", "three"}), "%q", got)
}

// TestParse: problems are named with their line.
func TestParse(t *testing.T) {
	for want, text := range map[string]string{
		`line 2: "two" has no name`: "lesson: one\ntwo", "line 1: lesson is empty": "lesson:",
		"line 1: run comes before":   "run: x",
		"line 3: run is given twice": "lesson: a\nrun: x\nrun: y",
		`line 2: there is no "x"`:    "lesson: a\nx: y", "line 2: \"soon\" is not a date": "lesson: a\ndate: soon",
		"line 1: lesson has 501":    "lesson: " + strings.Repeat("x", 501),
		"line 101: there can be 50": strings.Repeat("lesson: a\n\n", 51),
	} {
		testkit.Fails(t, fmt.Sprintf("%.40q", text), testkit.Err(Parse(text, now)), want)
	}
	got, err := Parse("# x\nlesson: a: b\ndate: 2026-01-02\r\n\nlesson: c", now)
	want := []Lesson{{Text: "a: b", Date: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, {Text: "c", Date: now}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// FuzzParse: what can be parsed is the same after it was stored, printed and parsed again.
func FuzzParse(f *testing.F) {
	f.Add("lesson: a\nevidence: b\nrun: c\ndate: 2026-01-02\n")
	f.Add("lesson: #\x00\nlesson: lesson: x\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text, now)
		if err != nil {
			return
		}
		var kept []Lesson
		for _, l := range list {
			if l, err := l.clean(func(s string) string { return s }); err == nil {
				kept = append(kept, l)
			}
		}
		again, err := Parse(Text(kept), now)
		if diff := cmp.Diff(kept, again); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		if brief := Brief(kept); strings.Count(brief, "\n") > len(kept)+1 || len(brief) > briefBytes {
			t.Fatalf("%d lessons make %q", len(kept), brief)
		}
	})
}
