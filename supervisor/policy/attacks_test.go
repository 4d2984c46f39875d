package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// TestAttacks: what a deny or ask rule of its group is about, it denies or asks about. The real CLI and bash show
// in other tests what each line does.
func TestAttacks(t *testing.T) {
	for i, g := range corpus.Attacks(t, "../..") {
		if len(g.Deny)+len(g.Ask) == 0 {
			continue
		}
		place := corpus.NewAttackPlace(t, filepath.Join(t.TempDir(), "place"), g)
		p := Policy{CWD: place.Work, Home: place.Home, Deny: mustRules(t, g.Deny...), Ask: mustRules(t, g.Ask...)}
		for _, a := range g.Attacks {
			if a.Harmless {
				continue
			}
			r := Request{Tool: "Bash", Input: bashInput(a.Text()), CWD: filepath.Join(place.Work, a.CWD)}
			if a.Tool != "" {
				input := testkit.Must(json.Marshal(a.Input))(t)
				r.Tool, r.Input = a.Tool, input
			}
			if d := p.Decide(r); d.Behavior != bridge.Deny && d.Behavior != bridge.Ask {
				t.Errorf("row %d, group %d, deny %v ask %v: no rule is about %s", g.Row, i, g.Deny, g.Ask, a.Text())
			}
		}
	}
}

// TestDailyLines: for lines that engineers' agents run every day, and that the CLI runs without a question,
// there is never a doubt about a rule that is not about them.
func TestDailyLines(t *testing.T) {
	place := t.TempDir()
	corpus.DailyPlace(t, place)
	rules := []string{"Bash(git push *)", "Bash(rm -rf *)", "Bash(sudo *)", "Bash(npm publish *)", "Edit(.env)"}
	for _, deny := range []bool{true, false} {
		p := Policy{CWD: place, Home: filepath.Join(place, "home")}
		if deny {
			p.Deny = mustRules(t, rules...)
		} else {
			p.Ask = mustRules(t, rules...)
		}
		asked := 0
		for _, l := range corpus.DailyLines(t, "../..").Lines {
			d := p.Decide(Request{Tool: "Bash", Input: bashInput(l.Line)})
			testkit.Check(t, d.By != ByRule || l.Asks, "%q: %s", l.Line, d.Reason)
			if d.By == ByRule {
				asked++
				t.Logf("%s %q: %s", d.Behavior, l.Line, d.Reason)
			}
		}
		t.Logf("%d lines with a question or a denial", asked)
	}
}

// TestNestedLines: no nesting, quoting or wrapper hides a command from a rule that is about it.
func TestNestedLines(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 9))
	deny := Policy{CWD: "/w", Home: "/h", Resolve: plain, Deny: mustRules(t, "Bash(rm -rf *)")}
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for range 1500 {
		payload := pick("rm", "'rm'", `r"m"`, `\rm`, "/bin/rm", "r''m") + " " + pick("-rf", `"-rf"`, "-r'f'", "-v -rf") +
			" " + pick("x", `"$x"`, "a b", "*")
		payload = pick("", "", "", "A=1 ", "sudo ", "env -i ", "xargs ", "time ", "! ", "nice -n 5 ", "command ",
			"2>/dev/null ") + payload
		line := payload
		if random.IntN(10) > 0 {
			line = corpus.NestedLine(random, payload)
		}
		line = pick("", "ls; ", "echo 'a;b' && ", "cd x || ", ": # x\n", "true &") + line
		d := deny.Decide(Request{Tool: pick("Bash", "Monitor"), Input: bashInput(line)})
		testkit.Check(t, d.Behavior == bridge.Deny || d.Behavior == bridge.Ask, "no rule is about %q", line)
	}
	for range 500 { // lines that do nothing of the kind
		line := corpus.NestedLine(random, pick("touch x", "git log", "rm -r x", "echo rm -rf x"))
		d := deny.Decide(Request{Tool: "Bash", Input: bashInput(line)})
		testkit.Check(t, d.Behavior != bridge.Deny && d.Behavior != bridge.Allow, "%v: %q", d,
			strings.ReplaceAll(line, "\n", "⏎"))
	}
}

var pieces = strings.Split("good|evil x|'|\"|\\|$|$(|)|`|;|&&|& |>|<|\n|#|!|{|}| |(|*|[|]|=|A=1 |$X|${X}|${|2>&1|"+
	"$'|\\\n|~|?|-c|then |if |case |esac|time |eval |\"$X\"|x|%|@|:|;;|"+
	"&>|<<|<<<|<(|>&1-|>&-|((|))|$((|$[|E\n|<<-'E'\n|sh -c |"+
	"xargs |find . -exec |git -c |-m |sed |/proc/self/cwd/|~+/|cd |- |--|python3 |secret/|{a,b}|\x00|é|sudo |env -S", "|")

// TestRandomLines: no line breaks the reader, and none is allowed.
func TestRandomLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	p := Policy{CWD: "/w", Home: "/h", Resolve: linked,
		Deny: mustRules(t, "Bash(evil *)", "Bash(git * --force)", "Read(secret/**)", "Edit(*.go)", "Read(.env)")}
	for range 20000 {
		var b strings.Builder
		for range 1 + random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
			if random.IntN(12) == 0 {
				b.WriteByte('|')
			}
		}
		r := Request{Tool: "Bash", Input: bashInput(b.String())}
		d := p.Decide(r)
		testkit.Check(t, d.Behavior != bridge.Allow, "%q: %v", b.String(), d)
		p.Within(r, p.Deny)
	}
}

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
		// Options of programs.
		"tar -I 'evil x' -cf a b", "tar cIf evil a b", "tar -cF evil -f a b", "tar --use='evil x' -cf a b",
		"tar --info-script=evil -cf a b", "tar --rmt-command=evil -f h:x", "rsync -e evil a b", "rsync -ave evil a b",
		"zip a b -T -TT evil", "sort --compress=evil a", "install -s --strip-program=evil a b", "wget --use-askpass=evil u",
		"wget -e use_askpass=evil u", "rg --pre=evil x", "rg --pre evil x", "rg --hostname-bin=evil x", "bat --pager=evil x",
		"less +!evil x", "vi -c '!evil'", "echo '!evil' | ed x",
	}
	// runsGood run good and nothing else.
	runsGood = []string{"time good", "! good", "(good)", "{ good; }", "good &", "nohup good", "\\good", "'good'",
		"g\\ood", "good() { good; }", "good $(good)", "if good; then good; fi", "timeout 5 good x", "good <<E\nevil\nE",
		"good >/dev/null 2>&1", "good | good",
		"tar -czf a.tgz b -C dir", "tar xzf a", "rsync -av --exclude e a b", "zip -r a b", "sort -u a", "rg --pretty x",
		"install -m 755 a b", "wget -q u", "less x"}
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
	n := len(runsEvil) + len(writes)
	testkit.Need(t, n >= 150, "only %d cases", n)
	p := Policy{CWD: "/w", Resolve: plain}
	deny, ask := p, p
	deny.Deny = mustRules(t, "Bash(evil *)", "Edit(secret/**)")
	ask.Ask = mustRules(t, "Bash(evil:*)")
	named := mustRules(t, "Bash(good *)", "Bash(good)", "WebFetch", "mcp__a")
	for _, command := range runsEvil {
		got := decideBash(deny, command)
		testkit.Check(t, got == bridge.Deny || got == bridge.Ask, "%q is %q, though evil is denied", command, got)
		testkit.Same(t, fmt.Sprintf("%q is, although evil needs a permission", command), bridge.Ask,
			decideBash(ask, command))
	}
	for _, command := range runsGood {
		testkit.Same(t, fmt.Sprintf("%q is, though only evil is denied", command), "", decideBash(deny, command))
	}
	onlyGood := []string{"good ()", "good\\", "good;;", "good &&", "| good", "good \x1b[2J"} // or nothing
	for _, command := range slices.Concat(writes, runsEvil) {
		if slices.Contains(onlyGood, command) {
			continue
		}
		rule, ok := p.Within(Request{Tool: "Bash", Input: bashInput(command)}, named)
		testkit.Check(t, !ok, "%q is within %s", command, rule)
	}
	for _, command := range []string{"good", "good x", "! good", "(good)", "{ good; }", "good &", "\\good", "'good'",
		"good $(good)", "if good; then good; fi", "good $X", "good >/dev/null 2>&1", "good | good; good x && good",
		"good -m \"$(cat <<'EOF'\nit's a text\nEOF\n)\""} {
		_, ok := p.Within(Request{Tool: "Bash", Input: bashInput(command)}, named)
		testkit.Check(t, ok, "%q is not within good", command)
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
			got := deny.Decide(r).Behavior
			testkit.Check(t, got == bridge.Deny || got == bridge.Ask, "%s %q is %q, though secret is denied", tool, name, got)
		}
		for _, name := range outside {
			r := Request{Tool: tool, Input: input("file_path", name)}
			rule, ok := base.Within(r, named)
			testkit.Check(t, !ok, "%s %q is within %s", tool, name, rule)
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
			rule, ok := (Policy{CWD: "/w", Resolve: plain}).Within(r, mustRules(t, text))
			testkit.Check(t, !ok, "%s %s is within %s", tool, in, rule)
			if strings.Contains(in, "evil x") {
				continue
			}
			testkit.Check(t, ((Policy{CWD: "/w", Resolve: plain, Deny: mustRules(t, text)}).Decide(r)).Behavior != "",
				"%s %s: %s is not about it", tool, in, text)
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
		rule, ok := deny.Within(r, named)
		testkit.Check(t, !ok, "%q is within %s", url, rule)
		testkit.Check(t, deny.Decide(r).Behavior != "" || !strings.Contains(strings.ToLower(url), "evil.de") ||
			strings.Contains(url, "deevil"), "%q is not denied", url)
	}
}

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
				if got := deny.Decide(r).Behavior; got != bridge.Deny && got != bridge.Ask {
					t.Errorf("deny %s: %s %.80q is %q, want deny or ask", tt.rule, tool, c, got)
				}
				testkit.Same(t, fmt.Sprintf("ask %s: %s %.80q", tt.rule, tool, c), bridge.Ask,
					ask.Decide(r).Behavior)
			}
			for _, c := range tt.passed {
				testkit.Same(t, fmt.Sprintf("%s: %s %.80q", tt.rule, tool, c), Decision{},
					deny.Decide(Request{Tool: tool, Input: bashInput(c)}))
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
		testkit.Same(t, fmt.Sprintf("deny: %s", input), bridge.Ask,
			deny.Decide(Request{Tool: "Bash", Input: json.RawMessage(input)}).Behavior)
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
			testkit.Need(t, deny.Decide(Request{Tool: "Bash", Input: bashInput(line)}).Behavior != bridge.Allow,
				"%q is allowed", line)
			for _, rules := range []string{"Bash(git *)", "Bash"} {
				Policy{CWD: "/w", Resolve: plain}.Within(Request{Tool: "Bash", Input: bashInput(line)}, mustRules(t, rules))
			}
		}
		if !plainLine.MatchString(command) {
			return
		}
		for _, tail := range []string{"; rm -rf /", " && rm -rf /", "|| rm -rf /", "| rm -rf /", "|rm -rf /",
			" & rm -rf /", "\nrm -rf /", " $(rm -rf /)", " `rm -rf /`", " \"$(rm -rf /)\"", " <(rm -rf /)"} {
			testkit.Need(t, decideBash(plainLines, command+tail) != "", "no rule is about %q", command+tail)
		}
	})
}
