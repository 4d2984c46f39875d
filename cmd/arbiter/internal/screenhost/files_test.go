package screenhost

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
)

// TestConcurrentInputsAreKept: no input is lost when several are stored concurrently.
func TestConcurrentInputsAreKept(t *testing.T) {
	h := New(command.Env{}, settings.Choices{StateDir: t.TempDir()})
	var wg sync.WaitGroup
	var want []string
	for i := range 50 {
		word := fmt.Sprintf("word %02d\n\x1b \xff", i)
		want = append(want, word)
		wg.Go(func() { h.Remember(word) })
	}
	wg.Wait()
	got := h.Inputs()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("remembered are %q", got)
	}
}

// TestFilesByTheirLetters: files in any directory are found by letters of their paths; files with the path prefix
// come first.
func TestFilesByTheirLetters(t *testing.T) {
	place := t.TempDir()
	for _, name := range []string{"header.go", "src/parse/header_test.go", "src/parse/.hidden/header.go", "src/Weft.go",
		"node_modules/header/index.js", "docs/how/two.md"} {
		if err := os.MkdirAll(filepath.Join(place, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(place, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := New(command.Env{}, settings.Choices{Place: place})
	for prefix, want := range map[string][]string{
		"":         {"docs/", "header.go", "node_modules/", "src/"},
		"hea":      {"header.go", "src/parse/header_test.go"},
		"HDT":      {"src/parse/header_test.go"},
		"swft":     {"src/Weft.go"},
		"src/p":    {"src/parse/", "src/parse/header_test.go"},
		"./hea":    {"./header.go"},
		"nothing!": nil,
	} {
		if got := h.Files(t.Context(), prefix); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
}
