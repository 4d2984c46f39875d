package supervisor

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocNamesEveryFile: the package's documentation names every file, and no file that does not exist.
func TestDocNamesEveryFile(t *testing.T) {
	named := append(indexedFiles(t), "doc")
	slices.Sort(named)
	var files []string
	list, _ := filepath.Glob("*.go")
	for _, f := range list {
		if name := strings.TrimSuffix(f, ".go"); !strings.HasSuffix(name, "_test") {
			files = append(files, name)
		}
	}
	if !slices.Equal(named, files) {
		t.Errorf("named are %q\nthere are %q", named, files)
	}
}

// indexedFiles lists the files of the index in doc.go, in its order.
func indexedFiles(t *testing.T) []string {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, line := range regexp.MustCompile(`(?m)^//\t([a-z, ]+?)  +\S`).FindAllStringSubmatch(string(doc), -1) {
		named = append(named, strings.Split(line[1], ", ")...)
	}
	return named
}
