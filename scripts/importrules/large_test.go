package importrules

import (
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// maxFiles is how many files, without tests, a package may have without a reason in docs/packages.md.
const maxFiles = 25

// TestLargePackages: a package with many files has a reason in docs/packages.md. A package may also be named
// there only for its number of exported names.
func TestLargePackages(t *testing.T) {
	_, section, ok := strings.Cut(read(t, filepath.Join("..", "..", "docs", "packages.md")), "\n## Large packages\n")
	if !ok {
		t.Fatal("docs/packages.md has no section about large packages")
	}
	files := map[string]int{}
	goFiles(t, func(name string, _ []byte) {
		if !strings.HasSuffix(name, "_test.go") {
			files[path.Dir(name)]++
		}
	})
	for name, n := range files {
		if n > maxFiles && !strings.Contains(section, "\n- `"+name+"`: ") {
			t.Errorf("%s has %d files, at most %d are allowed: divide it, or say why it stays whole in docs/packages.md", name,
				n, maxFiles)
		}
	}
	for _, line := range strings.Split(section, "\n- `")[1:] {
		if name, _, _ := strings.Cut(line, "`"); files[name] == 0 {
			t.Errorf("docs/packages.md gives a reason for %s, which is not a package", name)
		}
	}
}
