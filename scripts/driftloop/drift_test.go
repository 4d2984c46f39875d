package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// canned reads the stored output of go test.
func canned(t *testing.T, file string, subtests bool) *outcome {
	t.Helper()
	f := testkit.Must(os.Open(filepath.Join("testdata", file)))(t)
	defer f.Close()
	o := testkit.Must(read(f, subtests))(t)
	return o
}

const why = `turn: category "a|b" in PATH, message ID after TIME`

// TestSuitesNameTests: a name that no test has would be left out of each trial, and nothing would say so.
func TestSuitesNameTests(t *testing.T) {
	for _, s := range suites {
		tests := ""
		for _, name := range testkit.Must(filepath.Glob(filepath.Join("../..", s.pkg, "*_test.go")))(t) {
			tests += string(testkit.Must(os.ReadFile(name))(t))
		}
		for _, name := range regexp.MustCompile(`Test\w+`).FindAllString(s.run+s.core, -1) {
			if !strings.Contains(tests, "\nfunc "+name) {
				t.Errorf("%s has no %s", s.pkg, name)
			}
		}
	}
}

func TestOutcome(t *testing.T) {
	o := canned(t, "live.json", false)
	want := map[string]cell{
		"TestLiveAPIErrors": {differs, why},
		"TestLiveTextTurn":  {State: ok},
		"TestLiveSandbox":   {notThere, "no bubblewrap here"},
		"TestLiveStop":      {differs, "it did not end"},
	}
	testkit.Same(t, "cells", want, o.cells)
	testkit.Same(t, "oddities", []string{`unknown frame "system/brand_new"`}, o.oddities)
	testkit.Same(t, "failed", []string{"TestLiveAPIErrors", "TestLiveStop"}, o.failed())
	o.takeOver(&outcome{cells: map[string]cell{"TestLiveStop": {State: ok}, "TestLiveAPIErrors": {differs,
		"the same"}}})
	if o.cells["TestLiveStop"].State != second || o.cells["TestLiveAPIErrors"].Reason != "the same" {
		t.Errorf("after a second try: %v", o.cells)
	}
	if _, err := read(strings.NewReader("FAIL build failed\n"), false); err == nil {
		t.Error("what is not JSON was read")
	}
}

func TestOutcomeOfCases(t *testing.T) {
	o := canned(t, "cases.json", true)
	want := map[string]cell{"api-400": {State: ok}, "hooks": {differs, `host:3: want {"type":"x"}`}}
	testkit.Same(t, "cells", want, o.cells)
	testkit.Same(t, "once more", "^TestClaude$/^(hooks)$", again(suite{run: "^TestClaude$", subtests: true}, o.failed()))
}

func TestRecordObservations(t *testing.T) {
	raw := testkit.Must(os.ReadFile(filepath.Join("testdata", "play.wire")))(t)
	seen := map[string]bool{}
	recordObservations(raw, seen)
	want := []string{
		"`Bash` among tools", "`Read` among tools", "`capabilities` in answer", "`capabilities` in frame system/init",
		"`input` in request can_use_tool", "`interrupt_receipt_v1` among capabilities", "`pid` in answer",
		"`result` in frame result", "`session_id` in frame system/init", "`subtype` in frame result",
		"`subtype` in frame system/init", "`subtype` in request can_use_tool",
		"`tools` in frame system/init", "`type` in frame result", "`type` in frame system/init",
	}
	testkit.Same(t, "seen", want, slices.Sorted(maps.Keys(seen)))
}

// TestTable makes the whole table from two versions. The second one has what the first lacks.
func TestTable(t *testing.T) {
	fine := map[string]cell{"TestLiveAPIErrors": {State: ok}, "TestLiveTextTurn": {State: ok}}
	table := table{pinned: "2.0.1", versions: []string{"2.0.0", "2.0.1"}, found: []findings{
		{cells: map[string]map[string]cell{"The driver": canned(t, "live.json", false).cells},
			wire: map[string]bool{"`a` in answer": true}},
		{cells: map[string]map[string]cell{"The driver": fine},
			wire: map[string]bool{"`a` in answer": true, "`b` in answer": true}},
	}}
	got := table.render()
	testkit.Includes(t, "the table", got,
		"2.0.0, 2.0.1. The driver",
		"4 behaviours, of which 3 differ somewhere.",
		"| behaviour | 2.0.0 | 2.0.1 |\n|---|---|---|\n",
		"| api errors | differs: "+strings.ReplaceAll(why, "|", "\\|")+" | ok |\n",
		"| sandbox | not there: no bubblewrap here | not there |\n",
		"| stop | differs: it did not end | not there |\n| text turn | ok | ok |\n",
		"1 are the same in all of these versions",
		"| `b` in answer | – | seen |\n",
	)
	testkit.Excludes(t, "the table has what does not differ", got, "`a` in answer")
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"TestLiveAPIErrors": "api errors", "TestLiveMCP": "mcp", "TestLiveNotLoggedIn": "not logged in",
		"TestOtherDeciderDecides": "other decider decides",
		"hooks-eof":               "hooks eof", "every frame is known": "every frame is known",
		"TestLiveQueryWithoutAVerdict": "query without a verdict", "api-400": "api 400",
	} {
		testkit.Same(t, name, want, words(name))
	}
}

// TestKept: the table is made from the files that a trial has kept, and missing files are an error.
func TestKept(t *testing.T) {
	keep := t.TempDir()
	dir, out := filepath.Join(keep, "2.0.0"), filepath.Join(keep, "drift.md")
	testkit.OK(t, os.Mkdir(dir, 0o700))
	for name, from := range map[string]string{
		"claude.json": "live.json", "claude-again.json": "again.json", "fakecli.json": "cases.json",
		"arbiter.json": "live.json", "captures.json": "live.json", "small-job-arbiter.wire": "play.wire",
	} {
		raw, err := os.ReadFile(filepath.Join("testdata", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), raw, 0o600)
		}
		testkit.OK(t, err)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "parallel.err"), []byte("exit status 6:\narbiter: no\n"),
		0o600))
	testkit.OK(t, run(out, keep, "2.0.0", true, trial{short: true}, []string{"2.0.0=/nowhere"}))
	text := testkit.Must(os.ReadFile(out))(t)
	for _, want := range []string{"`scripts/drift -short`", "| stop | ok (2nd try) |", "| api 400 | ok |",
		"| parallel | differs: exit status 6: arbiter: no |", "| small job | ok |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}
	for _, name := range []string{"fakecli.json", "claude.json", "arbiter.json"} {
		testkit.OK(t, os.Remove(filepath.Join(dir, name)))
	}
	for _, clis := range [][]string{nil, {"2.0.0"}, {"2.0.0=/nowhere"}, {"2.0.1=/nowhere"}} {
		if err := run(out, keep, "2.0.0", true, trial{}, clis); err == nil {
			t.Errorf("%q was shown", clis)
		}
	}
}
