package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// write writes a file, creates its directories, and returns its path.
func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestTemplatesOverrideEachOther(t *testing.T) {
	r := newJournal(t, byRules(t, "Weave on"))
	prompt := func(args ...string) string {
		out, _ := r.arbiter(contract.ExitComplete, append([]string{"decide", "--number", "1", r.id}, args...)...)
		_, after, _ := strings.Cut(out, "\nprompt, by the templates found now (it was not read for this decision):\n")
		return strings.TrimSpace(after)
	}
	builtin := prompt()
	if !strings.Contains(builtin, "Weave on") {
		t.Fatal(builtin)
	}
	write(t, "The user's: {{.Task}}", "config", "arbiter", "prompts", "select.md")
	write(t, "The workspace's: {{.Task}}", ".arbiter", "prompts", "select.md")
	write(t, "no template: it has another name", ".arbiter", "prompts", "notes.txt")
	testkit.Same(t, "in a workspace that is not trusted", "The user's: Weave on", prompt())
	testkit.Same(t, "in a trusted one", "The workspace's: Weave on", prompt("--trust"))
}

// TestTemplatesThatCannotBeUsed: faulty templates are reported before anything starts, with file and line.
func TestTemplatesThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want []string
	}{
		{"syntax", func(t *testing.T, dir string) { write(t, "fine\n{{.Task", dir, "select.md") },
			[]string{"select.md", ":2"}},
		{"no such member", func(t *testing.T, dir string) { write(t, "one\ntwo\n{{.Tusk}}", dir, "evaluate.md") },
			[]string{"evaluate.md", ":3", "Tusk"}},
		{"unknown name", func(t *testing.T, dir string) { write(t, "x", dir, "selekt.md") },
			[]string{"selekt.md", "brief.md, evaluate.md, select.md, state.md"}},
		{"too large", func(t *testing.T, dir string) {
			write(t, strings.Repeat("x", settings.MaxTemplate+1), dir, "select.md")
		}, []string{"select.md", "65536 bytes"}},
		{"no text", func(t *testing.T, dir string) { write(t, "Schl\xfcssel {{.Task}}", dir, "select.md") },
			[]string{"select.md", "not UTF-8"}},
		{"empty", func(t *testing.T, dir string) { write(t, "", dir, "select.md") },
			[]string{"select.md", "renders nothing"}},
		{"a directory", func(t *testing.T, dir string) { write(t, "x", dir, "select.md", "inside") },
			[]string{"select.md", "not a regular file"}},
		{"a pipe", func(t *testing.T, dir string) {
			testkit.OK(t, os.MkdirAll(dir, 0o700))
			testkit.OK(t, syscall.Mkfifo(filepath.Join(dir, "select.md"), 0o600))
		}, []string{"select.md", "not a regular file"}},
		{"a link", func(t *testing.T, dir string) {
			target := write(t, "{{.Task}}", filepath.Dir(dir), "elsewhere.md")
			write(t, "", dir, "notes.txt")
			testkit.OK(t, os.Symlink(target, filepath.Join(dir, "select.md")))
		}, []string{"select.md", "a link"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newJournal(t)
			c.make(t, filepath.Join(".arbiter", "prompts"))
			_, ofDecide := r.reading(contract.ExitUsage, string(encoded(t, aSelection("x"))), "decide", "--trust",
				"--input", "-", "--decider", "rules")
			here := testkit.Must(os.Getwd())(t)
			s := prepare(t, nil)
			s.cmd.Dir = here
			_, ofRun := s.output(int(contract.ExitUsage), "--json", "--stand-in", "--trust", "--no-input", "--task",
				"Weave")
			for _, want := range c.want {
				if !strings.Contains(ofDecide, want) || !strings.Contains(ofRun, want) {
					t.Errorf("lacks %q:\n%s\n%s", want, ofDecide, ofRun)
				}
			}
		})
	}
}

// TestBuiltInTemplatesCanBeReplacedByThemselves: the output of --template can be used as a template.
func TestBuiltInTemplatesCanBeReplacedByThemselves(t *testing.T) {
	r := newJournal(t)
	for _, name := range decider.PromptNames() {
		text, _ := r.arbiter(contract.ExitComplete, "decide", "--template", name)
		write(t, text, ".arbiter", "prompts", name)
	}
	r.reading(contract.ExitComplete, string(encoded(t, aSelection("x"))), "decide", "--trust", "--input", "-",
		"--decider", "rules")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"select"}, `--template "select": use one of brief.md, evaluate.md, select.md, state.md`},
		{[]string{"arbiter.md"}, "use one of"},
		{[]string{"../set.go"}, "use one of"},
		{[]string{""}, "use one of"},
		{[]string{"select.md", "--number", "1"}, "takes no other flag"},
		{[]string{"select.md", "run"}, "takes no other flag"},
	} {
		if _, errs := r.arbiter(contract.ExitUsage,
			append([]string{"decide", "--template"}, c.args...)...); !strings.Contains(errs, c.want) {
			t.Errorf("%q: %s", c.args, errs)
		}
	}
}
