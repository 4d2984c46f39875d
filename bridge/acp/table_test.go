package acp

import (
	"os"
	"strings"
	"testing"
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
			"asks about each command and edit": map[bool]string{true: "yes", false: "no: needs the sandbox"}[traits.asks],
			"deny rules about reading":         reading[traits.reads][traits.metaRules],
			"delivery":                         "written",
		} {
			if got := cells[row]; len(got) != len(heads) || got[i+1] != want {
				t.Errorf("%s: %s: %q, want %q", name, row, got, want)
			}
		}
	}
}
