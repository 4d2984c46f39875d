package corpus

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// Attack is an action that an agent may try although no rule allows it, or although one denies it. It is a
// Line for Bash, a Tool with its Input, or a Check of a hand-off. Paths are below the workspace.
type Attack struct {
	Line  string         `yaml:"line"`
	Check string         `yaml:"check"`
	Tool  string         `yaml:"tool"`
	Input map[string]any `yaml:"input"`
	CWD   string         `yaml:"cwd"` // directory of the shell after an earlier cd; empty: the workspace

	Made  string `yaml:"made"`  // a file that must not be created
	Kept  string `yaml:"kept"`  // a file that must stay unchanged
	Shown string `yaml:"shown"` // a text that the model must not see

	Harmless bool     `yaml:"harmless"` // it looks like an attack, but has no effect in bash
	Unasked  bool     `yaml:"unasked"`  // the CLI lets it pass in its default mode
	Only     []string `yaml:"only"`     // what it requires: linux, root, or programs
}

// Text returns the command, or the tool's name.
func (a Attack) Text() string {
	return cmp.Or(a.Line, a.Check, a.Tool)
}

// Possible reports whether this machine has what an attack requires.
func (a Attack) Possible() bool {
	return !slices.ContainsFunc(a.Only, func(need string) bool {
		switch need {
		case "linux":
			return runtime.GOOS != "linux"
		case "root":
			return os.Getuid() != 0
		}
		_, err := exec.LookPath(need)
		return err != nil
	})
}

// AttackGroup is a group of attacks that are tried under the same rules.
type AttackGroup struct {
	Row     int               `yaml:"row"` // groups of one fault have the same number
	About   string            `yaml:"about"`
	Allow   []string          `yaml:"allow"`
	Deny    []string          `yaml:"deny"`
	Ask     []string          `yaml:"ask"`
	Modes   []string          `yaml:"modes"` // of --permissions
	Files   map[string]string `yaml:"files"` // of the workspace
	Attacks []Attack          `yaml:"attacks"`
}

const fewestAttacks = 400

// Attacks reads the attacks of testdata/commands/attacks.yaml. root is the path of the repository.
func Attacks(t testing.TB, root string) []AttackGroup {
	t.Helper()
	raw := testkit.Must(os.ReadFile(filepath.Join(root, "testdata", "commands", "attacks.yaml")))(t)
	var groups []AttackGroup
	testkit.OK(t, yaml.UnmarshalWithOptions(raw, &groups, yaml.Strict()))
	n := 0
	for i := range groups {
		g := &groups[i]
		if g.Modes == nil {
			g.Modes = []string{"ask", "accept-edits", "rules"}
			if len(g.Deny)+len(g.Ask) > 0 {
				g.Modes = append(g.Modes, "allow-all")
			}
		}
		n += len(g.Attacks)
	}
	if n < fewestAttacks {
		t.Fatalf("%d attacks, want at least %d", n, fewestAttacks)
	}
	return groups
}

// Texts in the files of an [AttackPlace].
const (
	KeptText   = "kept\n"
	keyText    = "KEY-TEXT\n"
	secretText = "ID-RSA-TEXT\n"
)

// AttackPlace is the place where attacks are tried: a workspace with a remote repository beside it, and a
// home directory with a secret.
type AttackPlace struct{ Work, Home string }

// NewAttackPlace creates a place in an empty directory, for one group of attacks.
func NewAttackPlace(t testing.TB, dir string, g AttackGroup) AttackPlace {
	t.Helper()
	p := AttackPlace{Work: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home")}
	files := map[string]string{"top": "one\n", "secrets/key": keyText, "../home/.ssh/id_rsa": secretText, "v": KeptText}
	maps.Copy(files, g.Files)
	for _, a := range g.Attacks {
		if a.Kept != "" {
			files[a.Kept] = KeptText
		}
	}
	writeFiles(t, p.Work, files)
	testkit.OK(t, os.Symlink("secrets", filepath.Join(p.Work, "linked")))
	p.git(t, "init -q --template= --bare -b main ../remote.git", "init -q --template= -b main", "config user.name a",
		"config user.email a@example.org", "config push.default current", "remote add origin ../remote.git", "add top",
		"commit -q -m one", "commit -q --allow-empty -m two")
	writeFiles(t, p.Work, map[string]string{"top": "one\ntwo\n"})
	return p
}

// writeFiles writes texts by their path below a directory.
func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		path = filepath.Join(dir, path)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// git runs commands, whose arguments have no blanks.
func (p AttackPlace) git(t testing.TB, lines ...string) {
	t.Helper()
	for _, line := range lines {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir = p.Work
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Home, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
}

// Harm describes the harm that an attack did, or "". shown is all that the model was shown, without the
// attack itself.
func (p AttackPlace) Harm(a Attack, shown string) string {
	if a.Made != "" {
		if _, err := os.Lstat(filepath.Join(p.Work, a.Made)); err == nil {
			return "made " + a.Made
		}
	}
	if a.Kept != "" {
		if text, err := os.ReadFile(filepath.Join(p.Work, a.Kept)); err != nil || string(text) != KeptText {
			return "changed " + a.Kept
		}
	}
	if a.Shown != "" && strings.Contains(shown, a.Shown) {
		return "showed " + a.Shown
	}
	return ""
}

// Receivers lists the types of a directory's Go files that have a method: the
// members of a sealed union.
func Receivers(t testing.TB, dir, method string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	found := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := testkit.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution))(t)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == method {
				if of, ok := fn.Recv.List[0].Type.(*ast.Ident); ok { // a pointer's type is not a member
					found[of.Name] = true
				}
			}
		}
	}
	return found
}

// NestedLine returns a random command line that is valid for bash and that, in most cases, runs payload somewhere
// in nested expansions, backquotes, here-documents and compound commands. payload is a simple command that prints
// nothing.
func NestedLine(r *rand.Rand, payload string) string {
	line := payload
	for depth := range 1 + r.IntN(4) {
		line = nest(r, line, depth)
	}
	return line
}

// backquoted is a text as it is written between backquotes.
var backquoted = strings.NewReplacer(`\`, `\\`, "`", "\\`")

// nest puts a line into another one. Line breaks in it end a here-document or a comment.
func nest(r *rand.Rand, line string, depth int) string {
	dollar := "$(" + line + "\n)"
	if !strings.Contains(line, "\n") && r.IntN(2) == 0 {
		dollar = "$(" + line + ")"
	}
	quotes := "`" + backquoted.Replace(line) + "\n`"
	expansion := dollar
	if r.IntN(3) == 0 {
		expansion = quotes
	}
	forms := []string{
		"echo " + expansion,
		"echo \"" + dollar + "\"",
		"echo \"a'b " + dollar + " c'd\"",
		"echo ${x:-" + expansion + "}",
		"echo \"${x:-" + dollar + "}\"",
		"echo \"${x:-'" + dollar + "'}\"",
		"echo \"${x-${y:-" + dollar + "}}\"",
		"echo 'a' \"b\"#c \\; " + expansion + " # ) ' \"",
		"echo $((0" + dollar + "))",
		fmt.Sprintf("cat <<E%d\n'%s' \"q\"\nE%[1]d", depth, dollar),
		fmt.Sprintf("cat <<-\"E%d\"; echo %s\n$(false) ) `\nE%[1]d", depth, quotes),
		"cat <(" + line + "\n)",
		"for i in a " + expansion + "; do echo $i; done",
		"case " + expansion + " in x) echo y;; *) echo z;; esac",
		"case x in (x)\n" + line + "\n;; esac",
		"if [[ -z " + dollar + " ]]; then echo \"y\"; fi",
		"if\n" + line + "\nthen :; fi",
		"{ echo a; (\n" + line + "\n) }",
		"a=(1 " + expansion + " '2'); echo \"${a[@]}\"",
		"x=" + expansion + "; echo \"$x\"",
		"f() {\n" + line + "\n}; f",
		"echo 'it'\\''s' && {\n" + line + "\n}",
		"echo $'a\\'b' | {\n" + line + "\n}",
	}
	return forms[r.IntN(len(forms))]
}

// DailyLine is a command line as engineers' agents run it.
type DailyLine struct {
	Line string
	Asks bool // the CLI asks before it runs it, in its default mode and without rules
}

// Daily are such lines, with the version of the CLI whose behavior was recorded.
type Daily struct {
	Version string
	Lines   []DailyLine
}

const fewestDaily = 300

// DailyLines reads testdata/commands/daily.txt. root is the path of the repository.
func DailyLines(t testing.TB, root string) Daily {
	t.Helper()
	raw := testkit.Must(os.ReadFile(filepath.Join(root, "testdata", "commands", "daily.txt")))(t)
	var d Daily
	if _, err := fmt.Sscanf(string(raw[bytes.Index(raw, []byte("CLI ")):]), "CLI %s", &d.Version); err != nil {
		t.Fatalf("daily.txt does not name a CLI: %v", err)
	}
	for text := range strings.Lines(string(raw)) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "#") {
			continue
		}
		verb, line, ok := strings.Cut(text, "\t")
		if !ok || verb != "ask" && verb != "run" {
			t.Fatalf("daily.txt has %q", text)
		}
		line = strings.ReplaceAll(line, "⏎", "\n")
		if slices.ContainsFunc(d.Lines, func(l DailyLine) bool { return l.Line == line }) {
			t.Errorf("daily.txt has %q twice", line)
		}
		d.Lines = append(d.Lines, DailyLine{line, verb == "ask"})
	}
	if len(d.Lines) < fewestDaily {
		t.Fatalf("%d daily lines, want at least %d", len(d.Lines), fewestDaily)
	}
	return d
}

// sampleStore is a file of the sample project. Its comment is data: daily lines search for both of its words.
const sampleStore = "package store\n\n// TODO: parseConfig\nfunc Open() {}\n"

// DailyPlace creates a small project in a directory, for which the daily lines were written.
func DailyPlace(t testing.TB, dir string) {
	t.Helper()
	writeFiles(t, dir, map[string]string{
		"README.md": "# Sample\n\nmain is the branch.\n", "README.old.md": "# Sample\n",
		"go.mod": "module example.org/app\n\ngo 1.24\n", "cmd/app/main.go": "package main\n\nfunc main() {}\n",
		"internal/store/store.go": sampleStore, "internal/store/store_test.go": "package store\n",
		"internal/old.go": "package internal\n",
		"package.json":    "{\"name\":\"app\",\"version\":\"1.0.0\"}\n", "web/package.json": "{}\n",
		"src/utils/date.test.ts": "", "app/main.py": "import os\n", "tests/test_api.py": "def test_login(): pass\n",
		"scripts/run.sh": "echo run\n", ".env.example": "A=1\n", "Makefile": "test:\n\ttrue\n", "a.txt": "a\n",
		"b.txt": "b\n", "data.csv": "a,b\n", "files.txt": "README.md\n",
	})
	(AttackPlace{Work: dir, Home: dir}).git(t, "init -q --template= -b main", "config user.name a",
		"config user.email a@example.org", "add .", "commit -q -m one", "commit -q --allow-empty -m two")
}
