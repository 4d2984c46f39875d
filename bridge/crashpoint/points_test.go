package crashpoint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const path = "github.com/arbiter-cli/arbiter/bridge/crashpoint"

// TestPointsAreTheCalls: a point without a call would never be tested, and a call without a point never
// requested.
func TestPointsAreTheCalls(t *testing.T) {
	testkit.WithoutRace(t)
	root := testkit.Must(filepath.Abs("../.."))(t)
	var called []string
	files := 0
	testkit.OK(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		called = append(called, calls(t, name, src)...)
		return nil
	}))
	testkit.Need(t, files >= 100, "only %d files were read", files)
	slices.Sort(called)
	called = slices.Compact(called)
	listed := []string{}
	for _, p := range Points {
		testkit.Check(t, p.Doc != "" && !strings.ContainsAny(p.Name, ":/ ") && strings.Contains(p.Name, "."),
			"point %q, %q: want package.place, and what it is about", p.Name, p.Doc)
		listed = append(listed, p.Name)
	}
	slices.Sort(listed) // the table is in the order of execution
	testkit.Same(t, "a point is listed twice", len(listed), len(slices.Compact(slices.Clone(listed))))
	testkit.Same(t, "points listed and called", listed, append([]string{}, called...))
}

// calls returns the names with which a file calls Here.
func calls(t *testing.T, name string, src []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file := testkit.Must(parser.ParseFile(fset, name, src, parser.SkipObjectResolution))(t)
	local := ""
	for _, i := range file.Imports {
		if i.Path.Value == strconv.Quote(path) {
			if local = "crashpoint"; i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	if local == "" {
		return nil
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || f.Sel.Name != "Here" {
			return true
		}
		if x, ok := f.X.(*ast.Ident); !ok || x.Name != local {
			return true
		}
		lit, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: a point's name is a literal", fset.Position(call.Pos()))
			return true
		}
		text := testkit.Must(strconv.Unquote(lit.Value))(t)
		names = append(names, text)
		return true
	})
	return names
}

func TestCallsAreFound(t *testing.T) {
	const body = "package p\nimport (%s)\nfunc f() { crashpoint.Here(\"a.b\"); other.Here(\"c.d\"); cp.Here(\"e.f\") }\n"
	for imports, want := range map[string][]string{
		`"` + path + `"`:    {"a.b"},
		`cp "` + path + `"`: {"e.f"},
		`"os"`:              nil,
	} {
		got := calls(t, "p.go", []byte(strings.Replace(body, "%s", imports, 1)))
		testkit.Same(t, fmt.Sprintf("import %s", imports), want, got)
	}
}
