package importrules

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestTypesOnMacOS type-checks every package and its tests for macOS. The compiler, for each package on the way, would
// take ten times as long.
func TestTypesOnMacOS(t *testing.T) {
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
			packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Dir: "../..", Tests: true,
		Env: append(os.Environ(), "GOOS=darwin", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly"),
	}, "./...")
	testkit.OK(t, err)
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			t.Errorf("%s: %v", p.ID, e)
		}
	})
	testkit.Check(t, len(list) >= 50, "only %d packages were found", len(list))
}
