package policy

import (
	"encoding/json"
	"regexp"
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

func TestBashDeny(t *testing.T) {
	tests := []struct {
		rule   string
		denied []string
		passed []string
	}{
		{"Bash", []string{"ls", "", "'"}, nil},
		{"Bash(rm *)",
			[]string{"rm", "rm x", "RM x", "rm -rf /", "/bin/rm x", "./rm x", "~/bin/rm x", "'rm' x", `r"m" x`, `\rm x`,
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
		{"Bash(git push *)", []string{"poetry run python -c x", "uv run bash -c \"$X\"", "docker exec c sh -c \"$X\"",
			"docker exec c git push", "ssh h \"$X\"", "ssh h 'git push'", "npm exec -c x", "npx -c 'git push'", "make X=1",
			"git-push", "git pu", "xargs git", "git config alias.p push", "GIT_DIR=x git status", "printf x | perl"},
			[]string{"poetry run pytest -q", "npx tsc --noEmit", "make test", "git config user.name", "GIT_PAGER=cat git log",
				". .venv/bin/activate", "python3 -m pytest -c x.cfg", "node scripts/x.js", "bash -n x.sh", "perl -w x.pl",
				"docker exec app ls", "git log --grep 'git push'", "gh pr create --body 'git push'", "xargs grep x"}},
		{"Bash(rm -rf *)", []string{"rm -rf x", "rm -fr x", "rm -r -f x", "rm -v -rf x", "rm x -rf", "rm $FLAGS x"},
			[]string{"rm -r x", "rm x", "rm *.o", "rm \"a-rf\""}},
		{"Edit", nil, []string{"rm x"}},
	}
	for _, tt := range tests {
		for _, tool := range []string{"Bash", "Monitor"} {
			deny := Policy{CWD: "/w", Deny: mustRules(t, tt.rule)}
			ask := Policy{CWD: "/w", Ask: mustRules(t, tt.rule)}
			for _, c := range tt.denied {
				r := Request{Tool: tool, Input: bashInput(c)}
				if got := deny.Decide(r).Behavior; got != Deny && got != Ask {
					t.Errorf("deny %s: %s %.80q is %q, want deny or ask", tt.rule, tool, c, got)
				}
				if got := ask.Decide(r).Behavior; got != Ask {
					t.Errorf("ask %s: %s %.80q is %q, want ask", tt.rule, tool, c, got)
				}
			}
			for _, c := range tt.passed {
				if d := deny.Decide(Request{Tool: tool, Input: bashInput(c)}); d != (Decision{}) {
					t.Errorf("%s: %s %.80q is %v", tt.rule, tool, c, d)
				}
			}
		}
	}
}

// TestBashInputInDoubt: a command that cannot be parsed may be what any deny rule names.
func TestBashInputInDoubt(t *testing.T) {
	deny := Policy{Deny: mustRules(t, "Bash(rm *)")}
	for _, input := range []string{``, `null`, `[]`, `{}`, `{"command":7}`, `{"command":null}`,
		`{"Command":"git status"}`, `{"command":["git","status"]}`, `{"command":"git status"`, `"git status"`,
		`{"command":"git status","dangerouslyDisableSandbox":true}`} {
		if d := deny.Decide(Request{Tool: "Bash", Input: json.RawMessage(input)}); d.Behavior != Ask {
			t.Errorf("deny: %s is %q, want ask", input, d.Behavior)
		}
	}
}

// FuzzBash: no input panics, and nothing before or around a command hides it.
func FuzzBash(f *testing.F) {
	for _, s := range []string{"git status", "git log --format='%H'", `git commit -m "a; b"`, "git log 2>&1 >/dev/null",
		"git log $X ${Y}", "git log \\; x", "git log {a,b} [c]", "git a|git b", "git 'a", "git log $(x)",
		"git log <<E\nE", "sudo env A=1 sh -c 'rm x'", "find . -exec rm {} \\;"} {
		f.Add(s, "; rm -rf /")
	}
	deny := Policy{CWD: "/w", Home: "/h", Resolve: plain, Deny: mustRules(f, "Bash(rm -rf *)", "Read(secret/**)")}
	plainLine := regexp.MustCompile(`^[A-Za-z0-9_@%+:,./ -]*$`)
	plainLines := Policy{CWD: "/w", Deny: mustRules(f, "Bash(rm -rf *)")}
	f.Fuzz(func(t *testing.T, command, tail string) {
		for _, line := range []string{command, command + tail} {
			if d := deny.Decide(Request{Tool: "Bash", Input: bashInput(line)}); d.Behavior == Allow {
				t.Fatalf("%q is allowed", line)
			}
			for _, rules := range []string{"Bash(git *)", "Bash"} {
				Policy{CWD: "/w", Resolve: plain}.Within(Request{Tool: "Bash", Input: bashInput(line)}, mustRules(t, rules))
			}
		}
		if !plainLine.MatchString(command) {
			return
		}
		for _, tail := range []string{"; rm -rf /", " && rm -rf /", "|| rm -rf /", "| rm -rf /", "|rm -rf /",
			" & rm -rf /", "\nrm -rf /", " $(rm -rf /)", " `rm -rf /`", " \"$(rm -rf /)\"", " <(rm -rf /)"} {
			if decideBash(plainLines, command+tail) == "" {
				t.Fatalf("no rule is about %q", command+tail)
			}
		}
	})
}
