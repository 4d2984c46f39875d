package supervisor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestDocNamesEveryFile: the package's documentation names every file or the part that it belongs to, and nothing that
// does not exist.
func TestDocNamesEveryFile(t *testing.T) {
	named, used := indexed(t), map[string]bool{}
	for _, file := range sourceFiles(t) {
		name := indexedAs(named, file)
		if used[name] = true; name == "" && file != "doc.go" {
			t.Errorf("the index in doc.go does not name %s", file)
		}
	}
	for _, name := range named {
		testkit.Check(t, used[name], "the index in doc.go names %s, which has no file", name)
	}
}

// sourceFiles lists the package's files without tests.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	files := testkit.Must(filepath.Glob("*.go"))(t)
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}

// indexedAs returns the name in the index that a file belongs to: its own or, up to the underscore, that of its part.
func indexedAs(named []string, file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".go")
	if part, _, _ := strings.Cut(name, "_"); !slices.Contains(named, name) {
		name = part
	}
	if !slices.Contains(named, name) {
		return ""
	}
	return name
}

// indexed lists the files and parts of the index in doc.go, in its order.
func indexed(t *testing.T) []string {
	t.Helper()
	doc := testkit.Must(os.ReadFile("doc.go"))(t)
	var named []string
	for _, line := range regexp.MustCompile(`(?m)^//\t([a-z, ]+?)  +\S`).FindAllStringSubmatch(string(doc), -1) {
		named = append(named, strings.Split(line[1], ", ")...)
	}
	return named
}

// TestFilesUseOnlyWhatStandsBelow checks the files against the order of the index in doc.go: no file uses a
// declaration of a file that is listed above it.
func TestFilesUseOnlyWhatStandsBelow(t *testing.T) {
	order := indexed(t)
	fset, parsed := token.NewFileSet(), []*ast.File(nil)
	for _, name := range sourceFiles(t) {
		f := testkit.Must(parser.ParseFile(fset, name, nil, parser.SkipObjectResolution))(t)
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
		testkit.Check(t, from <= to, "%s: %s.go uses %s of %s.go, which stands above it", fset.Position(id.Pos()),
			order[from], of.Name(), order[to])
	}
	testkit.Check(t, uses >= 1000, "only %d uses across files were found", uses)
}

// emptyPackages stands for every import.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// maxFields is how many fields a part of the state may have. A part that needs more has more than one subject.
const maxFields = 12

// TestPartsAreSmall: State and Agent consist of parts, embedded or called a State, and each part is small enough to
// understand at a glance.
func TestPartsAreSmall(t *testing.T) {
	for _, whole := range []reflect.Type{reflect.TypeFor[State](), reflect.TypeFor[Agent]()} {
		n := whole.NumField()
		testkit.Check(t, n <= maxFields, "%s has %d fields, at most %d are allowed", whole.Name(), n, maxFields)
		for part := range whole.Fields() {
			switch n := part.Type.NumField(); {
			case part.Type == reflect.TypeFor[runconfig.Options]():
			case !part.Anonymous && part.Type.PkgPath() == whole.PkgPath() && !strings.HasSuffix(part.Type.Name(), "State"):
				t.Errorf("%s.%s belongs into a part", whole.Name(), part.Name)
			case n > maxFields:
				t.Errorf("%s has %d fields, at most %d are allowed", part.Name, n, maxFields)
			}
		}
	}
}

// notRelayed are the bridge's events that are not passed to frontends, and why.
var notRelayed = map[reflect.Type]string{
	reflect.TypeFor[bridge.Turn]():           "turnEnded tells of it",
	reflect.TypeFor[bridge.Delivered]():      "delivered tells of it",
	reflect.TypeFor[bridge.Done]():           "ended tells of it",
	reflect.TypeFor[bridge.ContextWarning](): "measured tells of it, with the level that was reached",
	reflect.TypeFor[bridge.Spent]():          "spending tells of it, with what the run has cost",
	reflect.TypeFor[bridge.Quota]():          "quotaRead tells of it, once for all agents",
	reflect.TypeFor[bridge.Tasks]():          "the plan shows them",
	reflect.TypeFor[bridge.Stderr]():         "the loop writes it to the log",
	reflect.TypeFor[bridge.Unknown]():        "the loop writes it to the log",
	reflect.TypeFor[bridge.PTY]():            "it is for a terminal alone",
}

func TestEveryEventIsRelayed(t *testing.T) {
	for _, b := range append([]bridge.EventBody{bridge.Unknown{}}, bridge.EventBodies()...) {
		st := &step{}
		st.relay(bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Body: b})
		if why := notRelayed[reflect.TypeOf(b)]; (why == "") != (len(st.out.Effects()) == 1) {
			t.Errorf("%T leads to %v; not relayed because: %q", b, st.out.Effects(), why)
		}
	}
}
