package policy

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		allow := Policy{Mode: ModeAsk, CWD: "/w", Home: "/home/u", Resolve: plain, Allow: mustRules(t, tt.rule)}
		if got := allow.Decide(r).Behavior == Allow; got != tt.covers {
			t.Errorf("allow %s: %q: allowed %v, want %v", tt.rule, tt.path, got, tt.covers)
		}
		deny := Policy{Mode: ModeAllowAll, CWD: "/w", Home: "/home/u", Resolve: plain, Deny: mustRules(t, tt.rule)}
		if got := deny.Decide(r).Behavior == Deny; got != tt.might {
			t.Errorf("deny %s: %q: denied %v, want %v", tt.rule, tt.path, got, tt.might)
		}
	}
}

func TestReadRulesCoverSearches(t *testing.T) {
	p := Policy{Mode: ModeAsk, CWD: "/w", Home: "/home/u", Resolve: plain,
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
		{"Grep", input("pattern", ".env"), Allow},
		{"Edit", input("file_path", ".env"), Ask},
	} {
		if got := p.Decide(Request{Tool: tt.tool, Input: tt.input}).Behavior; got != tt.want {
			t.Errorf("%s %s is %s, want %s", tt.tool, tt.input, got, tt.want)
		}
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
		{"Read(.env)", []string{"cat .env", "cat ./src/../.env", "cat '.env'", "/bin/cat .env", "head -n 1 a .env",
			"grep x .env", "sed -n 1p .env", "sudo cat .env", "ls; cat .env", "echo $(cat .env)", "cat < .env",
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
			"sh -c 'rm secret/a'"},
			[]string{"cat secret/a", "sed -n p secret/a", "ls secret", "rm secrets/a", "echo 'x > secret/a'"},
			[]string{"echo x > $F", "rm $F", "tee s*/a", "xargs rm", "rm -rf .", "chmod -R 0 /w"}},
		{"Read(~/.ssh/**)", []string{"cat ~/.ssh/id", "cat /h/.ssh/id", "tar cf x ~/.ssh", "scp ~/.ssh/id h:"},
			[]string{"cat .ssh/id"}, nil},
		{"Edit", nil, []string{"rm x", "echo > x"}, nil},
		{"Read", nil, []string{"cat x"}, nil},
		{"Write(a)", nil, []string{"rm a"}, nil},
	} {
		p := Policy{Mode: ModeAllowAll, CWD: "/w", Home: "/h", Resolve: linked, Deny: mustRules(t, tt.rule)}
		for want, commands := range map[string][]string{Deny: tt.denied, Ask: tt.asked, Allow: tt.passed} {
			for _, command := range commands {
				r := Request{Tool: "Bash", Input: bashInput(command)}
				one, other := p.Decide(r), p.Compile().Decide(r)
				if one.Behavior != want || one != other {
					t.Errorf("%s: %q is %s, compiled %s, want %s", tt.rule, command, one.Behavior, other.Behavior, want)
				}
			}
		}
	}
}

// TestLinks uses real links: the name of a path and its target differ.
func TestLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"tree/src", "secret", "tree/real"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
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
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		cwd, path            string
		edits, covers, might bool // accept-edits; allow Edit(src/**); deny Edit(//root/keys/**)
	}{
		{"tree", "src/a", true, true, false},
		{"tree", "src/new/dir/a", true, true, false},
		{"tree", "src/out/a", false, false, true},
		{"tree", "src/out", false, false, true},
		{"tree", "src/in/a", true, false, false},
		{"tree", "src/dangling", false, false, true},
		{"tree", "src/dangling/b", false, false, true},
		{"tree", "src/loop", false, false, true},
		{"tree", "src/loop/a", false, false, true},
		{"tree", "src/out/../a", false, false, false},
		{"tree", "src/chain/a", false, false, false},
		{"tree", "src/in/../a", true, false, false},
		{"tree", "../secret/a", false, false, true},
		{"tree", "../keys/a", false, false, true},
		{"alias", "src/a", true, true, false},
		{"alias", root + "/tree/src/a", true, true, false},
		{"tree", root + "/alias/src/a", false, false, false},
		{"alias", root + "/alias/src/out/a", false, false, true},
	}
	for _, tt := range tests {
		r := Request{Tool: "Write", Input: input("file_path", tt.path)}
		cwd := filepath.Join(root, tt.cwd)
		for what, c := range map[string]struct {
			p    Policy
			want bool
			hit  string
		}{
			"accept-edits": {Policy{Mode: ModeAcceptEdits, CWD: cwd}, tt.edits, Allow},
			"allow":        {Policy{Mode: ModeAsk, CWD: cwd, Allow: mustRules(t, "Edit(src/**)")}, tt.covers, Allow},
			"deny": {Policy{Mode: ModeAllowAll, CWD: cwd, Deny: mustRules(t, "Edit(/"+root+"/keys/**)")},
				tt.might, Deny},
		} {
			if got := c.p.Decide(r).Behavior == c.hit; got != c.want {
				t.Errorf("%s in %s: %s: %v, want %v", what, tt.cwd, tt.path, got, c.want)
			}
		}
	}
}

// TestUnresolvable: a path whose links cannot be followed is in doubt.
func TestUnresolvable(t *testing.T) {
	broken := func(string) (string, error) { return "", errors.New("permission denied") }
	r := Request{Tool: "Write", Input: input("file_path", "/w/src/a")}
	for _, p := range []Policy{
		{Mode: ModeAcceptEdits, CWD: "/w", Resolve: broken},
		{Mode: ModeAsk, CWD: "/w", Resolve: broken, Allow: mustRules(t, "Edit(src/**)")},
	} {
		if d := p.Decide(r); d.Behavior != Ask {
			t.Errorf("%s: %s, want ask", p.Mode, d.Behavior)
		}
	}
	p := Policy{Mode: ModeAllowAll, CWD: "/w", Resolve: broken, Deny: mustRules(t, "Edit(//etc/**)")}
	if d := p.Decide(r); d.Behavior != Deny {
		t.Errorf("deny: %s, want deny", d.Behavior)
	}
}

func TestWithoutHome(t *testing.T) {
	r := Request{Tool: "Read", Input: input("file_path", "/.ssh/id")}
	p := Policy{Mode: ModeAsk, CWD: "/w", Resolve: plain, Allow: mustRules(t, "Read(~/.ssh/**)")}
	if d := p.Decide(r); d.Behavior != Ask {
		t.Errorf("%s, want ask", d.Behavior)
	}
	if d := (Policy{Mode: ModeAcceptEdits, Resolve: plain}).Decide(Request{Tool: "Write",
		Input: input("file_path", "/a")}); d.Behavior != Ask {
		t.Errorf("without a working directory: %s, want ask", d.Behavior)
	}
}

func TestMatchWithCaseFolding(t *testing.T) {
	if !matchBelow("/W", []string{"**", ".Env"}, "/w/a/.ENV", true) ||
		matchBelow("/w", []string{".env"}, "/w/.ENV", false) {
		t.Error("case is not folded exactly when requested")
	}
}

// TestMeet compares the intersection of patterns with the result of trying fillings.
func TestMeet(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"rm *", "\x00 x", true}, {"rm *", "r\x00", true}, {"rm *", "ls \x00", false}, {"rm", "\x00m", true},
		{"rm", "\x00", true},
		{"a*b", "\x00", true}, {"a*b", "a\x00c", false}, {"a*b", "x\x00b", false}, {"*x*", "a\x00b", true},
		{"", "\x00", true},
		{"abc", "a\x00c", true}, {"abc", "ab\x00c", true}, {"abc", "ab\x00bc", false}, {"a*", "\x00b", true},
		{"ab", "\x00\x00", true},
	} {
		if got := meet(tt.pattern, tt.text); got != tt.want {
			t.Errorf("meet(%q, %q) is %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
	alphabet := []string{"a", "b", "*"}
	fillings := []string{"", "a", "b", "ab", "ba", "aa", "bb", "aba", "bab"}
	for n := range 243 {
		pattern, text := "", ""
		for i, d := 0, n; i < 5; i, d = i+1, d/3 {
			c := alphabet[d%3]
			if i < 3 {
				pattern += c
			} else {
				text += strings.ReplaceAll(c, "*", "\x00")
			}
		}
		found := false
		for _, f := range fillings {
			for _, g := range fillings {
				found = found || wildcard(pattern, strings.Replace(strings.Replace(text, "\x00", f, 1), "\x00", g, 1))
			}
		}
		if got := meet(pattern, text); got != found {
			t.Errorf("meet(%q, %q) is %v, trying says %v", pattern, text, got, found)
		}
	}
}
