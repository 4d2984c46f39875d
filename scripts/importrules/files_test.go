package importrules

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// sleepers are test files that may sleep outside of a synctest bubble, and why.
var sleepers = map[string]string{
	"bridge/claude/fakecli_test.go": "plays a child that neither speaks nor ends",
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// goFiles calls f with every Go file of the repository.
func goFiles(t *testing.T, f func(name string, text []byte)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	testkit.OK(t, err)
	count := 0
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root &&
				(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" ||
					d.Name() == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		count++
		f(filepath.ToSlash(rel), text)
		return nil
	})
	testkit.OK(t, err)
	testkit.Need(t, count >= 30, "only %d Go files were found", count)
}

// maxColumns is how many characters a line of Go may have. A tab counts as one.
const maxColumns = 120

// TestLinesAreNarrow: lines of Go, including tests, are short enough for two files side by side. Raw strings
// and tags of fields may be wider, since a break would change their meaning.
func TestLinesAreNarrow(t *testing.T) {
	goFiles(t, func(name string, text []byte) {
		if generated.Match(text) {
			return
		}
		for _, at := range wide(t, name, text) {
			t.Errorf("%s has more than %d columns: break it", at, maxColumns)
		}
	})
}

// wide finds the lines of a file that are too wide.
func wide(t *testing.T, name string, text []byte) []string {
	t.Helper()
	isWide := func(line []byte) bool { return utf8.RuneCount(bytes.TrimRight(line, "\n")) > maxColumns }
	if !slices.ContainsFunc(bytes.SplitAfter(text, []byte("\n")), isWide) {
		return nil
	}
	fset := token.NewFileSet()
	file := testkit.Must(parser.ParseFile(fset, name, text, parser.SkipObjectResolution))(t)
	raw := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value[0] == '`' {
			for line := fset.Position(lit.Pos()).Line; line <= fset.Position(lit.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	var found []string
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if isWide(line) && !raw[number] {
			found = append(found, name+":"+strconv.Itoa(number))
		}
	}
	return found
}

func TestWideLinesAreFound(t *testing.T) {
	x := strings.Repeat("x", maxColumns)
	text := "package p\n\nvar a = \"" + x + "\"\n\nvar b = `" + x + "`\n\n// " + x + "\n"
	got := wide(t, "a.go", []byte(text))
	testkit.Check(t, slices.Equal(got, []string{"a.go:3", "a.go:7"}), "found %v, want lines 3 and 7", got)
}

// TestNoTestSleeps: a wait names its condition. In a synctest bubble time.Sleep is
// no wait, since the clock moves when everybody is idle.
func TestNoTestSleeps(t *testing.T) {
	used := map[string]bool{}
	goFiles(t, func(name string, text []byte) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, at := range sleeps(t, name, text) {
			testkit.Check(t, sleepers[name] != "", "%s sleeps: wait for a condition, or use testing/synctest", at)
			used[name] = true
		}
	})
	for name := range sleepers {
		testkit.Check(t, used[name], "%s may sleep and does not: take it off the list", name)
	}
}

// sleeps finds the calls of time.Sleep in a file that does not import synctest.
func sleeps(t *testing.T, name string, text []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file := testkit.Must(parser.ParseFile(fset, name, text, parser.SkipObjectResolution))(t)
	if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` }) {
		return nil
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
				found = append(found, fset.Position(sel.Pos()).String())
			}
		}
		return true
	})
	return found
}

func TestSleepsAreFound(t *testing.T) {
	const body = "package p\nimport (\"time\"; %s)\nfunc f() { time.Sleep(1) }\n"
	got := sleeps(t, "a_test.go", []byte(strings.Replace(body, "%s", "", 1)))
	testkit.Check(t, len(got) == 1, "found %v, want one sleep", got)
	got = sleeps(t, "a_test.go", []byte(strings.Replace(body, "%s", "_ \"testing/synctest\"", 1)))
	testkit.Check(t, got == nil, "found %v in a bubble, want none", got)
}

// TestBuildFlagsMatchReleases: the program that scripts make, which benchmarks measure, is what users get.
func TestBuildFlagsMatchReleases(t *testing.T) {
	for name, parts := range map[string][]string{
		"scripts/lib.sh":   {"CGO_ENABLED:-0", "-trimpath", "-tags=urfave_cli_no_docs "},
		".goreleaser.yaml": {"env: [CGO_ENABLED=0]\n", "flags: [-trimpath]\n", "tags: [urfave_cli_no_docs]\n"},
	} {
		text := testkit.Must(os.ReadFile(filepath.Join("../..", name)))(t)
		for _, part := range parts {
			testkit.Check(t, bytes.Contains(text, []byte(part)), "%s builds without %q", name, part)
		}
	}
}

// TestNightlyRunsEveryPart: the workflow runs each part that the script has.
func TestNightlyRunsEveryPart(t *testing.T) {
	text := string(testkit.Must(os.ReadFile("../../scripts/nightly"))(t))
	parts := regexp.MustCompile(`\|\| parts=\((.*)\)`).FindStringSubmatch(text)
	testkit.Need(t, parts != nil, "scripts/nightly has no list of its parts")
	testkit.Includes(t, string(testkit.Must(os.ReadFile("../../.github/workflows/nightly.yml"))(t)),
		"matrix: {part: ["+strings.ReplaceAll(parts[1], " ", ", ")+"]}")
}

// TestScriptsRun: what is called as a command can be called as one.
func TestScriptsRun(t *testing.T) {
	for _, name := range []string{"scripts/setup", "scripts/build", "scripts/packages", "scripts/demo", "scripts/test",
		"scripts/bench", "scripts/chaos", "scripts/soak", "scripts/drift", "scripts/docs", "scripts/release",
		"scripts/release-dry-run", "scripts/nightly", ".ci/run"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Error(err)
			continue
		}
		testkit.Check(t, bytes.HasPrefix(text, []byte("#!/usr/bin/env bash\n")),
			"%s does not begin with #!/usr/bin/env bash", name)
		info, err := os.Stat(filepath.Join("../..", name))
		if err != nil {
			t.Error(err)
		} else if info.Mode()&0o111 == 0 {
			t.Errorf("%s is not executable", name)
		}
	}
}

// TestPackagesAreNotInstalledUnasked: on a system that lacks everything, the set-up script's list says what
// each package is for and how to install it, and only --install runs the package manager.
func TestPackagesAreNotInstalledUnasked(t *testing.T) {
	system := t.TempDir()
	ran := filepath.Join(system, "ran")
	for name, script := range map[string]string{
		"uname": "echo Linux", "id": "echo 0", "apt-get": `echo "$*" >>'` + ran + `'`, "timeout": `shift; exec "$@"`,
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(system, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	for _, name := range []string{"bash", "dirname", "tr"} { // programs that the script uses
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		testkit.OK(t, os.Symlink(path, filepath.Join(system, name)))
	}
	packages := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("../packages", args...)
		cmd.Env = []string{"PATH=" + system, "HOME=" + system}
		out, err := cmd.CombinedOutput()
		testkit.Need(t, err == nil, "%v: %s", err, out)
		return string(out)
	}

	list := "bubblewrap zsh fish jq chromium-headless-shell"
	for _, s := range [][2]string{{"sshd", "openssh-server"}, {"slurmctld", "slurm-wlm"}, {"munged", "munge"}} {
		if _, err := os.Stat("/usr/sbin/" + s[0]); err != nil { // these are looked for by path
			list += " " + s[1]
		}
	}
	output := packages()
	testkit.Includes(t, "the output", output,
		"bubblewrap is not installed: agents cannot be confined", "zsh is not installed: the tests",
		"To install: apt-get install -y "+list+"\n",
	)
	raw, err := os.ReadFile(ran)
	testkit.Check(t, err != nil, "unasked, it ran apt-get %s", raw)

	packages("--install")
	want := "install -y " + list + "\n"
	raw, err = os.ReadFile(ran)
	testkit.Check(t, err == nil && string(raw) == want, "told to, it ran apt-get %q (%v)", raw, err)
}

// TestSetupInstallsNoPackage: scripts/setup installs packages only if it is asked to, and the other scripts
// never ask it to.
func TestSetupInstallsNoPackage(t *testing.T) {
	for script, words := range map[string][]string{
		"../setup": {"apt-get", "sudo "}, "../lib.sh": {"apt-get", "--install", "sudo"},
		"../demo": {"apt-get", "--install", "--system", "sudo"},
		"../test": {"apt-get", "--install", "--system", "sudo"},
	} {
		text := testkit.Must(os.ReadFile(script))(t)
		code := regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(string(text), "")
		for _, word := range words {
			testkit.Check(t, !strings.Contains(code, word), "%s: has %q in it", script, word)
		}
		n := strings.Count(code, "--install")
		testkit.Check(t, n <= 1 && (n <= 0 || strings.Contains(code, "--system) system=--install ;;")),
			"%s: installs without --system", script)
	}
}

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
