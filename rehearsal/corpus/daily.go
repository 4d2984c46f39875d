package corpus

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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

// newline stands for a newline in a line of the file.
const newline = "⏎"

const dailyHead = `# Command lines as engineers' agents run them, and what CLI %s does about each in its default
# mode, where no rule speaks of it, in a workspace made by corpus.DailyPlace:
#   ask   it asks for permission
#   run   it runs it
# %s stands for a newline. Write new lines at the end, with "ask", then have the CLI asked:
#   ARBITER_LONG=1 scripts/test --only -count=1 -run TestLiveDailyLines ./bridge/claude -update
`

const fewestDaily = 300

func dailyPath(root string) string { return filepath.Join(root, "testdata", "commands", "daily.txt") }

// DailyLines reads testdata/commands/daily.txt. root is the path of the repository.
func DailyLines(t testing.TB, root string) Daily {
	t.Helper()
	raw := testkit.Must(os.ReadFile(dailyPath(root)))(t)
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
		line = strings.ReplaceAll(line, newline, "\n")
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

// Write replaces testdata/commands/daily.txt.
func (d Daily) Write(t testing.TB, root string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, dailyHead, d.Version, newline)
	for _, l := range d.Lines {
		verb := "run"
		if l.Asks {
			verb = "ask"
		}
		fmt.Fprintf(&b, "%s\t%s\n", verb, strings.ReplaceAll(l.Line, "\n", newline))
	}
	testkit.OK(t, os.WriteFile(dailyPath(root), []byte(b.String()), 0o600))
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
