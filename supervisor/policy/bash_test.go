package policy

import (
	"encoding/json"
	"strings"
	"testing"
)

func bashInput(command string) json.RawMessage {
	raw, err := json.Marshal(map[string]string{"command": command, "description": "run"})
	if err != nil {
		panic(err)
	}
	return raw
}

func decideBash(p Policy, command string) string {
	return p.Decide(Request{Tool: "Bash", Input: bashInput(command)}).Behavior
}

func TestBashAllow(t *testing.T) {
	tests := []struct {
		rules   string // separated by |, which no rule here contains
		allowed []string
		asked   []string
	}{
		{"Bash", []string{"rm -rf /", "a; b", "$(x)", "'", "\n"}, nil},
		{"Bash(*)", []string{"rm -rf / &", "cat <<E\nE"}, nil},
		{"Bash(npm run build)",
			[]string{"npm run build", "  npm   run\tbuild  ", "npm run build\n", "npm run build 2>&1",
				"npm run build >/dev/null", "npm run build > /dev/null 2>&1", "npm run build && npm run build",
				"npm run build &", "'npm' run build", "npm run build # x"},
			[]string{"npm run build x", "npm run buildx", "npm run", "npm run build > log", "xnpm run build"}},
		{"Bash(npm run test:*)",
			[]string{"npm run test", "npm run test --watch", "npm run test | npm run test", `npm run test "a b"`,
				"npm run test $X"},
			[]string{"npm run test:unit", "npm run tests", "npm run", "npm run testx"}},
		{"Bash(git *)",
			[]string{"git", "git status", "git log --format='%H; %s'", `git commit -m "a; b && c | d"`,
				"git log|git shortlog", "git add .;git commit", "git log 2>/dev/null", "git log </dev/null",
				`git commit -m a\;b`, "git status &", "git commit -F - <<EOF\nx\nEOF", "git log <<< x", "git log $'x'",
				`git log $"x"`, "git log $((1+1))", "(git status)", "{ git status; }", "! git status",
				"time git status", "if git status; then git log; fi", "g'i't status", `gi\t status`, "\\git status",
				"git\\\n status", "git status # x", "git status $(git log)", "for x in a b; do git log $x; done",
				"f() { git log; }; git status", "git diff <(git show a) <(git show b)", "timeout 60 git log",
				"nohup git log", "git --no-pager log", "x=1; git log $x", "CI=1 git log",
				"git show HEAD@{1}", "git diff ${BASE}", "git log -- '*.go'", `git log "$" "$'" '"'`,
				`git commit -m "cost: 5$"`},
			[]string{"gitk", "git-foo", "git status; rm -rf /", "git status && rm x", "git status || rm x",
				"git status | sh", "git status |& sh", "git status & rm x", "git status\nrm x",
				"git status $(rm x)", "git status `rm x`", `git commit -m "$(rm x)"`, "git commit -m \"`rm x`\"",
				"git diff <(rm x)", "git log >(rm x)", "git log > x", "git log >> x", "git log >| x", "git log &> x",
				"git log >& x", "git log 2> x", "git log > $X", "f() { rm x; }; git status",
				"for x in $(rm x); do git log; done", "git --no-pager -c x=y log", "X=1; git log", "timeout $X git log",
				"nice -n git log", "git log > /dev/tcp/h/1", "git log \\", "git apply < x", "git log 'x", `git log "x`,
				`git log \`, "git log ${x:-$(rm)}", "git log ${x@P}", "git log ${x:=y}", "git log $[1+1]",
				"git() { rm x; }; git status", "FOO=bar git status", "PATH=. git status", "sudo git status",
				"env git status", "command git status", "/usr/bin/git status", "./git status", "git status\r\nrm x",
				"git status\rrm x", "git log \x00", "git log \x1b[0m", "$GIT status", "git status;;", "<x git status",
				">x git status", "git status 2>&1 >x", "git status >&2x", "", " ", ";", "git status; $(rm)",
				"git status &&", "git status |", "; git status", "git status && && git log", "git status || ; git log",
				`git log "$'" ; rm '"'`, ""}},
		{"Bash(git commit *)|Bash(go test ./...)",
			[]string{"go test ./... && git commit -m x", "git commit", "go test ./..."},
			[]string{"go test ./... && git push", "go test ./...x", "git committee"}},
		{"Bash(* --version)",
			[]string{"node --version", "rm -rf / --version"},
			[]string{"node --version; rm", "--version", "node --versions"}},
		{"Bash(git * main)",
			[]string{"git push origin main", "git merge main"},
			[]string{"git push origin main2", "git main2"}},
		{"Bash(npm*)", []string{"npm", "npx2npm"[4:], "npmfoo x"}, []string{"xnpm"}},
		{"Bash(ls *)", []string{"ls", "ls -la *.go", "ls {a,b}", "ls ~", "ls [ab]"}, []string{"lsof"}},
		{"Bash(timeout 60 go test *)", []string{`timeout 60 go test -run "A B" ./...`},
			[]string{"timeout 600 go test"}},
		{"Bash(bash -c *)", []string{"bash -c 'rm x'"}, []string{"bash x"}},
		{"Bash([ *)", []string{"[ -f x ]", `[ "$x" = y ]`}, []string{"[ 'a[$(rm x)]' -eq 0 ]"}},
		{"Bash(printf *)", []string{"printf %s x", `printf '%s' "$x"`},
			[]string{"printf -v 'a[$(rm x)]' %s x", "printf -v 'a[`rm x`]' x"}},
		{`Bash(git commit -m "a  b")`, []string{`git  commit -m "a  b"`}, []string{`git commit -m "a b"`}},
		{"Edit|Read|mcp__git", nil, []string{"git status"}},
	}
	for _, tt := range tests {
		p := Policy{Mode: ModeAsk, CWD: "/w", Allow: mustRules(t, strings.Split(tt.rules, "|")...)}
		for _, c := range tt.allowed {
			if got := decideBash(p, c); got != Allow {
				t.Errorf("%s: %q is %s, want allow", tt.rules, c, got)
			}
		}
		for _, c := range tt.asked {
			if got := decideBash(p, c); got != Ask {
				t.Errorf("%s: %q is %s, want ask", tt.rules, c, got)
			}
		}
	}
}

func TestBashDeny(t *testing.T) {
	tests := []struct {
		rule   string
		denied []string
		passed []string
	}{
		{"Bash", []string{"ls", "", "'"}, nil},
		{"Bash(rm *)",
			[]string{"rm", "rm x", "rm -rf /", "/bin/rm x", "./rm x", "~/bin/rm x", "'rm' x", `r"m" x`, `\rm x`,
				`r\m x`, "ls; rm x", "ls && rm x", "ls || rm x", "ls | rm x", "ls & rm x", "ls\nrm x", "ls\r\nrm x",
				"ls;rm x;ls", "ls&rm x", "$(rm x)", "`rm x`", "echo $(rm x)", `echo "$(rm x)"`, "echo \"`rm x`\"",
				"echo $(echo $(rm x))", "echo `echo \\`rm x\\``", "diff <(rm x) y", "ls >(rm x)", "(rm x)",
				"(cd a; rm x)", "{ rm x; }", "f() { rm x; }; f", "function f { rm x; }",
				"if true; then rm x; fi", "for f in *; do rm $f; done", "while rm x; do ls; done",
				"case x in a) rm x;; esac", "! rm x", "time rm x", "coproc rm x", "FOO=1 rm x", "A=1 B=2 rm x",
				"a[1]=2 rm x", "sudo rm x", "sudo -u bob -E rm x", "sudo /bin/rm x", "env rm x", "env A=1 rm x",
				"env -i A=1 /bin/rm x", "xargs rm", "ls | xargs -0 -n 1 rm -f", "nohup rm x", "timeout 5 rm x",
				"nice -n 5 rm x", "command rm x", "exec rm x", "builtin rm x", "bash -c 'rm x'", `bash -c "rm x"`,
				"sh -c 'ls; rm x'", "bash -lc 'rm x'", "sudo bash -c 'rm x'", "env A=1 sh -c 'rm x'", "eval rm x",
				"eval 'rm x'", `eval "ls; rm x"`, "ssh host rm x", "ssh host 'ls; rm x'", "find . -exec rm {} \\;",
				"find . -name x -execdir rm {} +", "find . -exec sh -c 'rm x' \\;", "trap 'rm x' EXIT",
				"alias ls='rm x'", "alias ls=rm", "su -c 'rm x'", "watch rm x", "xargs -I{} sh -c 'rm {}'",
				"bash -c \"bash -c 'rm x'\"", ">x rm y", "2>/dev/null rm x", "rm>x", "rm<x", "bash <<E\nrm x\nE",
				"$X -rf /", "$(echo rm) x", "r$X x", "${X}m x", "r?  x", "/bin/r* x", "{rm,x}", "r{m,x} y", "[r]m x",
				"$'rm' x", "$'\\x72m' x", "eval $X", `eval "$X"`, `bash -c "$X"`, `sh -c "echo $X"`, "echo x | sh",
				"curl x | bash", "curl x | sudo bash", "bash < x", "bash -s x", "sudo $X", "xargs $X", "env A=1 $X",
				"ls 'x; rm y", "ls \"x; rm y", "ls $(rm x", "ls `rm x", "ls # x\nrm y",
				"ls $(case x in a) rm y;; esac)", "[[ -v 'a[$(rm x)]' ]] && rm y", strings.Repeat("$(", 20) + "rm x" +
					strings.Repeat(")", 20),
				"ls " + strings.Repeat("x ", 40000) + "; rm x", strings.Repeat("ls;", 300) + "rm x",
				"sudo " + strings.Repeat("-x ", 100) + "rm x"},
			[]string{"ls", "rmdir x", "echo rm x", "git commit -m 'fix; rm old files'", `git commit -m "rm x"`,
				"git rm x", "grep 'rm x' y", "ls rm", "go test $PKGS", "timeout 60 go test $PKGS",
				"for f in *.go; do gofmt -l $f; done", "find . -name 'rm*'", `find "$DIR" -name x`, "FOO=rm ls",
				"bash --version", "bash script.sh", "ls \\\nrm x\n", "which bash", "cat > x <<'E'\nremove\nE",
				"xargs grep x", "sudo systemctl restart $SVC", "echo \"it's\" 'a \"b'", "if true; then ls; fi",
				"ls 2>&1 | grep rm", "cat <<E\nrm x\nE"}},
		{"Bash(git push:*)",
			[]string{"git push", "git push origin main", "git  push", "git 'push'", "cd x && git push --force",
				"git $X", "git pu*", "git ${X} origin", "git $X$Y push", "/usr/bin/git push"},
			[]string{"git status", "git stash push", "git log $X", "echo git push"}},
		{"Bash(* --force)", []string{"git push --force", "x --force", "$X"},
			[]string{"git push --force-with-lease", "git push"}},
		{"Bash(curl * | sh)", []string{"curl x | sh", "cd y; curl  x  |  sh"}, []string{"curl x | grep y"}},
		{"Bash(cat .env)", []string{"cat .env", "cat '.env'", "cat .e*", "cat *", "cat $F"},
			[]string{"cat .envrc", "cat x", "cat .e*x"}},
		{"Edit", nil, []string{"rm x"}},
	}
	for _, tt := range tests {
		for side, p := range map[string]Policy{
			"deny": {Mode: ModeAllowAll, CWD: "/w", Deny: mustRules(t, tt.rule), Allow: mustRules(t, "Bash")},
			"ask":  {Mode: ModeAllowAll, CWD: "/w", Ask: mustRules(t, tt.rule), Allow: mustRules(t, "Bash")},
		} {
			for _, c := range tt.denied {
				if got := decideBash(p, c); got != side {
					t.Errorf("%s: %.80q is %s, want %s", tt.rule, c, got, side)
				}
			}
			for _, c := range tt.passed {
				if got := decideBash(p, c); got != Allow {
					t.Errorf("%s: %.80q is %s, want allow", tt.rule, c, got)
				}
			}
		}
	}
}

// TestBashInputInDoubt: a command that cannot be parsed is never covered by a rule about commands, and may be
// what any deny rule names.
func TestBashInputInDoubt(t *testing.T) {
	allow := Policy{Mode: ModeAsk, Allow: mustRules(t, "Bash(git *)")}
	deny := Policy{Mode: ModeAllowAll, Deny: mustRules(t, "Bash(rm *)")}
	for _, input := range []string{``, `null`, `[]`, `{}`, `{"command":7}`, `{"command":null}`,
		`{"Command":"git status"}`, `{"command":["git","status"]}`, `{"command":"git status"`, `"git status"`} {
		if d := allow.Decide(Request{Tool: "Bash", Input: json.RawMessage(input)}); d.Behavior != Ask {
			t.Errorf("allow: %s is %s, want ask", input, d.Behavior)
		}
		if d := deny.Decide(Request{Tool: "Bash", Input: json.RawMessage(input)}); d.Behavior != Deny {
			t.Errorf("deny: %s is %s, want deny", input, d.Behavior)
		}
	}
	if d := allow.Decide(Request{Tool: "Bash",
		Input: json.RawMessage(`{"command":"git status","dangerouslyDisableSandbox":true}`)}); d.Behavior != Ask {
		t.Errorf("outside of the sandbox: %s, want ask", d.Behavior)
	}
}

// FuzzBash: no input panics, and what a prefix rule allows it does not allow with another command after it.
func FuzzBash(f *testing.F) {
	for _, s := range []string{"git status", "git log --format='%H'", `git commit -m "a; b"`, "git log 2>&1 >/dev/null",
		"git log $X ${Y}", "git log \\; x", "git log {a,b} [c]", "git a|git b", "git 'a", "git log $(x)",
		"git log <<E\nE", "sudo env A=1 sh -c 'rm x'", "find . -exec rm {} \\;"} {
		f.Add(s, "; rm -rf /")
	}
	rules := Policy{Mode: ModeAsk, CWD: "/w", Allow: mustRules(f, "Bash(git *)", "Bash(npm run test:*)")}
	deny := Policy{Mode: ModeAllowAll, CWD: "/w", Deny: mustRules(f, "Bash(rm -rf *)")}
	tails := []string{"; rm -rf /", " && rm -rf /", "|| rm -rf /", "| rm -rf /", "|rm -rf /", " & rm -rf /",
		"\nrm -rf /", " $(rm -rf /)", " `rm -rf /`", " \"$(rm -rf /)\"", " > /etc/passwd", " <(rm -rf /)"}
	f.Fuzz(func(t *testing.T, command, tail string) {
		decideBash(deny, command+tail)
		if decideBash(rules, command) != Allow {
			return
		}
		for _, tail := range tails {
			if got := decideBash(rules, command+tail); got == Allow {
				t.Fatalf("%q is allowed", command+tail)
			}
		}
		for _, tail := range tails[:10] {
			if got := decideBash(deny, command+tail); got != Deny {
				t.Fatalf("%q is not denied", command+tail)
			}
		}
	})
}
