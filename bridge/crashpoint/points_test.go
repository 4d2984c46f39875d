package crashpoint

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// childVariable makes the test binary a process that passes its points: the value is the role, and the
// points in order.
const childVariable = "CRASHPOINT_TEST_WALK"

func TestMain(m *testing.M) {
	if walk := os.Getenv(childVariable); walk != "" {
		t, err := newTrap(os.Getenv(atVariable), os.Getenv(logVariable))
		if err != nil {
			os.Exit(2)
		}
		words := strings.Fields(walk)
		t.setRole(words[0])
		for _, name := range words[1:] {
			t.here(name)
			_, _ = os.Stdout.WriteString(name + " ")
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]target{
		"":                          {},
		"journal.synced":            {name: "journal.synced", n: 1},
		"journal.synced:3":          {name: "journal.synced", n: 3},
		"bridge/leash.swept:1":      {name: "leash.swept", role: "bridge", n: 1},
		"panic:loop.applied:2":      {name: "loop.applied", n: 2, panic: true},
		"panic:arbiter/a.b:12":      {name: "a.b", role: "arbiter", n: 12, panic: true},
		"panic:arbiter/loop.folded": {name: "loop.folded", role: "arbiter", n: 1, panic: true},
	} {
		got, err := parseTarget(text)
		testkit.Check(t, err == nil && got == want, "%q: %+v, %v, want %+v", text, got, err, want)
	}
	for _, text := range []string{":1", "a:", "a:0", "a:-1", "a:x", "a:1:2", "panic:", "bridge/", "bridge/:1"} {
		got, err := parseTarget(text)
		testkit.Check(t, err != nil, "%q: %+v, want an error", text, got)
	}
}

// TestDeath: SIGKILL ends the process at the named place and count, and nowhere else.
func TestDeath(t *testing.T) {
	for _, tt := range []struct {
		name, at, walk, passed string
		killed                 bool
	}{
		{"nowhere", "", "arbiter a b a", "a b a ", false},
		{"first", "b", "arbiter a b a", "a ", true},
		{"second time", "a:2", "arbiter a b a b", "a b ", true},
		{"never so often", "a:3", "arbiter a b a b", "a b a b ", false},
		{"right role", "bridge/a:1", "bridge a", "", true},
		{"other role", "bridge/a:1", "arbiter a", "a ", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+tt.walk, atVariable+"="+tt.at, logVariable+"="+log)
			out, err := cmd.Output()
			testkit.Same(t, fmt.Sprintf("passed %q", out), tt.passed, string(out))
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			testkit.Check(t, killed == tt.killed && (killed || err == nil), "ended by %v, killed is to be %v", err,
				tt.killed)
		})
	}
}

func TestPanic(t *testing.T) {
	tr := testkit.Must(newTrap("panic:a:2", ""))(t)
	tr.here("a")
	defer func() {
		r := recover()
		testkit.Check(t, r == "crash point a", "recovered %v", r)
	}()
	tr.here("a")
	t.Error("no panic")
}

// TestOneDeath: a process that is started to replace the killed one is not killed.
func TestOneDeath(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for _, want := range []string{"a ", "a b "} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"=bridge a b", atVariable+"=bridge/b", logVariable+"="+log)
		out, _ := cmd.Output()
		testkit.Check(t, string(out) == want, "passed %q, want %q", out, want)
	}
}

// TestLog: the log has each place once, including that of the death.
func TestLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for _, walk := range []string{"arbiter a b a c", "bridge a"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+walk, atVariable+"=c", logVariable+"="+log)
		_ = cmd.Run()
	}
	got := testkit.Must(os.ReadFile(log))(t)
	testkit.Same(t, "", "arbiter/a\narbiter/b\narbiter/c\narbiter/c died\nbridge/a\n", string(got))
}
