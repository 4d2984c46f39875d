package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameWhatIsThere: every file that ARCHITECTURE.md names is there, every
// link of the documents leads somewhere, every name in the walks is one of the code's, and
// what is said to be in a file is declared there.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	files, words := map[string]map[string]bool{}, map[string]bool{}
	word := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2:
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		if files[d.Name()] == nil {
			files[d.Name()] = map[string]bool{}
		}
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, w := range word.FindAllString(string(text), -1) {
			words[w] = true
		}
		declared(t, path, text, files[d.Name()])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, filepath.Join(root, "ARCHITECTURE.md"))
	for _, name := range regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(text, -1) {
		if files[name] == nil {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", name)
		}
	}
	_, walks, found := strings.Cut(text, "\n## The walks\n")
	walks, _, closed := strings.Cut(walks, "\n## ")
	if !found || !closed {
		t.Fatal("ARCHITECTURE.md has no walks")
	}
	names := regexp.MustCompile("`([A-Za-z][A-Za-z.]*)`").FindAllStringSubmatch(walks, -1)
	if len(names) < 100 {
		t.Errorf("%d names in the walks", len(names))
	}
	for _, m := range names {
		for _, w := range strings.Split(m[1], ".") {
			if !words[w] && files[m[1]] == nil {
				t.Errorf("the walks name %s, which is not in the code", m[1])
			}
		}
	}
	places := regexp.MustCompile("`([A-Za-z.]+)` \\(`(?:[a-z]+/)*([a-z_]+\\.go)`").FindAllStringSubmatch(text, -1)
	for _, m := range regexp.MustCompile("[^`a-z]([a-z_]+\\.go) ((?:`[A-Za-z.]+`(?:, )?)+)").FindAllStringSubmatch(walks, -1) {
		for _, name := range regexp.MustCompile("[A-Za-z.]+").FindAllString(m[2], -1) {
			places = append(places, []string{"", name, m[1]})
		}
	}
	if len(places) < 120 {
		t.Errorf("%d places of functions are told", len(places))
	}
	for _, m := range places {
		if _, name, ok := strings.Cut("."+m[1], "."); ok && !files[m[2]][name[strings.LastIndex(name, ".")+1:]] {
			t.Errorf("ARCHITECTURE.md says that %s is in %s", m[1], m[2])
		}
	}
	for _, doc := range []string{"README.md", "ARCHITECTURE.md"} {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(read(t, filepath.Join(root, doc)), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
}

// TestChangesBeginWhereIsSaid: the table of what to change where names files by the rule
// that stands above it.
func TestChangesBeginWhereIsSaid(t *testing.T) {
	root := filepath.Join("..", "..")
	_, table, found := strings.Cut(read(t, filepath.Join(root, "ARCHITECTURE.md")), "\n## Where to change what\n")
	table, _, closed := strings.Cut(table, "\n## ")
	if !found || !closed {
		t.Fatal("ARCHITECTURE.md has no table of changes")
	}
	rooms := []string{"supervisor", "tui", filepath.Join("cmd", "arbiter", "internal"), ""}
	names := regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(table, -1)
	if len(names) < 60 {
		t.Errorf("%d files are named", len(names))
	}
	for _, m := range names {
		places := rooms
		if !strings.Contains(m[1], "/") {
			places = rooms[:1]
		}
		var there []string
		for _, room := range places {
			if _, err := os.Stat(filepath.Join(root, room, m[1])); err == nil {
				there = append(there, filepath.Join(room, m[1]))
			}
		}
		if len(there) != 1 {
			t.Errorf("the table names %s, which is %v", m[1], there)
		}
	}
}

// declared collects what a file declares.
func declared(t *testing.T, path string, text []byte, names map[string]bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						names[n.Name] = true
					}
				}
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
