package acp

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestDocumentedTable: docs/makes.md says of each make in the table what the table says, and lists no other.
func TestDocumentedTable(t *testing.T) {
	raw, err := os.ReadFile("../../docs/makes.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		if row := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); len(row) > 1 {
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			cells[row[0]] = row[1:]
		}
	}
	heads := cells[""]
	if len(heads) != len(table)+2 || heads[0] != "claude" || heads[len(heads)-1] != "another" {
		t.Fatalf("columns: %q", heads)
	}
	reading := map[bool]map[bool]string{true: {true: "hold", false: "hold"}, false: {true: "held by the make",
		false: "only the sandbox"}}
	for i, name := range heads[1:] {
		traits, known := table[name]
		if !known && name != "another" {
			t.Errorf("column %s: no such make", name)
		}
		for row, want := range map[string]string{
			"asks about each command and edit": map[bool]string{true: "yes", false: "no"}[traits.asks],
			"deny rules about reading":         reading[traits.reads][traits.metaRules],
		} {
			if got := cells[row]; len(got) != len(heads) || got[i+1] != want {
				t.Errorf("%s: %s: %q, want %q", name, row, got, want)
			}
		}
	}
}

// TestOnlyTheTableNamesMakes: the supervisor has no word about one make, so that what it promises holds for each.
func TestOnlyTheTableNamesMakes(t *testing.T) {
	testkit.OK(t, filepath.WalkDir("../../supervisor", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		for name := range table {
			if strings.Contains(strings.ToLower(string(raw)), name) {
				t.Errorf("%s names the make %s", path, name)
			}
		}
		return err
	}))
}

// TestEnvironmentOfAnotherHost: what the client passes takes precedence over what the host has itself.
func TestEnvironmentOfAnotherHost(t *testing.T) {
	t.Setenv("ITS_KEY", "of the host")
	t.Setenv("ITS_OTHER", "of the host")
	env := environment(bridge.AgentConfig{Env: map[string]string{"ITS_KEY": "passed"},
		Make: &bridge.MakeSpec{Env: []string{"ITS_KEY", "ITS_OTHER"}}}, traits{})
	for _, want := range []string{"ITS_KEY=passed", "ITS_OTHER=of the host"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
}
