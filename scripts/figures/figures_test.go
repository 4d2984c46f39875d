package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const output = `goos: linux
cpu: Some Processor
BenchmarkHop-2   	    2000	    653000 ns/op	    34000 echo-p50-ns	   620000 hop-p50-ns	        18.2 ×echo
BenchmarkDecide/mixed/rules=1000/Edit-2 	    5000	 4011 ns/op	 1300 plain-ns/op
BenchmarkScrollback-16	1	5 ns/op	 6.25 MB-at-1,000,000	 6.5 MB-at-100,000
BenchmarkText/ascii-2 	 1	 20110 ns/op	1889.61 MB/s	 0 B/op
--- SKIP: BenchmarkProbe
PASS
`

func TestRows(t *testing.T) {
	list := parse(output)
	for want, row := range map[string]row{
		"| hop | 620 µs | an echo: 34 µs | 18.2 × | ≤ 1 ms |": {
			ours: "Hop hop-p50-ns", base: "Hop echo-p50-ns", than: "an echo", most: 1e6},
		"| hop | 620 µs | an echo: 34 µs | 18.2 × | ≤ 600 µs **missed** |": {
			ours: "Hop hop-p50-ns", base: "Hop echo-p50-ns", than: "an echo", most: 6e5},
		"| hop | 4.01 µs | texts: 1.3 µs | 3.09 × | ≤ 3 × **missed** |": {ours: "Decide/mixed/rules=1000/Edit ns/op",
			base: "Decide/mixed/rules=1000/Edit plain-ns/op", than: "texts", times: 3},
		"| hop | 6.25 MB | fewer: 6.5 MB | 0.962 × |  |": {
			ours: "Scrollback MB-at-1,000,000", base: "Scrollback MB-at-100,000", than: "fewer"},
		"| hop | 620 µs | nothing: 0 |  |  |": {ours: "Hop hop-p50-ns", base: "Text/ascii B/op", than: "nothing"},
		// Two units of the same measure.
		"| hop | 20.1 µs | a hop: 620 µs | 0.0324 × |  |": {
			ours: "Text/ascii ns/op", base: "Hop hop-p50-ns", than: "a hop"},
	} {
		row.what = "hop"
		testkit.Same(t, row.ours, want+"\n", testkit.Must(row.markdown(list))(t))
	}
	for _, of := range []string{"Hop p99-ns", "Probe ns/op"} {
		_, err := row{ours: of, base: "Hop echo-p50-ns"}.markdown(list)
		testkit.Fails(t, of, err, of)
	}
}

func TestDigits(t *testing.T) {
	for n, want := range map[float64]string{0: "0", 0.0321: "0.0321", 0.0004912: "0.000491", 0.5: "0.5", 6.25: "6.25",
		34: "34", 99.96: "100", 100: "100", 1234567: "1,234,567", 74128.4: "74,128"} {
		testkit.Same(t, n, want, digits(n))
	}
	for unit, want := range map[string]string{"ns/op": "ns", "hop-p99-ns": "ns", "p50-µs": "µs",
		"plain-tview-p99-ms": "ms", "events/s": "", "%-of-a-cpu": "%", "x-raw": "", "MB/agent": "MB", "files/agent": "",
		"anew-µs/delta": "µs"} {
		testkit.Same(t, unit, want, measure(unit))
	}
}

// TestPlan: the plan is short, each of its rows has a baseline and an aim and names an existing benchmark.
func TestPlan(t *testing.T) {
	there := benchmarks(t)
	rows := 0
	for _, r := range plan {
		for name := range strings.SplitSeq(r.bench, "|") {
			key := r.pkg + " " + name
			testkit.Check(t, there[key] != "", "plan.go names Benchmark%s, which %s lacks", name, r.pkg)
		}
		for _, row := range r.rows {
			rows++
			for _, of := range []string{row.ours, row.base} {
				name, _, _ := strings.Cut(of, " ")
				name, _, _ = strings.Cut(name, "/")
				testkit.Check(t, slices.Contains(strings.Split(r.bench, "|"), name),
					"%q is read from %q, which does not run there", row.what, name)
			}
			testkit.Check(t, row.than != "" && (row.most != 0 || row.times != 0),
				"%q: the name of its baseline or its aim is missing", row.what)
		}
	}
	testkit.Check(t, rows <= 20, "%d rows, of which people would read twenty", rows)
}

// benchmarks maps "package Name" of each benchmark in the repository to the name of its file.
func benchmarks(t *testing.T) map[string]string {
	t.Helper()
	there := map[string]string{}
	root := os.DirFS("../..")
	testkit.OK(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != "." {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil,
			parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && strings.HasPrefix(f.Name.Name, "Benchmark") {
				key := filepath.ToSlash(filepath.Dir(path)) + " " + strings.TrimPrefix(f.Name.Name, "Benchmark")
				there[key] = filepath.Base(path)
			}
		}
		return nil
	}))
	return there
}
