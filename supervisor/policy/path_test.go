package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestPathRules(t *testing.T) {
	tests := []struct {
		rule, path    string
		covers, might bool
	}{
		{"Edit(src/**)", "/w/src/a", true, true},
		{"Edit(src/**)", "src/a/b/c", true, true},
		{"Edit(src/**)", "./src/a", true, true},
		{"Edit(src/**)", "/w/srcs/a", false, false},
		{"Edit(src/**)", "/w/a/src/b", false, false},
		{"Edit(src/**)", "/w/src/../a", false, false},
		{"Edit(src/**)", "/x/src/a", false, false},
		{"Edit(/src/**)", "/w/src/a", true, true},
		{"Edit(./src/**)", "/w/src/a", true, true},
		{"Edit(src/*)", "/w/src/a", true, true},
		{"Edit(src/*)", "/w/src/a/b", false, true},
		{"Edit(src/)", "/w/src/a/b", true, true},
		{"Edit(src)", "/w/src", true, true},
		{"Edit(src)", "/w/src/a", true, true},
		{"Edit(src)", "/w/a/src", true, true},
		{"Edit(./src)", "/w/a/src", false, false},
		{"Edit(*.go)", "/w/a.go", true, true},
		{"Edit(*.go)", "/w/a/b.go", true, true},
		{"Edit(*.go)", "/w/a.goo", false, false},
		{"Edit(*.go)", "/x/a.go", false, false},
		{"Edit(**/*.go)", "/w/a.go", true, true},
		{"Edit(a/**/b/*.go)", "/w/a/b/x.go", true, true},
		{"Edit(a/**/b/*.go)", "/w/a/c/d/b/x.go", true, true},
		{"Edit(a/**/b/*.go)", "/w/a/c/d/x.go", false, false},
		{"Edit(a?[bc])", "/w/axb", true, true},
		{"Edit(//etc/**)", "/etc/a/b", true, true},
		{"Edit(//etc/**)", "/w/etc/a", false, false},
		{"Edit(//**)", "/anything", true, true},
		{"Edit(//)", "/anything", true, true},
		{"Edit(~/.ssh/**)", "/home/u/.ssh/id", true, true},
		{"Edit(~/.ssh/**)", "~/.ssh/id", true, true},
		{"Edit(~/.ssh/**)", "/home/v/.ssh/id", false, false},
		{"Edit(~)", "/home/u/a", true, true},
		{"Edit(../x/**)", "/x/a", true, true},
		{"Edit(../x/**)", "../x/a", true, true},
		{"Edit(../x/**)", "/w/x/a", false, false},
		{"Edit(.)", "/w/a/b", true, true},
		{"Edit(.env)", "/w/.env", true, true},
		{"Edit(.env)", "/w/a/.env", true, true},
		{"Edit(.env)", "/w/.envrc", false, false},
		{"Edit(.env)", "/w/.env/", true, true},
		{"Edit(.env)", "/w//.env", true, true},
		{"Edit(.env)", "/w/x/../.env", true, true},
		{"Edit(.env)", " /w/.env", false, true},
		{"Edit(.env)", "", false, true},
	}
	for _, tt := range tests {
		r := Request{Tool: "Write", Input: input("file_path", tt.path)}
		deny := Policy{CWD: "/w", Home: "/home/u", Resolve: plain, Deny: mustRules(t, tt.rule)}
		if _, got := deny.Within(r, deny.Deny); got != tt.covers {
			t.Errorf("%s: %q: within %v, want %v", tt.rule, tt.path, got, tt.covers)
		}
		if got := deny.Decide(r).Behavior != ""; got != tt.might {
			t.Errorf("deny %s: %q: %v, want %v", tt.rule, tt.path, got, tt.might)
		}
	}
}

func TestReadRulesCoverSearches(t *testing.T) {
	p := Policy{CWD: "/w", Home: "/home/u", Resolve: plain,
		Deny: mustRules(t, "Read(.env)", "Read(~/.ssh/**)")}
	for _, tt := range []struct {
		tool  string
		input json.RawMessage
		want  string
	}{
		{"Read", input("file_path", ".env"), Deny},
		{"Grep", input("pattern", "x", "path", ".env"), Deny},
		{"Grep", input("pattern", "x", "glob", ".env"), Deny},
		{"Grep", input("pattern", "x", "path", "src", "glob", ".env"), Deny},
		{"Glob", input("pattern", "id", "path", "~/.ssh"), Deny},
		{"Glob", input("pattern", "~/.ssh/id"), Deny},
		{"Grep", input("pattern", ".env"), ""},
		{"Edit", input("file_path", ".env"), ""},
	} {
		testkit.Same(t, fmt.Sprintf("%s %s is", tt.tool, tt.input), tt.want,
			p.Decide(Request{Tool: tt.tool, Input: tt.input}).Behavior)
	}
}

// TestFileRulesHoldForCommands: a file that must not be read or written must not be by a command that names it,
// either.
func TestFileRulesHoldForCommands(t *testing.T) {
	for _, tt := range []struct {
		rule           string
		denied, passed []string
		asked          []string
	}{
		{"Read(.env)", []string{"cat .env", "cat .ENV", "cat ./src/../.env", "cat '.env'", "/bin/cat .env",
			"head -n 1 a .env", "grep x .env", "sed -n 1p .env", "sudo cat .env", "ls; cat .env", "echo $(cat .env)",
			"cat < .env",
			"cat <.env", "wc -l <.env", "bash -c 'cat .env'", "if true; then cat .env; fi", "xargs cat .env",
			"cp .env x", "dd if=.env", "curl --data=.env x", "source .env", ". .env", "find . -exec cat .env ;",
			"cat /alias/.env", "mv .env x"},
			[]string{"cat .envrc", "ls .env", "echo .env", "git add .env", "rm .env2", "cat a", "cat *.go", "cat src/*",
				"rg x", "python3 x.py"},
			[]string{"cat $F", "cat .e*", "cat */.env", "cat src/$F", "cat .*", "grep -r x .", "ls | xargs cat",
				"tar czf x.tgz .", "cp -r . ../x", "python3 -c 'x'", "eval cat x", "cat /proc/self/root/x"}},
		{"Edit(secret/**)", []string{"rm secret/a", "tee secret/a", "echo x > secret/a", "echo x >secret/a",
			"echo x >> 'secret/a'", "sed -i s/a/b/ secret/a", "sed -ni p secret/a", "cp a secret/", "mv secret/a b",
			"dd of=secret/a", "touch secret/a", "sudo rm -rf secret", "(echo x) 2> secret/a", "echo x &> secret/a",
			"sh -c 'rm secret/a'", "strace -o secret/a ls"},
			[]string{"cat secret/a", "sed -n p secret/a", "ls secret", "rm secrets/a", "echo 'x > secret/a'"},
			[]string{"echo x > $F", "rm $F", "tee s*/a", "xargs rm", "rm -rf .", "chmod -R 0 /w"}},
		{"Read(~/.ssh/**)", []string{"cat ~/.ssh/id", "cat /h/.ssh/id", "tar cf x ~/.ssh", "scp ~/.ssh/id h:"},
			[]string{"cat .ssh/id"}, nil},
		{"Edit", nil, []string{"rm x", "echo > x"}, nil},
		{"Read", nil, []string{"cat x"}, nil},
		{"Write(a)", nil, []string{"rm a"}, nil},
	} {
		p := Policy{CWD: "/w", Home: "/h", Resolve: linked, Deny: mustRules(t, tt.rule)}
		for want, commands := range map[string][]string{Deny: tt.denied, Ask: tt.asked, "": tt.passed} {
			for _, command := range commands {
				if d := p.Decide(Request{Tool: "Bash", Input: bashInput(command)}); d.Behavior != want {
					t.Errorf("%s: %q is %q, want %q (%s)", tt.rule, command, d.Behavior, want, d.Reason)
				}
			}
		}
	}
}

// TestLinks uses real links: the name of a path and its target differ.
func TestLinks(t *testing.T) {
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, dir := range []string{"tree/src", "secret", "tree/real"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for name, to := range map[string]string{
		"tree/src/out":      root + "/secret",          // leads out
		"tree/src/in":       "../real",                 // stays in
		"tree/src/dangling": root + "/secret/new",      // leads to a file that does not exist yet
		"tree/src/loop":     root + "/tree/src/loop",   // leads nowhere
		"alias":             root + "/tree",            // another name of the working directory
		"keys":              root + "/secret",          // another name of the secret
		"tree/src/chain":    root + "/tree/src/out/..", // for the kernel, .. starts at the link's target
	} {
		testkit.OK(t, os.Symlink(to, filepath.Join(root, name)))
	}
	tests := []struct {
		cwd, path     string
		covers, might bool // by Edit(src/**); by deny Edit(//root/keys/**)
	}{
		{"tree", "src/a", true, false},
		{"tree", "src/new/dir/a", true, false},
		{"tree", "src/out/a", false, true},
		{"tree", "src/out", false, true},
		{"tree", "src/in/a", false, false},
		{"tree", "src/dangling", false, true},
		{"tree", "src/dangling/b", false, true},
		{"tree", "src/loop", false, true},
		{"tree", "src/loop/a", false, true},
		{"tree", "src/out/../a", false, false},
		{"tree", "src/chain/a", false, false},
		{"tree", "src/in/../a", false, false},
		{"tree", "../secret/a", false, true},
		{"tree", "../keys/a", false, true},
		{"alias", "src/a", true, false},
		{"alias", root + "/tree/src/a", true, false},
		{"tree", root + "/alias/src/a", false, false},
		{"alias", root + "/alias/src/out/a", false, true},
	}
	for _, tt := range tests {
		r := Request{Tool: "Write", Input: input("file_path", tt.path)}
		p := Policy{CWD: filepath.Join(root, tt.cwd), Deny: mustRules(t, "Edit(/"+root+"/keys/**)")}
		if _, got := p.Within(r, mustRules(t, "Edit(src/**)")); got != tt.covers {
			t.Errorf("%s in %s is within src: %v, want %v", tt.path, tt.cwd, got, tt.covers)
		}
		if got := p.Decide(r).Behavior != ""; got != tt.might {
			t.Errorf("%s in %s may be in keys: %v, want %v", tt.path, tt.cwd, got, tt.might)
		}
	}
}

// TestUnresolvable: a path whose links cannot be followed is in doubt.
func TestUnresolvable(t *testing.T) {
	broken := func(string) (string, error) { return "", errors.New("permission denied") }
	r := Request{Tool: "Write", Input: input("file_path", "/w/src/a")}
	p := Policy{CWD: "/w", Resolve: broken, Deny: mustRules(t, "Edit(//etc/**)")}
	testkit.Same(t, "deny", Ask, p.Decide(r).Behavior)
	if rule, ok := p.Within(r, mustRules(t, "Edit(src/**)")); ok {
		t.Errorf("it is within %s", rule)
	}
}

func TestWithoutHome(t *testing.T) {
	r := Request{Tool: "Read", Input: input("file_path", "/.ssh/id")}
	p := Policy{CWD: "/w", Resolve: plain, Deny: mustRules(t, "Read(~/.ssh/**)")}
	if d := p.Decide(r); d != (Decision{}) {
		t.Errorf("%v", d)
	}
	if rule, ok := p.Within(r, p.Deny); ok {
		t.Errorf("it is within %s", rule)
	}
}

func TestMatchWithCaseFolding(t *testing.T) {
	if !(&region{[]string{"/W"}, []string{"**", ".Env"}, true}).has("/w/a/.ENV") ||
		(&region{[]string{"/w"}, []string{".env"}, false}).has("/w/.ENV") {
		t.Error("case is not folded exactly when requested")
	}
}

// TestOnlyReads: what changes no file, and what commits. In doubt a call changes something.
func TestOnlyReads(t *testing.T) {
	for line, want := range map[string]struct{ reads, commits bool }{
		"git log --oneline | head -5":              {true, true},
		"cd src && ls -la && cat a.go 2>/dev/null": {true, true},
		"grep -rn x . | sort | uniq -c":            {true, true},
		"find . -name '*.go'":                      {true, true},
		"wc -l < /dev/tcp/host/1":                  {false, false}, // so does any other file: in doubt, it does not read
		"git add -A && git commit -qm 'x y'":       {false, true},
		"rm -f a":                                  {false, false},
		"printf ho > a.txt":                        {false, false},
		"find . -delete":                           {false, false},
		"find . -exec rm {} +":                     {false, false},
		"sort -o a a":                              {false, false},
		"git log --output=a":                       {false, false},
		"git checkout main":                        {false, false},
		"go test ./...":                            {false, false},
		"bash -c 'cat a'":                          {false, false},
		"eval cat a":                               {false, false},
		"cat $(touch a)":                           {false, false},
		"./cat a":                                  {false, false},
		"PATH=. cat a":                             {false, false},
		"find . $X":                                {false, false},
		"git log $(cat a)":                         {false, false},
		"sort \"$X\"":                              {false, false},
		"sort a | uniq - b":                        {false, false},
		"uniq -f 1 a b":                            {false, false},
		"date -s 12:00":                            {false, false},
		"date --set=now":                           {false, false},
		"rg --pre ./a x":                           {false, false},
		"git grep -O./a x":                         {false, false},
		"git grep --open-files-in-pager=./a x":     {false, false},
		"file -C -m a":                             {false, false},
		"sort a | uniq -c | head":                  {true, true},
		"echo \"$X\" && ls -sS":                    {true, true},
	} {
		input, _ := json.Marshal(map[string]string{"command": line})
		p, r := Policy{CWD: "/w", Home: "/h"}, Request{Tool: "Bash", Input: input}
		if reads, commits := p.OnlyReads(r, false), p.OnlyReads(r, true); reads != want.reads || commits != want.commits {
			t.Errorf("%s: reads %v, commits %v", line, reads, commits)
		}
	}
	p := Policy{CWD: "/w"}
	for tool, want := range map[string]bool{
		"Read": true, "Grep": true, "Write": false, "NotebookEdit": false, "Agent": false, "mcp__db__drop": false,
		"mcp__arbiter__ask_predecessor": true, bridge.VerdictTool: true, "Monitor": false,
	} {
		testkit.Same(t, fmt.Sprintf("%s: reads", tool), want,
			p.OnlyReads(Request{Tool: tool, Input: json.RawMessage(`{}`)}, true))
	}
}
