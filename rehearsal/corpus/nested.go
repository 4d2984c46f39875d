package corpus

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// NestedLine returns a random command line that is valid for bash and that, in most cases, runs payload somewhere
// in nested expansions, backquotes, here-documents and compound commands. payload is a simple command that prints
// nothing.
func NestedLine(r *rand.Rand, payload string) string {
	line := payload
	for depth := range 1 + r.IntN(4) {
		line = nest(r, line, depth)
	}
	return line
}

// backquoted is a text as it is written between backquotes.
var backquoted = strings.NewReplacer(`\`, `\\`, "`", "\\`")

// nest puts a line into another one. Line breaks in it end a here-document or a comment.
func nest(r *rand.Rand, line string, depth int) string {
	dollar := "$(" + line + "\n)"
	if !strings.Contains(line, "\n") && r.IntN(2) == 0 {
		dollar = "$(" + line + ")"
	}
	quotes := "`" + backquoted.Replace(line) + "\n`"
	expansion := dollar
	if r.IntN(3) == 0 {
		expansion = quotes
	}
	forms := []string{
		"echo " + expansion,
		"echo \"" + dollar + "\"",
		"echo \"a'b " + dollar + " c'd\"",
		"echo ${x:-" + expansion + "}",
		"echo \"${x:-" + dollar + "}\"",
		"echo \"${x:-'" + dollar + "'}\"",
		"echo \"${x-${y:-" + dollar + "}}\"",
		"echo 'a' \"b\"#c \\; " + expansion + " # ) ' \"",
		"echo $((0" + dollar + "))",
		fmt.Sprintf("cat <<E%d\n'%s' \"q\"\nE%[1]d", depth, dollar),
		fmt.Sprintf("cat <<-\"E%d\"; echo %s\n$(false) ) `\nE%[1]d", depth, quotes),
		"cat <(" + line + "\n)",
		"for i in a " + expansion + "; do echo $i; done",
		"case " + expansion + " in x) echo y;; *) echo z;; esac",
		"case x in (x)\n" + line + "\n;; esac",
		"if [[ -z " + dollar + " ]]; then echo \"y\"; fi",
		"if\n" + line + "\nthen :; fi",
		"{ echo a; (\n" + line + "\n) }",
		"a=(1 " + expansion + " '2'); echo \"${a[@]}\"",
		"x=" + expansion + "; echo \"$x\"",
		"f() {\n" + line + "\n}; f",
		"echo 'it'\\''s' && {\n" + line + "\n}",
		"echo $'a\\'b' | {\n" + line + "\n}",
	}
	return forms[r.IntN(len(forms))]
}
