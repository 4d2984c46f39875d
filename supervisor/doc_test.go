package supervisor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestDocNamesEveryFile: the package's documentation names every file or the part that it belongs to, and nothing that
// does not exist.
func TestDocNamesEveryFile(t *testing.T) {
	named, used := indexed(t), map[string]bool{}
	for _, file := range sourceFiles(t) {
		name := indexedAs(named, file)
		if used[name] = true; name == "" && file != "doc.go" {
			t.Errorf("the index in doc.go does not name %s", file)
		}
	}
	for _, name := range named {
		if !used[name] {
			t.Errorf("the index in doc.go names %s, which has no file", name)
		}
	}
}

// sourceFiles lists the package's files without tests.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	files := testkit.Must(filepath.Glob("*.go"))(t)
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

// indexedAs returns the name in the index that a file belongs to: its own or, up to the underscore, that of its part.
func indexedAs(named []string, file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".go")
	if part, _, _ := strings.Cut(name, "_"); !slices.Contains(named, name) {
		name = part
	}
	if !slices.Contains(named, name) {
		return ""
	}
	return name
}

// indexed lists the files and parts of the index in doc.go, in its order.
func indexed(t *testing.T) []string {
	t.Helper()
	doc := testkit.Must(os.ReadFile("doc.go"))(t)
	var named []string
	for _, line := range regexp.MustCompile(`(?m)^//\t([a-z, ]+?)  +\S`).FindAllStringSubmatch(string(doc), -1) {
		named = append(named, strings.Split(line[1], ", ")...)
	}
	return named
}
