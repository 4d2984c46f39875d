package importrules

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// pkg is a package as `go list -json` describes it.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	Doc        string
	Imports    []string
	Deps       []string
}

// list asks the go command for each platform that we build for: files for one are invisible on the other.
func list(t *testing.T, goos string) []pkg {
	t.Helper()
	if all := listed[goos]; all != nil {
		return all
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Doc,Imports,Deps", "./...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 8 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	listed[goos] = all
	return all
}

// listed caches the results of go list by operating system: each takes a second.
var listed = map[string][]pkg{}

func TestImports(t *testing.T) {
	for _, goos := range []string{"linux", "darwin"} {
		t.Run(goos, func(t *testing.T) {
			for _, p := range list(t, goos) {
				checkForbidden(t, p)
				checkReserved(t, p)
				for _, imported := range p.Imports {
					if matchAny(testOnly, imported) && !matchAny(forTests, p.ImportPath) {
						t.Errorf("%s imports %s: that is for tests", short(p.ImportPath), imported)
					}
				}
			}
		})
	}
}

func checkForbidden(t *testing.T, p pkg) {
	t.Helper()
	for _, r := range forbidden {
		if !match(r.from, p.ImportPath) || matchAny(r.not, p.ImportPath) {
			continue
		}
		imports := p.Deps
		if r.direct {
			imports = p.Imports
		}
		for _, imported := range imports {
			// Packages within the subtree of a rule may import each other.
			own := strings.HasSuffix(r.from, "/...") && r.from != "./..." && match(r.from, imported) ||
				r.from == "./..." && match("./cmd/...", p.ImportPath) && match("./cmd/...", imported)
			if matchAny(r.to, imported) && !own && !match(r.but, imported) {
				t.Errorf("%s must not import %s: %s", short(p.ImportPath), short(imported), r.why)
			}
		}
	}
}

func checkReserved(t *testing.T, p pkg) {
	t.Helper()
	for _, r := range reserved {
		for _, imported := range p.Imports {
			if match(r.what, imported) && !matchAny(r.where, p.ImportPath) {
				t.Errorf("%s must not import %s: %s", short(p.ImportPath), imported, r.why)
			}
		}
	}
}

// TestRulesMatchSomething breaks rules on purpose: a rule that matches nothing protects nothing.
func TestRulesMatchSomething(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"./bridge", module + "/bridge", true},
		{"./bridge", module + "/bridge/claude", false},
		{"./bridge/...", module + "/bridge", true},
		{"./bridge/...", module + "/bridge/claude", true},
		{"./bridge/...", module + "/bridgehead", false},
		{"./...", module + "/cmd/arbiter", true},
		{"./...", "os", false},
		{module + "/...", module + "/hooks", true},
		{"os", "os/exec", false},
		{"github.com/...", "github.com/x/y", true},
	} {
		if got := match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s matches %s: %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
	var names []string
	for _, p := range list(t, "linux") {
		names = append(names, p.ImportPath)
	}
	planned := []string{"./tui/...", "./hooks/...", "./transcript/..."}
	for _, r := range forbidden {
		used := slices.ContainsFunc(names, func(n string) bool { return match(r.from, n) })
		if !used && !slices.Contains(planned, r.from) {
			t.Errorf("a rule about %s, which no package is", r.from)
		}
	}
}

// TestPackagesHaveDocComments: a package comment states purpose, ownership, ordering and shutdown; without one
// it is unclear who owns which goroutine.
func TestPackagesHaveDocComments(t *testing.T) {
	for _, p := range list(t, "linux") {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", short(p.ImportPath))
		}
		switch path.Base(p.ImportPath) {
		case "util", "utils", "common", "helpers", "models", "misc":
			t.Errorf("%s: a package is named after what it is", short(p.ImportPath))
		}
	}
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

func match(pattern, name string) bool {
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		pattern = module + "/" + rest
	}
	if stem, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == stem || strings.HasPrefix(name, stem+"/")
	}
	return name == pattern
}

func short(name string) string { return strings.TrimPrefix(name, module+"/") }
