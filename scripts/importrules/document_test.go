package importrules

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// documents returns the pages of the repository that are checked against the code: those next to go.mod, and
// those of docs.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		names := testkit.Must(filepath.Glob(filepath.Join(root, pattern)))(t)
		for _, name := range names {
			rel := testkit.Must(filepath.Rel(root, name))(t)
			pages[filepath.ToSlash(rel)] = read(t, name)
		}
	}
	return pages
}

// TestFirstPagesAreShort: the two pages that people read first have a maximum length.
func TestFirstPagesAreShort(t *testing.T) {
	pages := documents(t)
	for page, most := range map[string]int{"README.md": 120, "ARCHITECTURE.md": 200} {
		n := strings.Count(pages[page], "\n")
		testkit.Check(t, n != 0 && n <= most, "%s has %d lines, want 1 to %d: move details to a page in docs/", page, n, most)
		for line := range strings.Lines(pages[page]) {
			testkit.Check(t, strings.HasPrefix(line, "|") || utf8.RuneCountInString(line) <= maxColumns,
				"%s has a line of more than %d columns: %s", page, maxColumns, line)
		}
	}
}

// TestDocumentsNameExistingCode: every Go file that a page names exists, and names that a page attributes to a file
// are declared there.
func TestDocumentsNameExistingCode(t *testing.T) {
	root := filepath.Join("..", "..")
	files := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "node_modules"):
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
		declared(t, path, text, files[d.Name()])
		return err
	})
	testkit.OK(t, err)
	for page, text := range documents(t) {
		for _, name := range regexp.MustCompile(`\b[a-z_]+\.go\b`).FindAllString(text, -1) {
			testkit.Check(t, files[name] != nil, "%s names %s, which is not there", page, name)
		}
		for _, m := range regexp.MustCompile("`([A-Za-z.]+)` \\(`(?:[a-z]+/)*([a-z_]+\\.go)`").FindAllStringSubmatch(
			text, -1) {
			if !files[m[2]][m[1][strings.LastIndex(m[1], ".")+1:]] {
				t.Errorf("%s says that %s is in %s", page, m[1], m[2])
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```[^\n]*$")
)

// TestLinksLeadSomewhere follows every link of the pages that stays in the repository, to its file and, if it
// has a fragment, to the heading.
func TestLinksLeadSomewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	for page, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			target := filepath.Join(root, filepath.Dir(page), file)
			if file == "" {
				target = filepath.Join(root, page)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if fragment != "" && !slices.Contains(anchors(read(t, target)), fragment) {
				t.Errorf("%s links to %s: %s has no such heading, it has %q", page, m[1], target,
					anchors(read(t, target)))
			}
		}
	}
}

// anchors returns the fragments of a page's headings, as code hosts and the site's generator make them.
func anchors(page string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		list = append(list, name)
	}
	return list
}

// TestChangeTableNamesExistingFiles: each file in the table of what to change where exists exactly once, by the
// rule stated above the table.
func TestChangeTableNamesExistingFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	table := documents(t)["docs/changing.md"]
	roots := []string{"supervisor", "tui", filepath.Join("cmd", "arbiter", "internal"), ""}
	names := regexp.MustCompile("`([a-z_/]+\\.go)`").FindAllStringSubmatch(table, -1)
	testkit.Check(t, len(names) >= 50, "%d files are named", len(names))
	for _, m := range names {
		places := roots
		if !strings.Contains(m[1], "/") {
			places = roots[:1]
		}
		var there []string
		for _, dir := range places {
			if _, err := os.Stat(filepath.Join(root, dir, m[1])); err == nil {
				there = append(there, filepath.Join(dir, m[1]))
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
	file := testkit.Must(parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution))(t)
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
	text := testkit.Must(os.ReadFile(path))(t)
	return string(text)
}

// TestEveryPageIsInTheIndex: the first page of docs and the site's menu link to every page.
func TestEveryPageIsInTheIndex(t *testing.T) {
	pages := documents(t)
	menu := read(t, filepath.Join("..", "..", "docs", ".vitepress", "config.mjs"))
	for page := range pages {
		name, ok := strings.CutPrefix(page, "docs/")
		if !ok || name == "README.md" {
			continue
		}
		testkit.Check(t, strings.Contains(pages["docs/README.md"], "]("+name+")"),
			"docs/README.md does not link to %s", name)
		testkit.Check(t, strings.Contains(menu, "'"+strings.TrimSuffix(name, ".md")+"'"),
			"the menu of the site does not have %s", name)
	}
}

// TestPackagesAreListed: docs/packages.md has a line for each package with code that is not a test, except
// scripts, and no other.
func TestPackagesAreListed(t *testing.T) {
	want := map[string]bool{}
	goFiles(t, func(name string, _ []byte) {
		if dir := filepath.Dir(name); !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(dir, "scripts") {
			want[dir] = true
		}
	})
	listed := regexp.MustCompile("(?m)^- `([a-z0-9/]+)`")
	for _, m := range listed.FindAllStringSubmatch(documents(t)["docs/packages.md"], -1) {
		if !want[m[1]] {
			t.Errorf("docs/packages.md lists %s, which is no package", m[1])
		}
		delete(want, m[1])
	}
	for dir := range want {
		t.Errorf("docs/packages.md lacks %s", dir)
	}
}

var namedTest = regexp.MustCompile("`([a-z/]+\\.(?:Test|Fuzz)\\w+|scripts/[a-z-]+)`")

// TestPromisesAreTested: each promise in docs/promises.md has a test, each page for users has promises there,
// and each test that it or SECURITY.md names exists.
func TestPromisesAreTested(t *testing.T) {
	pages, tree := documents(t), os.DirFS("../..")
	for page, least := range map[string]int{"docs/promises.md": 120, "SECURITY.md": 40} {
		named := namedTest.FindAllStringSubmatch(pages[page], -1)
		testkit.Check(t, len(named) >= least, "%s names %d tests", page, len(named))
		for _, m := range named {
			testkit.Same(t, page, "", missingTest(tree, m[1]))
		}
	}
	tested, _, _ := strings.Cut(pages["docs/promises.md"], "\n## Not tested\n")
	for _, promise := range strings.Split(tested, "\n- ")[1:] {
		if promise, _, _ = strings.Cut(promise, "\n\n"); !namedTest.MatchString(promise) {
			t.Errorf("a promise without a test: %s", promise)
		}
	}
	inside := []string{"README", "promises", "changing", "configuration", "commands", "decisions", "glossary", "machine",
		"packages", "prompts"} // pages that promise nothing of their own
	for page := range pages {
		name, ok := strings.CutPrefix(page, "docs/")
		testkit.Check(t, !ok || slices.Contains(inside, strings.TrimSuffix(name, ".md")) ||
			strings.Contains(pages["docs/promises.md"], "]("+name+")"), "docs/promises.md has nothing of %s", name)
	}
}

var update = flag.Bool("update", false, "write the address of scripts/address into the README")

var cloneLine = regexp.MustCompile(`(?m)^git clone (\S+) arbiter && cd arbiter.*$`)

// TestAddress: the README clones from the address in scripts/address, which is ADDRESS until the repository is
// published. `go test ./scripts/importrules -run TestAddress -update` writes it there.
func TestAddress(t *testing.T) {
	address := strings.TrimSpace(read(t, "../address"))
	want := "git clone " + address + " arbiter && cd arbiter"
	if address == "ADDRESS" {
		want += "    # ADDRESS is that of this repository"
	}
	readme := read(t, "../../README.md")
	got := cloneLine.FindString(readme)
	if got == want {
		return
	}
	testkit.Need(t, *update && got != "", "the README says %q, want %q; -update writes it", got, want)
	text := strings.Replace(readme, got, want, 1)
	testkit.OK(t, os.WriteFile("../../README.md", []byte(text), 0o644))
}
