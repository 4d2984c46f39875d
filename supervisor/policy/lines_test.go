package policy

import (
	"math/rand/v2"
	"strings"
)

// Random command lines, of two kinds: pieces that shells treat specially, in any order, and lines that follow
// the grammar and are then changed.

var pieces = strings.Split("good¦good ¦good x¦evil¦evil ¦evil¦'¦\"¦\\¦$¦$(¦)¦`¦;¦&&¦||¦&¦ & ¦|¦ | "+
	"¦|&¦>¦<¦\n¦#¦!¦{¦}¦ ¦  ¦(¦*¦[¦]¦=¦A=1 ¦$X¦${X}¦${¦"+
	"2>&1¦>/dev/null¦$'¦\\\n¦~¦?¦-c¦then¦if¦do¦time ¦eval ¦\"$X\"¦x¦a\\;b¦'a;b'¦\r¦\t¦%¦@¦:¦;;¦&>¦<<¦<<<¦<(¦0¦command "+
	"¦exec ", "¦")

func randomLine(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(3) > 0 {
		b.WriteString("good ")
	}
	for range 1 + r.IntN(9) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(4) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// lineMaker generates lines by the grammar.
type lineMaker struct {
	*rand.Rand
	depth int
}

// generatedLine is a line by the grammar; in one of three, a piece is inserted or a byte is removed somewhere.
func generatedLine(r *rand.Rand) string {
	m := &lineMaker{Rand: r}
	line := m.list()
	switch at := r.IntN(len(line) + 1); {
	case r.IntN(3) > 0:
	case r.IntN(2) == 0:
		line = line[:at] + m.pick(pieces...) + line[at:]
	case at < len(line):
		line = line[:at] + line[at+1:]
	}
	return line
}

func (m *lineMaker) pick(from ...string) string { return from[m.IntN(len(from))] }

func (m *lineMaker) list() string {
	if m.depth++; m.depth > 4 {
		m.depth--
		return m.simple()
	}
	defer func() { m.depth-- }()
	switch m.IntN(14) {
	case 0, 1:
		return m.list() + m.pick("; ", ";", " && ", " || ", " | ", "|", "\n", " & ", "&&", " |& ") + m.list()
	case 2:
		return "(" + m.list() + ")"
	case 3:
		return "{ " + m.list() + "; }" + m.redirect()
	case 4:
		return "if " + m.list() + "; then " + m.list() + m.pick("; fi", "; else "+m.list()+"; fi")
	case 5:
		return "for y in " + m.word() + " " + m.word() + "; do " + m.list() + "; done"
	case 6:
		return "case " + m.word() + " in " + m.word() + ") " + m.list() + ";; *) " + m.list() + ";; esac"
	case 7:
		return m.pick("! ", "time ", "time -p ") + m.simple()
	case 8:
		return m.evaluator()
	case 9:
		return m.pick("cat", "good", "x") + " <<" + m.pick("E", "'E'", "\"E\"", "\\E", "-E") + "\n" + m.word() + " " +
			m.word() + "\nE"
	}
	return m.simple()
}

func (m *lineMaker) simple() string {
	var b strings.Builder
	if m.IntN(8) == 0 {
		b.WriteString(m.pick("A=1 ", "A=$X ", "A= ", "A='a b' ", "A+=1 ", "A=(a b); ") + m.pick("", "B=2 "))
	}
	if m.IntN(10) == 0 {
		b.WriteString(m.redirect() + " ")
	}
	b.WriteString(m.bent(m.pick("good", "good", "good", "evil", "x")))
	for range m.IntN(4) {
		b.WriteString(m.pick(" ", "  ", "\t", " \\\n ") + m.word())
		if m.IntN(8) == 0 {
			b.WriteString(m.redirect())
		}
	}
	return b.String()
}

// bent is a name, written in one of several ways.
func (m *lineMaker) bent(name string) string {
	cut := 1 + m.IntN(max(len(name)-1, 1))
	cut = min(cut, len(name))
	a, b := name[:cut], name[cut:]
	return m.pick(name, name, name, name, "'"+name+"'", `"`+name+`"`, a+"'"+b+"'", `"`+a+`"`+b, a+"\\\n"+b, `\`+name,
		`""`+name, "$'"+name+"'", a+"$@"+b, a+"\"\\\n"+b+`"`, a+"${Z}"+b)
}

func (m *lineMaker) word() string {
	inner := func() string { m.depth += 2; defer func() { m.depth -= 2 }(); return m.list() }
	switch m.IntN(22) {
	case 0:
		return "$(" + inner() + ")"
	case 1:
		return `"$(` + inner() + `)"`
	case 2:
		return "`" + strings.NewReplacer("`", "", `\`, "").Replace(inner()) + "`"
	case 3:
		return "<(" + inner() + ")"
	case 4:
		return m.pick("$X", `"$X"`, "${X}", "${X:-a}", "${X:-$(evil)}", "${#X}", "${X%x}", "${X/x/y}", "$1", "$*",
			`"$@"`, "$?", "${Z:+a}", "${!X}", "${X@Q}", "${X@P}", "${X:0:1}", "${A[0]}")
	case 5:
		return m.pick("$((1+1))", "$((X))", "$[1]", "$((A[0]))", "$(( $(evil) ))")
	case 6:
		return m.pick("a*", "?", "[ab]", "{a,b}", "a{1..3}", "~", "~/a", "*.c", "[!a]", "{}", "a{b", "[")
	case 7:
		return m.pick("'a b'", `"a b"`, `a\ b`, `'$(evil)'`, `"\$(evil)"`, `\$\(evil\)`, "'`evil`'", `'"'`, `"'"`, `\;`,
			`';'`, `"a;evil"`, "'#'", "a#b", `$'a\tb'`, `$'\x65vil'`, `"a\b"`, `"a\\"`, `''`, `""`)
	case 8:
		return m.bent("evil")
	case 9:
		return m.pick("-a", "--b=c", "--", "-", "a=b", "1", "2", "@", "%", ":", "!", "]]", "]", "}", "do", "then", "in",
			"a\\\nb", "\"a\\\nb\"")
	}
	return m.bent(m.pick("a", "b", "ab", "x", "y1"))
}

func (m *lineMaker) redirect() string {
	to := m.pick("f", "'f g'", "/dev/null", "$X", "f\\\n1", `"f"1`, "1f", "-f", "&f")
	return m.pick(" >", " >>", " 2>", " >|", " &>", " &>>", " >&", " <", " <>", " 3>", "2>", ">", " {v}>") +
		m.pick("", " ") + m.pick(to, "&1", "&2", "&-", "/dev/null", "&1-", "&2x", "&-x", "&--x", "&1-x")
}

// evaluator is a builtin that may run what is quoted in an argument.
func (m *lineMaker) evaluator() string {
	payload := m.pick("'a[$(evil)]'", "'a[`evil`]'", `"a[\$(evil)]"`, "a[_]", "'a[_]'", "'a[0$(evil)]'", "a[0]", "a",
		"$X", `"$X"`, "1")
	before := m.pick("", "", "good 'b[$(evil)]'; ", "Z='a[$(evil)]'; X='b[$(evil)]'; ", "PS4='$(evil)'; ", "set -x; ",
		"A='$(evil)'; ")
	return before + m.pick(
		"test -v "+payload, "[ -v "+payload+" ]", "[ ! -v "+payload+" ]", "[ a = b -o -v "+payload+" ]",
		"[[ -v "+payload+" ]]", "[[ "+payload+" -eq 0 ]]", "[ "+payload+" -eq 0 ]", "[ -n "+payload+" ]",
		"[ "+payload+" = a ]", "test "+payload, "printf -v "+payload+" x", "printf %s "+payload, "printf %d "+payload,
		"read "+payload+" <<<x", "read -r "+payload, "unset "+payload, "declare "+payload+"=1", "export "+payload,
		"local "+payload, "let "+payload, "(( "+payload+" ))", "good $(( "+payload+" ))",
		"mapfile "+payload, "getopts a "+payload, "eval "+payload, "eval good "+payload, "set -- "+payload,
		"shift "+payload, "exit "+payload, "trap "+payload+" EXIT", "good ${"+strings.Trim(payload, `'"`)+"}",
		"a["+payload+"]=1", "declare -i v="+payload, "declare -n v="+payload+"; good $v", "wait "+payload,
		"compgen -W "+payload, "cd "+payload, "alias y="+payload)
}
