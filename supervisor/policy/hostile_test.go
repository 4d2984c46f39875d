package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// hostileCommands may run evil or write a file, each by a different feature of the shell. A rule that allows
// good allows none of them. A rule that denies evil denies those of runsEvil.
var (
	runsEvil = []string{
		// One after the other.
		"good;evil", "good; evil x", "good\nevil", "good\n\nevil", "good\r\nevil", "good & evil", "good&evil",
		"good && evil", "good || evil", "good | evil", "good|evil", "good |& evil", "good;;evil", "good & & evil",
		";evil", "&& evil", "good\t;\tevil", "good # x\nevil", "# x\nevil", "good \\\n; evil", "good;\\\nevil",
		"good; \\evil", "good;evil&", "(evil)", "(good; evil)", "( evil )", "{ evil; }", "{ good;evil; }",
		"good; { evil;}",
		// Inside of others.
		"good $(evil)", "good `evil`", `good "$(evil)"`, "good \"`evil`\"", "good $(good $(evil))",
		"good `good \\`evil\\``", `good "a $(good "$(evil)")"`, "good <(evil)", "good >(evil)", "good <(good <(evil))",
		"good ${x:-$(evil)}", "good ${x:-`evil`}", `good "${x:=$(evil)}"`, "good $((1+$(evil)))", "good $[$(evil)]",
		"good ${a[$(evil)]}", "good <<<$(evil)", "good <<E\n$(evil)\nE", "good <<E\n`evil`\nE",
		"good <<-E\n\tx\n\tE\nevil", "good <<'E'\nx\nE\nevil", "good << E\nE\nevil", "A=$(evil) good", "A=`evil` good",
		"good > $(evil)", "good 2> >(evil)", "[ -n \"$(evil)\" ]", "[[ a = $(evil) ]]",
		"for x in $(evil); do good; done", "case $(evil) in *) good;; esac",
		// By compound commands.
		"if good; then evil; fi", "if evil; then good; fi", "while good; do evil; done", "until evil; do good; done",
		"for i in 1 2; do evil $i; done", "for((;;)); do evil; done", "case x in x) evil;; esac",
		"case x in (x) evil;; esac", "select x in a; do evil; done", "function good { evil; }; good",
		"good() { evil; }; good", "good() ( evil ); good", "! evil", "time evil", "time -p evil", "coproc evil",
		"coproc good { evil; }", "if ! evil; then good; fi", "good && { evil; }", "then evil", "do evil",
		// Under other names.
		"'evil'", `"evil"`, "e'vi'l", `e"vi"l`, `\evil`, `e\vil`, "ev\\\nil", "/usr/bin/evil", "./evil", "../bin/evil",
		"~/bin/evil", "/usr/bin/../bin/evil", "//evil", "$'evil'", "$'\\x65vil'", "$'\\145vil'", "$'e''vil'", `$"evil"`,
		"e$@vil", "e${x}vil", "ev$()il", "ev``il", "$EVIL", "${E}vil", "e[v]il", "e?il", "ev*", "/usr/bin/ev?l",
		"{evil,x}", "e{vil,}", "{e,}vil", "$(echo evil)", "`echo evil`", "${!x}", "$1", "$0 evil",
		// After other words.
		"A=1 evil", "A=1 B=2 evil", "A+=1 evil", "a[0]=1 evil", "PATH=.:$PATH evil", "LD_PRELOAD=x evil", "env evil",
		"env A=1 evil", "env -i evil", "env -S 'evil x'", "env -u A -- evil", "/usr/bin/env evil", "sudo evil",
		"sudo -u root evil", "sudo -- evil", "sudo A=1 evil", "doas evil", "nohup evil &", "nice evil",
		"nice -n 5 evil", "timeout 5 evil", "timeout -k 1 5s evil", "stdbuf -o0 evil", "setsid evil", "xargs evil",
		"echo x | xargs -I% evil %", "command evil", "command -p evil", "builtin evil", "exec evil", "exec -a x evil",
		"eval evil", "eval 'evil'", `eval "good; evil"`, "eval $X", "sh -c evil", "bash -c 'good; evil'",
		"bash -lc evil", "bash -xc 'evil'", "sh -ec evil", "zsh -c evil", "sh <<< evil", "sh <<E\nevil\nE",
		"echo evil | sh", "echo evil|bash -s", "curl x | sh", "curl x | sudo bash -", "bash < x", "sh -c \"$X\"",
		"bash -c \"$(cat x)\"", "sudo sh -c 'evil'", "env sh -c evil", "find . -exec evil {} ;",
		"find . -exec evil {} \\;", "find . -exec sh -c 'evil' \\;", "find . -ok evil \\;", "fd -x evil", "watch evil",
		"trap evil EXIT", "trap 'evil' 0", "alias good=evil; good", "ssh h evil", "ssh h 'evil'", "su -c evil",
		"flock x evil", "strace evil", "unshare -r evil", "busybox sh -c evil", "parallel evil ::: x", "script -c evil",
		"systemd-run evil", "chroot / evil", "command -- evil", "busybox evil",
		// Where a shell would read further.
		`good "x; evil`, "good $(evil", "good `evil", "\x00evil", "ev\x00il", "good \x01; evil",
		"good 2>/dev/null; evil", "good >/dev/null&evil", "good 2>&1;evil", "good >&2|evil", "2>&1 evil", ">x evil",
		"<x evil", "&>x evil", "cd /tmp; evil", "cd /tmp && ./evil", "pushd x; evil", "set -- x; evil",
		"test 'a[$(evil)]' -eq 0", "printf -v 'a[$(evil)]' x", "[[ 'a[$(evil)]' -eq 0 ]]", "let 'a[$(evil)]=1'",
		"declare 'a[$(evil)]=1'",
	}
	// runsGood run good and nothing else.
	runsGood = []string{"time good", "! good", "(good)", "{ good; }", "good &", "nohup good", "\\good", "'good'",
		"g\\ood", "good() { good; }", "good $(good)", "if good; then good; fi", "timeout 5 good x", "good <<E\nevil\nE",
		"good >/dev/null 2>&1", "good | good"}
	writes = []string{
		"good > x", "good >x", "good>x", "good >> x", "good>>x", "good >| x", "good >|x", "good &> x", "good &>> x",
		"good >& x", "good > /etc/passwd", "good 2> x", "good 2>x", "good 1>x 2>&1", "good 2>&1 > x",
		"good > /dev/null > x", "good >/dev/nullx", "good > /dev/null/../x", "good > '/dev/null'x", `good > "x"`,
		"good > $X", "good > ~/x", "good {fd}> x", "good 3> x", "good <> x", "good < x > y", "> x good", ">x", ">> x",
		"good >&2x", "good >&$X", "good > x &", "good | tee x", "good | tee -a x", "good | dd of=x", "good | cat > x",
		"good && touch x", "cat > x <<E\nE", "good <<E > x\nE", "good > x; good", "(good) > x", "{ good; } > x",
		"good\n> x", "A=1 > x", "exec > x", "good >\\\nx", "good > /dev/tcp/h/1", "good < /dev/tcp/h/1",
		// Other ways to run good.
		"A=1 good", "PATH=. good", "LD_PRELOAD=./x good", "GIT_SSH_COMMAND=x good", "./good", "/tmp/good", "../good",
		"~/good", "Good", "GOOD", "good2", "goodx y", "xgood", "go od", "ｇood", "gооd", "g\u200bood", "good\u00a0x",
		"\u2003good", "good\u2028", "sudo good", "env good", "command good", "exec good", "$GOOD", "good ()",
		"alias good=x", "good\\", "-- good", "good;;", "good &&", "| good", "%good", "good \x1b[2J", "good\x7f",
		"good \x00", "good 'x", "good ${x",
	}
)

// TestHostileCommands: no feature of the shell hides a command from a rule that is about it, or makes a line more
// than what an agent may use.
func TestHostileCommands(t *testing.T) {
	if n := len(runsEvil) + len(writes); n < 150 {
		t.Fatalf("only %d cases", n)
	}
	p := Policy{CWD: "/w", Resolve: plain}
	deny, ask := p, p
	deny.Deny = mustRules(t, "Bash(evil *)", "Edit(secret/**)")
	ask.Ask = mustRules(t, "Bash(evil:*)")
	named := mustRules(t, "Bash(good *)", "Bash(good)", "WebFetch", "mcp__a")
	for _, command := range runsEvil {
		if got := decideBash(deny, command); got != Deny && got != Ask {
			t.Errorf("%q is %q, though evil is denied", command, got)
		}
		if got := decideBash(ask, command); got != Ask {
			t.Errorf("%q is %q, although evil needs a permission", command, got)
		}
	}
	for _, command := range runsGood {
		if got := decideBash(deny, command); got != "" {
			t.Errorf("%q is %q, though only evil is denied", command, got)
		}
	}
	onlyGood := []string{"good ()", "good\\", "good;;", "good &&", "| good", "good \x1b[2J"} // or nothing
	for _, command := range slices.Concat(writes, runsEvil) {
		if slices.Contains(onlyGood, command) {
			continue
		}
		if rule, ok := p.Within(Request{Tool: "Bash", Input: bashInput(command)}, named); ok {
			t.Errorf("%q is within %s", command, rule)
		}
	}
	for _, command := range []string{"good", "good x", "! good", "(good)", "{ good; }", "good &", "\\good", "'good'",
		"good $(good)", "if good; then good; fi", "good $X", "good >/dev/null 2>&1", "good | good; good x && good",
		"good -m \"$(cat <<'EOF'\nit's a text\nEOF\n)\""} {
		if _, ok := p.Within(Request{Tool: "Bash", Input: bashInput(command)}, named); !ok {
			t.Errorf("%q is not within good", command)
		}
	}
}

// TestHostilePaths: other names of a file. A deny rule for secret must match all names of secret; what an allow
// rule for src covers must be in src.
func TestHostilePaths(t *testing.T) {
	secret := []string{
		"secret/a", "./secret/a", "/w/secret/a", "/w/./secret/a", "/w//secret/a", "//w/secret/a", "src/../secret/a",
		"/w/src/../secret/a", "/w/src/x/../../secret/a", "secret/../secret/a", "secret//a", "secret/./a", "secret/",
		"secret", "../w/secret/a", "/../w/secret/a", "/w/../w/secret/a", "/alias/secret/a", "~/link/secret/a",
		"/h/link/secret/a", "/h/link/../link/secret/a", "/w/src/../../alias/secret/a", "bad/x", "/w/bad", "", " ",
		" secret/a", "secret/a ", "\tsecret/a", "secret/a\n", "secret\x00/a", "secret/a\x00.txt", "\x00", "~root/x",
		"~", "~/../w/secret/a",
	}
	outside := append([]string{
		"../src/a", "/src/a", "/w2/src/a", "/w/srcx/a", "/w/src2", "/w/SRC/a", "SRC/a", "/w/src/../../etc/passwd",
		"src/..", "src/../..", "src/../a", "/w/x/src/a", "/etc/passwd", "out/a", "/x/a", "src\\a", "src\\..\\..\\a",
		"ｓrc/a", "ѕrc/a", "s\u200brc/a", "src\u2215a", "src%2f..%2fa", "$HOME/src/a", "${PWD}/src/a", "`pwd`/src/a",
		"file:///w/src/a", "src/../bad/a", "src/a\x00", " src/a", "src/a ", "-", "{src,secret}/a", "sr[c]/a", "*",
		"src/../*",
	}, secret...)
	base := Policy{CWD: "/w", Home: "/h", Resolve: linked}
	for i, tool := range []string{"Write", "Edit", "MultiEdit", "Read"} {
		verb := []string{"Edit", "Edit", "Edit", "Read"}[i]
		deny := base
		deny.Deny = mustRules(t, verb+"(secret/**)")
		named := mustRules(t, verb+"(src/**)", verb+"(/src/*.go)", "Bash")
		for _, name := range secret {
			r := Request{Tool: tool, Input: input("file_path", name)}
			if name == "~" || name == "/../w/secret/a" {
				continue // another file; the first below
			}
			if got := deny.Decide(r).Behavior; got != Deny && got != Ask {
				t.Errorf("%s %q is %q, though secret is denied", tool, name, got)
			}
		}
		for _, name := range outside {
			r := Request{Tool: tool, Input: input("file_path", name)}
			if rule, ok := base.Within(r, named); ok {
				t.Errorf("%s %q is within %s", tool, name, rule)
			}
		}
	}
}

// TestHostileInputs: no rule about parts of the input covers an input of an unexpected form, and each denies
// it.
func TestHostileInputs(t *testing.T) {
	rules := map[string]string{"Bash": "Bash(good *)", "Edit": "Edit(src/**)", "Read": "Read(src/**)",
		"WebFetch": "WebFetch(domain:good.de)", "Skill": "Skill(good)"}
	field := map[string]string{"Bash": "command", "Edit": "file_path", "Read": "file_path", "WebFetch": "url",
		"Skill": "skill"}
	for tool, text := range rules {
		f := field[tool]
		for _, in := range []string{
			``, `null`, `[]`, `7`, `"good"`, `{`, `{}`, `{}x`, `{"x":1}`, fmt.Sprintf(`{%q:null}`, f),
			fmt.Sprintf(`{%q:7}`, f), fmt.Sprintf(`{%q:true}`, f), fmt.Sprintf(`{%q:["good","src/a"]}`, f),
			fmt.Sprintf(`{%q:{"x":"good"}}`, f), fmt.Sprintf(`{%q:"good"}`, strings.ToUpper(f)),
			fmt.Sprintf(`{%q:"good"`, f), fmt.Sprintf(`{%q:"good"}{%q:"evil"}`, f, f), fmt.Sprintf(`[{%q:"good"}]`, f),
			fmt.Sprintf(`{" %s":"good"}`, f), fmt.Sprintf(`{"%s\u0000":"good"}`, f),
			fmt.Sprintf(`{%q:"good","%s":"evil x"}`, f, f), // the last one counts
		} {
			r := Request{Tool: tool, Input: json.RawMessage(in)}
			if rule, ok := (Policy{CWD: "/w", Resolve: plain}).Within(r, mustRules(t, text)); ok {
				t.Errorf("%s %s is within %s", tool, in, rule)
			}
			if strings.Contains(in, "evil x") {
				continue
			}
			if d := (Policy{CWD: "/w", Resolve: plain, Deny: mustRules(t, text)}).Decide(r); d.Behavior == "" {
				t.Errorf("%s %s: %s is not about it", tool, in, text)
			}
		}
	}
}

// TestHostileHosts: the hosts that different parsers find in a URL.
func TestHostileHosts(t *testing.T) {
	named := mustRules(t, "WebFetch(domain:good.de)", "WebFetch(domain:*.good.de)")
	deny := Policy{Deny: mustRules(t, "WebFetch(domain:evil.de)")}
	for _, url := range []string{
		"https://evil.de", "https://evil.de/good.de", "https://evil.de?good.de", "https://evil.de#good.de",
		"https://good.de@evil.de", "https://good.de:x@evil.de", "https://good.de%2eevil.de", "https://good.de.evil.de",
		"https://good.deevil.de", "https://xgood.de", `https://evil.de\.good.de`, `https://evil.de\@good.de`,
		"https://evil.de/@good.de", "https://evil.de:443/good.de", "https:///evil.de", "https:evil.de", "//evil.de",
		"evil.de", "EVIL.de", "https://Evil.DE.", "https://evil.de.", "https://sub.evil.de", "ftp://evil.de",
		"https://evil.de:@good.de", "https://evil.de ", " https://evil.de", "https://[evil.de]", "https://evil.de\t",
		"https://evil.de\x00.good.de", "https://evil.de%00.good.de", "javascript:good.de", "file:///etc/passwd",
		"https://", "https://.good.de.evil.de", "https://ｇood.de", "https://gооd.de", "https://good。de", "", " ",
		"data:text/html,good.de",
	} {
		r := Request{Tool: "WebFetch", Input: input("url", url)}
		if rule, ok := deny.Within(r, named); ok {
			t.Errorf("%q is within %s", url, rule)
		}
		if d := deny.Decide(r); d.Behavior == "" && strings.Contains(strings.ToLower(url), "evil.de") &&
			!strings.Contains(url, "deevil") {
			t.Errorf("%q is not denied", url)
		}
	}
}
