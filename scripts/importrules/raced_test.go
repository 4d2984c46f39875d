package importrules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRacedTestsExist: scripts/raced.sh lists tests to run with or without the race detector. A name in it that
// no test has any more would change the selection unnoticed.
func TestRacedTestsExist(t *testing.T) {
	script, err := os.ReadFile("../raced.sh")
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range function.FindAllStringSubmatch(string(source), -1) {
			defined[match[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[('|](Test\w+|Fuzz\w+)(\.\*)?`).FindAllStringSubmatch(string(script), -1)
	if len(named) < 40 {
		t.Fatalf("found %d names in scripts/raced.sh: has it another form?", len(named))
	}
	for _, match := range named {
		found := defined[match[1]]
		if match[2] != "" { // a prefix
			for name := range defined {
				found = found || strings.HasPrefix(name, match[1])
			}
		}
		if !found {
			t.Errorf("scripts/raced.sh names %s, which is not a test: was it renamed?", match[1])
		}
	}
}
