package supervisor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"testing"
)

// TestFilesUseOnlyWhatStandsBelow checks the files against the order of the index in doc.go: no file uses a
// declaration of a file that is listed above it.
func TestFilesUseOnlyWhatStandsBelow(t *testing.T) {
	order := indexed(t)
	fset, parsed := token.NewFileSet(), []*ast.File(nil)
	for _, name := range sourceFiles(t) {
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Of other packages only the names are needed; their declarations are not loaded.
	lenient := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	pkg, _ := lenient.Check("supervisor", fset, parsed, info)
	uses := 0
	file := func(p token.Pos) int {
		return slices.Index(order, indexedAs(order, fset.Position(p).Filename))
	}
	for id, of := range info.Uses {
		if of.Pkg() != pkg || !of.Pos().IsValid() {
			continue
		}
		from, to := file(id.Pos()), file(of.Pos())
		if from != to {
			uses++
		}
		if from > to {
			t.Errorf("%s: %s.go uses %s of %s.go, which stands above it", fset.Position(id.Pos()), order[from], of.Name(), order[to])
		}
	}
	if uses < 1000 {
		t.Errorf("only %d uses across files were found", uses)
	}
}

// emptyPackages stands for every import.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}
