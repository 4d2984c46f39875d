package importrules

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// faultRows is how many rows of each letter the table of faults must have.
var faultRows = []struct {
	letter string
	count  int
}{
	{"P", 17}, {"S", 9}, {"F", 16}, {"R", 12}, {"A", 7}, {"T", 5}, {"U", 6}, {"C", 6}, {"X", 6}, {"D", 10}, {"E", 24},
}

// TestFaultsAreCovered checks the table of faults against the tree: a promise without a test is an error, and
// so is a test that does not exist.
func TestFaultsAreCovered(t *testing.T) {
	text := testkit.Must(os.ReadFile("../../testdata/faults.md"))(t)
	for _, problem := range checkFaults(string(text), os.DirFS("../..")) {
		t.Error(problem)
	}
}

var faultRow = regexp.MustCompile(`^\| *([A-Z]\d+) *\|(.*)\|$`)

// checkFaults checks a table with the columns row, fault, tests and reason.
func checkFaults(table string, tree fs.FS) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		m := faultRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		row, cells := m[1], strings.Split(m[2], "|")
		if len(cells) != 3 {
			bad("%s has %d cells, want a fault, tests and a reason", row, len(cells))
			continue
		}
		fault, tests, reason := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		switch {
		case seen[row]:
			bad("%s is there twice", row)
		case fault == "":
			bad("%s does not say what the fault is", row)
		case tests == "" || tests == "–" && reason == "":
			bad("%s has neither a test nor a reason", row)
		}
		seen[row] = true
		if tests == "–" {
			continue
		}
		var names []string
		for name := range strings.SplitSeq(tests, ",") {
			name = strings.TrimSpace(name)
			if slices.Contains(names, name) {
				bad("%s names %s twice", row, name)
			}
			names = append(names, name)
			if problem := missingTest(tree, name); problem != "" {
				bad("%s: %s", row, problem)
			}
		}
	}
	for _, r := range faultRows {
		for n := 1; n <= r.count; n++ {
			row := fmt.Sprint(r.letter, n)
			if !seen[row] {
				bad("%s is missing", row)
			}
			delete(seen, row)
		}
	}
	for row := range seen {
		bad("%s is not a row", row)
	}
	return problems
}

var testName = regexp.MustCompile(`^([a-z/]+)\.((?:Test|Fuzz)\w+)$`)

// missingTest looks for directory.TestName, or for scripts/NAME, and returns what is missing.
func missingTest(tree fs.FS, name string) string {
	if strings.HasPrefix(name, "scripts/") && !strings.Contains(name, ".") {
		if _, err := fs.Stat(tree, name); err != nil {
			return fmt.Sprintf("no script %q", name)
		}
		return ""
	}
	m := testName.FindStringSubmatch(name)
	if m == nil {
		return fmt.Sprintf("%q is not a test: want directory.TestName", name)
	}
	files, _ := fs.Glob(tree, path.Join(m[1], "*_test.go"))
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err == nil && strings.Contains("\n"+string(text), "\nfunc "+m[2]+"(") {
			return ""
		}
	}
	return "there is no " + name
}

// TestFaultTableIsRead breaks the table in every way that checkFaults must find.
func TestFaultTableIsRead(t *testing.T) {
	tree := fstest.MapFS{
		"a/b/x_test.go": {
			Data: []byte(
				"package b\n\nfunc TestOne(t *testing.T) {}\nfunc FuzzTwo(f *testing.F) {}\n// func TestThree(t) {}\n")},
		"scripts/run": {Data: []byte("#!\n")},
	}
	var sound strings.Builder
	for _, r := range faultRows {
		for n := 1; n <= r.count; n++ {
			fmt.Fprintf(&sound, "| %s%d | it breaks | a/b.TestOne, a/b.FuzzTwo, scripts/run | |\n", r.letter, n)
		}
	}
	problems := checkFaults(sound.String(), tree)
	testkit.Check(t, len(problems) == 0, "a sound table: %q", problems)
	const p1 = "| P1 | it breaks | a/b.TestOne, a/b.FuzzTwo, scripts/run | |\n"
	for broken, want := range map[string]string{
		"":                                                  "P1 is missing",
		p1 + p1:                                             "P1 is there twice",
		"| P1 |  | a/b.TestOne | |\n":                       "does not say what",
		"| P1 | it breaks | – | |\n":                        "neither a test nor a reason",
		"| P1 | it breaks |  | why |\n":                     "neither a test nor a reason",
		"| P1 | it | breaks | – | why |\n":                  "4 cells",
		"| P1 | it breaks | a/b.TestThree | |\n":            "no a/b.TestThree",
		"| P1 | it breaks | a/b.TestOn | |\n":               "no a/b.TestOn",
		"| P1 | it breaks | a.TestOne | |\n":                "no a.TestOne",
		"| P1 | it breaks | TestOne | |\n":                  "is not a test",
		"| P1 | it breaks | scripts/walk | |\n":             `no script "scripts/walk"`,
		"| P1 | it breaks | a/b.TestOne, a/b.TestOne | |\n": "twice",
		p1 + "| Q1 | it breaks | a/b.TestOne | |\n":         "Q1 is not a row",
	} {
		table := strings.Replace(sound.String(), p1, broken, 1)
		if problems := checkFaults(table, tree); !slices.ContainsFunc(problems,
			func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("%q: found %q, want %q", broken, problems, want)
		}
	}
}
