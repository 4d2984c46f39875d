package importrules

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the imports into the table of docs/packages.md")

// TestPackagesTable: every package has a row in the table of docs/packages.md, and the table's imports are
// those of the code.
func TestPackagesTable(t *testing.T) {
	imports := map[string]map[string]bool{}
	for _, goos := range []string{"linux", "darwin"} {
		for _, p := range list(t, goos) {
			of := imports[short(p.ImportPath)]
			if of == nil {
				of = map[string]bool{}
				imports[short(p.ImportPath)] = of
			}
			for _, i := range p.Imports {
				if strings.HasPrefix(i, module+"/") {
					of[short(i)] = true
				}
			}
		}
	}
	path := filepath.Join("..", "..", "docs", "packages.md")
	text := read(t, path)
	before, table, _ := strings.Cut(text, "| package | imports of this repository | what it is |\n")
	table, after, ok := strings.Cut(table, "\n\n")
	if !ok {
		t.Fatal("docs/packages.md has no table of packages")
	}
	listed := map[string]bool{}
	lines := strings.Split(table, "\n")
	for n, line := range lines[1:] {
		cells := strings.SplitN(line, "|", 4)
		if strings.Count(line, "|") != 4 || len(strings.TrimSpace(strings.Trim(cells[3], "|"))) < 10 {
			t.Errorf("not a row of three cells, the last of which says what the package is: %s", line)
			continue
		}
		of := map[string]bool{}
		names := expand(cells[1])
		for _, name := range names {
			if imports[name] == nil {
				t.Errorf("the table names %s, which is not a package", name)
			}
			if listed[name] {
				t.Errorf("the table names %s twice", name)
			}
			listed[name] = true
			maps.Copy(of, imports[name])
		}
		if want := imported(names, of); cells[2] != want {
			if !*update {
				t.Errorf("%s imports%s, the table says%s(go test ./scripts/importrules -update)", names, want, cells[2])
			}
			cells[2] = want
		}
		lines[n+1] = strings.Join(cells, "|")
	}
	for name := range imports {
		if !listed[name] && !strings.HasPrefix(name, "scripts/") {
			t.Errorf("the table of docs/packages.md has no row for %s", name)
		}
	}
	if *update {
		text = before + "| package | imports of this repository | what it is |\n" + strings.Join(lines, "\n") + "\n\n" + after
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// imported returns the cell with a row's imports. It does not name the row's own subpackages one by one.
func imported(names []string, of map[string]bool) string {
	subpackages := false
	var cell []string
	for _, i := range slices.Sorted(maps.Keys(of)) {
		switch own := func(name string) bool { return strings.HasPrefix(i, name+"/") }; {
		case slices.Contains(names, i):
		case slices.ContainsFunc(names, own):
			subpackages = true
		default:
			cell = append(cell, "`"+i+"`")
		}
	}
	if len(cell) > 12 {
		return " most "
	}
	if subpackages {
		cell = append(cell, "its subpackages")
	}
	if cell == nil {
		return " – "
	}
	return " " + strings.Join(cell, ", ") + " "
}

// expand returns the packages of a cell: `a`, `b/{c,d}`.
func expand(cell string) []string {
	var names []string
	for _, m := range regexp.MustCompile("`([^`{]+)(?:{([^}]+)})?`").FindAllStringSubmatch(cell, -1) {
		for _, last := range strings.Split(m[2], ",") {
			names = append(names, m[1]+last)
		}
	}
	return names
}
