package policy

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSuggest(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd, home := filepath.Join(root, "w"), filepath.Join(root, "h")
	for _, dir := range []string{cwd, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc", filepath.Join(cwd, "out")); err != nil {
		t.Fatal(err)
	}
	bash := func(command string, want ...string) {
		t.Helper()
		suggests(t, Request{Tool: "Bash", Input: bashInput(command)}, cwd, home, want)
	}
	bash("git commit -m 'x y'", "Bash(git commit -m 'x y')", "Bash(git commit *)")
	bash("git status", "Bash(git status)", "Bash(git status *)")
	bash("go test ./...", "Bash(go test ./...)", "Bash(go test *)")
	bash("npm run build -- --x", "Bash(npm run build -- --x)", "Bash(npm run build *)")
	bash("make", "Bash(make)")
	bash("make -C x test", "Bash(make -C x test)")
	bash("golangci-lint run", "Bash(golangci-lint run)", "Bash(golangci-lint *)")
	bash("echo $X", "Bash(echo $X)")
	bash("cat ~/.ssh/id", "Bash(cat ~/.ssh/id)")
	bash("gofmt -l *.go", "Bash(gofmt *)")
	bash("go test 2>&1", "Bash(go test)", "Bash(go test *)")
	for _, exact := range []string{"rm -rf x", "bash -c 'rm x'", "sh x.sh", "node x.js", "sudo ls", "env ls",
		"xargs ls", "curl https://x.de", "git push", "git push --force", "go run .", "go generate ./...", "npm exec x",
		"npx x", "docker run x", "find . -delete", "./x.sh", "/bin/rm x", "timeout 5 ls", "sed -i s/a/b/ x", "kill 1",
		"cp a b", "git", "npm run", "A=1 ls"} {
		bash(exact, "Bash("+exact+")")
	}
	for _, none := range []string{"python3 -c 'print(1)'", "git -c core.pager=sh log", "git config x y", "eval ls",
		"$X y", "", "curl x | sh", "cd x && make", "ls; rm x", "ls > x", "ls $(rm x)", "ls &", "ls\nrm x", "rm *",
		"rm -rf *.o", "ls 'x", "ls \x00", "ls # x", "ls '\x1b[2J'", "ls '\u202e'", "ls 'x\ny'",
		"ls " + strings.Repeat("x", 400)} {
		bash(none)
	}

	file := func(tool, name string, want ...string) {
		t.Helper()
		suggests(t, Request{Tool: tool, Input: input("file_path", name)}, cwd, home, want)
	}
	file("Edit", "src/a/b.go", "Edit(./src/a/b.go)", "Edit(src/a/**)")
	file("Write", cwd+"/src/b.go", "Edit(./src/b.go)", "Edit(src/**)")
	file("Write", "b.go", "Edit(./b.go)")
	file("Write", "a*[x]?/b.go", `Edit(./a\*\[x]\?/b.go)`, `Edit(a\*\[x]\?/**)`)
	file("Edit", ".git/hooks/pre-commit", "Edit(./.git/hooks/pre-commit)")
	file("Edit", "src/.claude/x", "Edit(./src/.claude/x)")
	file("Read", "src/b.go", "Read(./src/b.go)", "Read(src/**)")
	file("Read", "/etc/passwd", "Read(//etc/passwd)")
	file("Read", "~/x/y", "Read(~/x/y)")
	file("Read", "../h/x", "Read(~/x)")
	file("Edit", "/", []string(nil)...)
	file("Edit", cwd, []string(nil)...)
	file("Edit", "out/passwd", []string(nil)...)
	file("Edit", "~root/x", []string(nil)...)
	file("Edit", "", []string(nil)...)
	suggests(t, Request{Tool: "Grep", Input: input("pattern", "x", "path", "/etc")}, cwd, home, []string{"Read(//etc)"})
	suggests(t, Request{Tool: "NotebookEdit", Input: input("notebook_path", "n/a.ipynb")}, cwd, home,
		[]string{"Edit(./n/a.ipynb)", "Edit(n/**)"})

	suggests(t, Request{Tool: "WebFetch", Input: input("url", "https://Docs.Example.com:8080/x")}, cwd, home,
		[]string{"WebFetch(domain:docs.example.com)"})
	suggests(t, Request{Tool: "WebFetch", Input: input("url", "https://a@b.de/x")}, cwd, home, nil)
	suggests(t, Request{Tool: "mcp__git__log", Input: nil}, cwd, home, []string{"mcp__git__log", "mcp__git"})
	suggests(t, Request{Tool: "mcp__git", Input: nil}, cwd, home, []string{"mcp__git"})
	suggests(t, Request{Tool: "Skill", Input: input("skill", "pdf")}, cwd, home, []string{"Skill(pdf)"})
	suggests(t, Request{Tool: "Skill", Input: input("skill", "p*")}, cwd, home, nil)
	suggests(t, Request{Tool: "WebSearch", Input: input("query", "x")}, cwd, home, []string{"WebSearch"})
	suggests(t, Request{Tool: "Strange", Input: nil}, cwd, home, []string{"Strange"})
	suggests(t, Request{Tool: "bash", Input: nil}, cwd, home, nil)
	suggests(t, Request{Tool: "", Input: nil}, cwd, home, nil)
	suggests(t, Request{Tool: "mcp__", Input: nil}, cwd, home, nil)
}

func suggests(t *testing.T, r Request, cwd, home string, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, Suggest(r, cwd, home)); diff != "" {
		t.Errorf("%s %s (-want +got):\n%s", r.Tool, r.Input, diff)
	}
}

// TestSuggestionsCover: for every request, each suggestion parses, covers the request, and is never a rule
// about all commands or all files.
func TestSuggestionsCover(t *testing.T) {
	random, made := rand.New(rand.NewPCG(1, 2)), 0
	cwd := t.TempDir()
	for range 3000 {
		r := randomRequest(random)
		if r.Tool == "Bash" && random.IntN(2) == 0 {
			r.Input = bashInput(randomLine(random))
		}
		for _, text := range Suggest(r, cwd, "/h") {
			made++
			rules := mustRules(t, text)
			if _, ok := (Policy{CWD: cwd, Home: "/h", Allow: rules}).Covered(r); !ok {
				t.Errorf("%s does not cover %s %s", text, r.Tool, r.Input)
			}
			switch rules[0].kind {
			case kindTool:
				if rules[0].tool == "Bash" || editors.has(rules[0].tool) || readers.has(rules[0].tool) {
					t.Errorf("%s is suggested for %s", text, r.Input)
				}
			case kindBash:
				if strings.HasPrefix(rules[0].spec, "*") {
					t.Errorf("%s is suggested for %s", text, r.Input)
				}
			}
		}
	}
	if made < 500 {
		t.Errorf("only %d rules were suggested", made)
	}
}
