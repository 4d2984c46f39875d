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

// canned reads the stored output of go test, and what it says of the wire.
func canned(t *testing.T, file string, subtests bool) (all, wire cells) {
	t.Helper()
	f := testkit.Must(os.Open(filepath.Join("testdata", file)))(t)
	defer f.Close()
	wire = cells{}
	return testkit.Must(read(f, subtests, wire))(t), wire
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
			testkit.Check(t, strings.Contains(tests, "\nfunc "+name), "%s has no %s", s.pkg, name)
		}
	}
}

func TestOutcome(t *testing.T) {
	all, wire := canned(t, "live.json", false)
	testkit.Same(t, "cells", cells{"TestLiveAPIErrors": differs + ": " + why, "TestLiveTextTurn": ok,
		"TestLiveSandbox": notThere + ": no bubblewrap here", "TestLiveStop": differs + ": it did not end"}, all)
	testkit.Same(t, "oddities", cells{`unknown frame "system/brand_new"`: seen}, wire)
	testkit.Same(t, "failed", []string{"TestLiveAPIErrors", "TestLiveStop"}, all.failed())
	all.takeOver(cells{"TestLiveStop": ok, "TestLiveAPIErrors": differs + ": the same"})
	testkit.Check(t, all["TestLiveStop"] == second && all["TestLiveAPIErrors"] == differs+": the same",
		"after a second try: %v", all)
	_, err := read(strings.NewReader("FAIL build failed\n"), false, wire)
	testkit.Check(t, err != nil, "what is not JSON was read")
}

func TestOutcomeOfCases(t *testing.T) {
	all, _ := canned(t, "cases.json", true)
	testkit.Same(t, "cells", cells{"api-400": ok, "hooks": differs + `: host:3: want {"type":"x"}`}, all)
	testkit.Same(t, "once more", "^TestClaude$/^(hooks)$",
		again(suite{run: "^TestClaude$", subtests: true}, all.failed()))
}

func TestRecordObservations(t *testing.T) {
	raw := testkit.Must(os.ReadFile(filepath.Join("testdata", "play.wire")))(t)
	wire := cells{}
	recordObservations(raw, wire)
	want := []string{
		"`Bash` among tools", "`Read` among tools", "`capabilities` in answer", "`capabilities` in frame system/init",
		"`input` in request can_use_tool", "`interrupt_receipt_v1` among capabilities", "`pid` in answer",
		"`result` in frame result", "`session_id` in frame system/init", "`subtype` in frame result",
		"`subtype` in frame system/init", "`subtype` in request can_use_tool",
		"`tools` in frame system/init", "`type` in frame result", "`type` in frame system/init",
	}
	testkit.Same(t, "seen", want, slices.Sorted(maps.Keys(wire)))
}

// TestTable makes the whole table from two versions. The second one has what the first lacks.
func TestTable(t *testing.T) {
	odd, _ := canned(t, "live.json", false)
	table := table{pinned: "2.0.1", versions: []string{"2.0.0", "2.0.1"}, found: []findings{
		{"The driver": odd, onTheWire: {"`a` in answer": seen}},
		{"The driver": {"TestLiveAPIErrors": ok, "TestLiveTextTurn": ok},
			onTheWire: {"`a` in answer": seen, "`b` in answer": seen}},
	}}
	got := table.render()
	testkit.Includes(t, "the table", got,
		"2.0.0, 2.0.1. The driver",
		"4 behaviours, of which 3 differ somewhere.",
		"| behaviour | 2.0.0 | 2.0.1 |\n|---|---|---|\n",
		"| TestLiveAPIErrors | differs: "+strings.ReplaceAll(why, "|", "\\|")+" | ok |\n",
		"| TestLiveSandbox | not there: no bubblewrap here | not there |\n",
		"| TestLiveStop | differs: it did not end | not there |\n| TestLiveTextTurn | ok | ok |\n",
		"1 are the same in all of these versions",
		"| `b` in answer | – | seen |\n",
	)
	testkit.Excludes(t, "the table has what does not differ", got, "`a` in answer")
}
