package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestExpressionsAreLazy: a package-level regular expression is compiled at every start of the program,
// including `arbiter hook`, for which a session waits at each tool call. A sync.OnceValue compiles it on first
// use.
func TestExpressionsAreLazy(t *testing.T) {
	goFiles(t, func(name string, text []byte) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "scripts/") {
			return
		}
		for _, at := range eagerExpressions(t, name, text) {
			t.Errorf("%s: an expression is compiled when the program starts: put it into a sync.OnceValue", at)
		}
	})
}

// eagerExpressions finds calls of regexp.MustCompile that initialize package-level variables.
func eagerExpressions(t *testing.T, name string, text []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, decl := range file.Decls {
		if _, ok := decl.(*ast.GenDecl); !ok {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "MustCompile" {
				found = append(found, fset.Position(sel.Pos()).String())
			}
			_, function := n.(*ast.FuncLit) // its body does not run at the start
			return !function
		})
	}
	return found
}

func TestEagerExpressionsAreFound(t *testing.T) {
	const body = "package p\nimport \"regexp\"\nvar x = %s\nfunc f() { regexp.MustCompile(`a`) }\n"
	for value, want := range map[string]int{
		"regexp.MustCompile(`a`)":   1,
		"[]any{regexp.MustCompile}": 1,
		"sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`a`) })": 0,
	} {
		if got := eagerExpressions(t, "a.go", []byte(strings.Replace(body, "%s", value, 1))); len(got) != want {
			t.Errorf("%s: found %v, want %d", value, got, want)
		}
	}
}
