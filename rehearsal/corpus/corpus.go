package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// Delimiter is that of the envelopes which the corpus imitates: a run in which they are
// to be convincing has the same.
const Delimiter = "k3xq7mzd2a4bnc5e"

// Case is one text that a model or a tool may say.
type Case struct {
	Name string // of the file, without its ending: a family, a dash, and what it is
	Text string // any bytes
}

// Family is the first word of the name.
func (c Case) Family() string {
	family, _, _ := strings.Cut(c.Name, "-")
	return family
}

// Valid is the text as it arrives: by JSON, which knows no bytes that are not UTF-8.
func (c Case) Valid() string {
	if utf8.ValidString(c.Text) {
		return c.Text
	}
	var b strings.Builder
	for _, r := range c.Text { // a replacement for each byte, not for each run of them
		b.WriteRune(r)
	}
	return b.String()
}

// Large reports whether a text is too large to be tried in all ways there are.
func (c Case) Large() bool { return len(c.Text) > 64<<10 }

// fewest is how many there are at least: a corpus that is not found tests nothing.
const fewest = 120

// ModelOutput reads what models and tools may say. Root is the way to the repository.
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
