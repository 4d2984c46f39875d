package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Delimiter is that of the envelopes which the corpus imitates: a run must use it to make them convincing.
const Delimiter = "k3xq7mzd2a4bnc5e"

// Case is one text that a model or a tool may produce.
type Case struct {
	Name string // of the file, without its ending: a family, a dash, and what it is
	Text string // any bytes
}

// Family returns the first word of the name.
func (c Case) Family() string {
	family, _, _ := strings.Cut(c.Name, "-")
	return family
}

// Valid returns the text as it arrives through JSON, which replaces bytes that are not UTF-8.
func (c Case) Valid() string {
	if utf8.ValidString(c.Text) {
		return c.Text
	}
	var b strings.Builder
	for _, r := range c.Text { // one replacement for each byte, not for each run of them
		b.WriteRune(r)
	}
	return b.String()
}

// Large reports whether a text is too large to be tried in all ways.
func (c Case) Large() bool { return len(c.Text) > 64<<10 }

// fewest is the minimum number of cases: a corpus that is not found would test nothing.
const fewest = 120

// ModelOutput reads the texts that models and tools may produce. root is the path of the repository.
func ModelOutput(t testing.TB, root string) []Case {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "testdata", "modeloutput", "*.txt"))
	if err != nil || len(paths) < fewest {
		t.Fatalf("%d cases, want at least %d (%v)", len(paths), fewest, err)
	}
	list := make([]Case, 0, len(paths))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list,
			Case{strings.TrimSuffix(filepath.Base(path), ".txt"), strings.ReplaceAll(string(raw), "{{}}", "")})
	}
	return list
}
