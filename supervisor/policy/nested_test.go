package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

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
		if d.Behavior != Deny && d.Behavior != Ask {
			t.Errorf("no rule is about %q", line)
		}
	}
	for range 500 { // lines that do nothing of the kind
		line := corpus.NestedLine(random, pick("touch x", "git log", "rm -r x", "echo rm -rf x"))
		if d := deny.Decide(Request{Tool: "Bash", Input: bashInput(line)}); d.Behavior == Deny || d.Behavior == Allow {
			t.Errorf("%v: %q", d, strings.ReplaceAll(line, "\n", "⏎"))
		}
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
		if d := p.Decide(r); d.Behavior == Allow {
			t.Errorf("%q: %v", b.String(), d)
		}
		p.Within(r, p.Deny)
	}
}
