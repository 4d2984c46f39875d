package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is the parsed line as text: commands with ; between them, holes as ?, > and < before files.
func told(l Line) string {
	var parts []string
	for _, c := range l.Commands {
		var words []string
		for _, a := range c.Assigns {
			words = append(words, a.Name+"="+a.Value.Text)
		}
		for _, w := range c.Words {
			words = append(words, "["+w.Text+"]")
		}
		parts = append(parts, strings.Join(words, " "))
	}
	for _, r := range l.Redirects {
		sign := "<"
		if r.Writes {
			sign = ">"
		}
		parts = append(parts, sign+r.File.Text)
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), string(Hole), "?")
}

func TestParse(t *testing.T) {
	for source, want := range map[string]string{
		"git log": "[git] [log]", "  a   b\t c ": "[a] [b] [c]",
		"a;b&&c||d|e |& f & g\nh":  "[a]; [b]; [c]; [d]; [e]; [f]; [g]; [h]",
		`a 'b c' "d e" f\ g '' ""`: "[a] [b c] [d e] [f g] [] []", `g'o'"o"d \; a\b`: "[good] [;] [ab]",
		"\"r\\\nm\" v": "[rm] [v]", "r\\\nm": "[rm]", `"\$x\"\\\a"`: `[$x"\\a]`, "'$x'": "[$x]",
		"a $x \"$x\" ${x:-b}c": "[a] [?] [?] [?c]", "a $x$y": "[a] [?]", "a *.go b?": "[a] [?.go] [b?]",
		"a [ab] {a,b} {} {a..c} x{y": "[a] [?] [?] [{}] [?] [x{y]", "[ -f x ]": "[[] [-f] [x] []]",
		"a ~ ~/b '~'": "[a] [~] [~/b] [~]", "a $'b' $'\\x62'": "[a] [b] [?]",
		"a $(b; c) `d`": "[b]; [c]; [d]; [a] [?] [?]", `a "$(b "$(c)")"`: "[c]; [b] [?]; [a] [?]",
		"a <(b) >(c)": "[b]; [c]; [a] [?] [?]", "(a; b) && { c; }": "[a]; [b]; [c]",
		"if a; then b; elif c; then d; else e; fi": "[a]; [b]; [c]; [d]; [e]",
		"for x in 1 $(a); do b $x; done":           "[a]; [b] [?]", "while a; do b; done": "[a]; [b]",
		"case $(a) in b) c;; *) d;; esac": "[a]; [c]; [d]", "f() { a; }; f": "[a]; [f]", "time -p a; ! b": "[a]; [b]",
		"A=1 B=$x c": "A=1 B=? [c]", "A=1": "A=1", "a=$(b)": "[b]; a=?", "export A=1 B": "[export] [A=1] [B]",
		"[[ -f a && $x == b ]]": "[[[] [-f] [a] [&&] [?] [==] [b]", "a > b 2>> c < d": "[a]; >b; >c; <d",
		"a >/dev/null 2>&1 <&- 3>&2- &>/dev/null": "[a]", "a >&2024-01-01": "", "a >&b": "[a]; >b",
		"a >& $x": "[a]; >?", "a <> b": "[a]; >b", "> a": ">a", "a <<E\n$(b) c\nE": "[b]; [a]",
		"a <<'E'\n$(b)\nE": "[a]", "a <<<\"$(b)\"": "[b]; [a]", "a # b": "[a]", "a#b": "[a#b]",
		"a ${x[1]} ${x[@]} ${#x} ${x%y}": "[a] [?] [?] [?] [?]",
	} {
		if diff := cmp.Diff(want, told(Parse(source, Bash))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", source, diff)
		}
	}
}

// TestDialects: different shells read the same text differently.
func TestDialects(t *testing.T) {
	const line = "echo x &>/dev/null touch p"
	if got := told(Parse(line, Bash)); got != "[echo] [x] [touch] [p]" {
		t.Errorf("bash: %s", got)
	}
	if l := Parse("a 02>&1", POSIX); !l.Broken {
		t.Errorf("POSIX: %s, though dash takes 02 for a word", told(l))
	}
	if l := Parse(line, POSIX); !l.Broken {
		t.Errorf("POSIX: %s, though dash runs touch", told(l))
	}
}

// TestDoubts: what the syntax tree does not show is in doubt; what it shows is not.
func TestDoubts(t *testing.T) {
	for _, line := range []string{
		"a 'b", `a "b`, "a $(b", "a `b", "a\rb", "a \x00", "a \x01", "a \x7f", "a \xff", "a (", "a; ;", "a &&", "a \\",
		">&-rm v", "a >&1-f", "a $\\\n{x}", "a >\\\n>b", "a >&'b$(c)'", "a >&$x", "<&-b c", "a @(b|c)", "!(a)",
		"a $((x))", "a $((1+x))", "a $[x]", "a ${x[y]}", "a ${x[$y]}", "a ${x:y}", "a ${!x}", "a ${x@P}", "a ${x:=y}",
		"((x))", "let x", "for ((x=0;;)); do a; done", "a # b\\\nc", "x[y]=1", "x=([y]=1)", "a {x}>b",
		"[[ x -eq 1 ]]", "[[ $x -gt 1 ]]", "[[ -v x[y] ]]", "[[ -v $x ]]", "coproc X { a; }", "a >/dev/tcp/h/1",
		"a </dev/udp/h/1", strings.Repeat("a ", maxSource), strings.Repeat("$(", maxNesting+1) +
			strings.Repeat(")", maxNesting+1), strings.Repeat("a;", maxCommands+1),
	} {
		if len(Parse(line, Bash).Doubts) == 0 {
			t.Errorf("%.80q is not in doubt", line)
		}
	}
	for _, line := range []string{
		"", "a", "a $x ${x} \"$x\" ${x:-y} ${x%y} ${x/y/z} ${#x} ${x^} ${x@Q} ${x[0]} ${x[@]} ${x:1:2}",
		"a $((1 + 2)) $(b)", "x=1; y=($x b)", "[[ -f a && $x == b ]]", "[[ $x =~ ^a ]]", "[[ 1 -eq 2 ]]", "[[ -v x ]]",
		"for x in a; do b; done", "a 2>&1 >&2 <&- 2>&-", "a > b", "a <<E\n$x\nE", "f() { a; }", "a &", "! a", "time a",
		"case x in a|b) c;; esac", "a <(b)", "until a; do b; done",
	} {
		if doubts := Parse(line, Bash).Doubts; len(doubts) > 0 {
			t.Errorf("%q is in doubt: %v", line, doubts)
		}
	}
}

func TestPlain(t *testing.T) {
	for line, want := range map[string]bool{
		"a": true, "a b 'c' \"d\"": true, "a; b && c || d | e": true, "a 2>&1 >/dev/null": true, " a \n": true,
		"a *": true, "a $x": false, "a $(b)": false, "a `b`": false, "a &": false, "! a": false, "(a)": false,
		"{ a; }": false, "A=1 a": false, "A=1": false, "a\nb": false, "a # b": false, "a > b": false, "a <<E\nE": false,
		"a <<<b": false, "time a": false, "if a; then b; fi": false, "f() { a; }": false, "a $'b'": false,
		"a <(b)": false, "[[ a ]]": false, "a 'b": false, "export A": false,
	} {
		if got := Parse(line, Bash).Plain; got != want {
			t.Errorf("%q: plain %v, want %v", line, got, want)
		}
	}
}

func TestInput(t *testing.T) {
	for line, want := range map[string]string{"sh <<'E'\nrm $x\nE": "rm $x\n", "sh <<E\nrm $x\nE": "rm ?\n",
		"sh <<<'rm v'": "rm v", "sh <<-E\n\trm v\nE": "rm v\n"} {
		l := Parse(line, Bash)
		if len(l.Commands) != 1 || l.Commands[0].Input == nil {
			t.Errorf("%q: %+v", line, l)
			continue
		}
		if got := strings.ReplaceAll(l.Commands[0].Input.Text, string(Hole), "?"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// FuzzParse: nothing makes it panic, and a line that is broken has no commands.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a $(b) <<E\nE", "a=(b c); ((x))", "[[ a -eq b ]]", "${x[y]:-z}", "`a \\`b\\``",
		"a >&1-b", "case a in b) c;; esac"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for _, d := range []Dialect{Bash, POSIX} {
			if l := Parse(source, d); l.Broken && (len(l.Commands) > 0 || len(l.Doubts) == 0 || l.Plain) {
				t.Errorf("%q: %+v", source, l)
			}
		}
	})
}
