package policy

import (
	"strings"
)

// hole stands for a text that only the running shell knows.
const hole = '\x00'

// word is a word of a command without its quotes, or a file that a redirection reads or writes. Its holes may be
// those of a pattern for the names of files.
type word struct {
	text            string
	pattern, writes bool
}

func (w word) unknown() bool { return strings.IndexByte(w.text, hole) >= 0 }

// command is a simple command, with the keywords and assignments before it.
type command struct {
	words, files []word
	doubt        bool // it may not be one
}

// lexer reads a command line roughly as bash does, with the commands in substitutions. Where bash may read it in
// another way, it calls the script tricky.
type lexer struct {
	src     string
	pos     int
	depth   int // of nested commands
	out     *script
	w       word
	waiting []heredoc // whose bodies begin at the next newline
	cut     [][2]int  // bodies that are data
}

type heredoc struct {
	end                   string
	quoted, strip, nested bool
}

// Bounds of what is read.
const maxDepth, maxCommands, maxLine = 40, 2000, 128 << 10

// Parts of a line.
var (
	blanks     = expr(`^([ \t]|\\\n)+`)
	descriptor = expr(`^([0-9]+|\{\w+\})$`)
	operator   = expr(`^(<<-|<<<|<<|<>|<&|>>|>&|>\||&>>|&>|<|>)`)
	duplicate  = expr(`^([0-9]*-|[0-9]+($|[ \t\n;&|<>()]))`)
	delimiter  = expr(`^[ \t]*('[^'\n]*'|"[^"\n]*"|\\.|[^\s;&|<>()'"])+`)
	tilde      = expr(`^~([-+\w.]*)($|[/ \t\n;&|<>()])`)
	braces     = expr(`^\{[^\s;&|]*(,|\.\.)[^\s;&|]*\}`)
	brackets   = expr(`^\[[^\s\]]([^\s\]]|\$\([^)]*\))*\]`)
	variable   = expr(`^\$(\{\w+\}|\w+|[@*#?$!-])`)
	ansi       = expr(`^\$'(\\[\s\S]|[^'\\])*'`)
	backquote  = expr("^`((?:\\\\[\\s\\S]|[^`\\\\])*)(`|\\\\?$)")
	ordinary   = expr("^[^ \t\n;&|()<>\x00'\"\\\\`$*?\\[\\]{}~#]+")
	unescape   = strings.NewReplacer("\\`", "`", `\\`, `\`, `\$`, `$`, `\"`, `"`)
)

// lex reads a text and adds its commands.
func (s *script) lex(text string, depth int) *lexer {
	l := &lexer{src: text, out: s, depth: depth}
	l.commands(0)
	return l
}

func (l *lexer) has(text string) bool { return strings.HasPrefix(l.src[l.pos:], text) }

// step moves on, but not behind the end.
func (l *lexer) step(n int) { l.pos = min(l.pos+n, len(l.src)) }

// next reports whether one of some characters, or the end, is next.
func (l *lexer) next(chars string) bool {
	return l.pos >= len(l.src) || strings.IndexByte(chars, l.src[l.pos]) >= 0
}

// take moves behind what matches next.
func (l *lexer) take(part *expression) string {
	found := part.FindString(l.src[l.pos:])
	l.step(len(found))
	return found
}

// until moves behind a text, and returns what is before it.
func (l *lexer) until(text string) string {
	before, _, ok := strings.Cut(l.src[l.pos:], text)
	l.step(len(before) + len(text))
	if !ok && text != "\n" {
		l.out.hide("a quote or a bracket in it is not closed")
	}
	return before
}

// tricky notes what bash may read in another way.
func (l *lexer) tricky(is bool) { l.out.tricky = l.out.tricky || is }

// commands reads commands and the bracket behind them, or all.
func (l *lexer) commands(end byte) {
	l.depth++
	defer func() { l.depth-- }()
	var c command
	flush := func() {
		if len(c.words)+len(c.files) > 0 {
			l.out.commands = append(l.out.commands, c)
			l.out.moved = l.out.moved || goers.has(c.name())
		}
		c = command{}
	}
	defer flush()
	if l.depth > maxDepth || len(l.out.commands) > maxCommands {
		l.out.hide("it is too long or nested too deeply")
		l.pos = len(l.src)
	}
	for l.take(blanks); l.pos < len(l.src); l.take(blanks) {
		switch ch := l.src[l.pos]; {
		case ch == '\n':
			flush()
			l.step(1)
			l.bodies()
		case ch == '#':
			l.tricky(l.depth > 1)
			l.step(max(0, strings.IndexByte(l.src[l.pos:]+"\n", '\n')))
		case l.has("<("), l.has(">("):
			c.words = append(c.words, l.word())
		case l.has("&>"), ch == '<', ch == '>':
			l.redirect(&c)
		case l.has("(("):
			l.tricky(true)
			l.step(2)
			l.text("))")
		case ch == '(':
			flush()
			l.step(1)
			l.commands(')')
		case strings.IndexByte(";&|)", ch) >= 0:
			flush()
			l.step(1)
			if ch == ')' && end == ')' {
				return
			}
		default:
			start := l.pos
			w := l.word()
			raw := l.src[start:l.pos]
			l.tricky(l.depth > 1 && raw == "case")
			if raw == "{" || raw == "}" {
				flush()
			} else if !l.next("<>") || !descriptor.MatchString(raw) {
				c.words = append(c.words, w)
			}
		}
	}
	if end != 0 {
		l.out.hide("a bracket in it is not closed")
	}
}

// unknown adds a hole to the word.
func (l *lexer) unknown(pattern bool) {
	l.w.text += string(hole)
	l.w.pattern = l.w.pattern && pattern
}

// known adds a value to the word. An empty one is not known.
func (l *lexer) known(value string) {
	if l.w.text += value; value == "" {
		l.unknown(false)
	}
}

// word reads a word.
func (l *lexer) word() word {
	outer := l.w
	l.w = word{pattern: true}
	defer func() { l.w = outer }()
	if m := tilde.FindStringSubmatch(l.src[l.pos:]); m != nil {
		l.step(1 + len(m[1]))
		l.known(l.out.variable(map[string]string{"": "HOME", "+": "PWD"}[m[1]]))
	} else if l.has("~") { // it goes on behind quotes, or on the next line
		l.step(1)
		l.unknown(false)
	}
	for l.has("<(") || l.has(">(") || !l.next(" \t\n;&|()<>") {
		l.tricky(l.depth > 1 && l.next(`'"\`))
		switch l.src[l.pos] {
		case '\\':
			if l.step(1); l.has("\n") {
				l.step(1)
			} else {
				l.literal()
			}
		case '\'':
			l.step(1)
			l.w.text += l.until("'")
		case '"':
			l.step(1)
			l.text(`"`)
		case '*', '?':
			l.step(1)
			l.unknown(true)
		case '[', '{':
			if found := l.take(brackets) + l.take(braces); found != "" {
				l.substitutions(found)
				l.unknown(found[0] == '[')
			} else {
				l.literal()
			}
		default:
			if l.has(`$"`) {
				l.step(1)
			} else if text := l.take(ansi); text != "" {
				if l.w.text += strings.TrimSuffix(text[2:], "'"); strings.Contains(text, `\`) {
					l.w = word{text: string(hole)} // what is encoded counts as unknown
				}
			} else if !l.expansion() {
				l.literal()
			}
		}
	}
	return l.w
}

// literal adds a character to the word, and the letters after it.
func (l *lexer) literal() {
	if l.has("\x00") {
		l.out.hide("it has a byte that is no text")
	}
	start := l.pos
	l.step(1)
	l.take(ordinary)
	l.w.text += l.src[start:l.pos]
}

// expansion reads what begins with $, a backquote, <( or >(, if that is next.
func (l *lexer) expansion() bool {
	if l.next("`") {
		code := unescape.Replace(backquote.FindStringSubmatch(l.src[l.pos:])[1])
		l.step(1)
		l.step(len(backquote.FindString(l.src[l.pos-1:])) - 1)
		l.tricky(strings.ContainsAny(code, "\\'\"#`<("))
		l.out.lex(code, l.depth)
		l.unknown(false)
		return true
	}
	if name := l.take(variable); name != "" {
		l.known(l.out.variable(strings.Trim(name, "${}")))
		return true
	}
	start, outer := l.pos, l.w
	switch {
	case l.has("$(("):
		l.tricky(true)
		l.step(3)
		l.text("))")
	case l.has("$("), l.has("<("), l.has(">("):
		l.step(2)
		l.commands(')')
	case l.has("${"):
		l.step(2)
		l.text("}")
		inside := l.src[start+2 : l.pos]
		l.tricky(strings.ContainsAny(inside, "'\"\\`(<{"))
		if strings.Contains(inside, "@P") {
			l.out.hide("it reads the value of a variable as a text with commands")
		}
	default:
		return false
	}
	l.w = outer
	l.unknown(false)
	return true
}

// substitutions reads the commands in another text, whatever is quoted there.
func (l *lexer) substitutions(text string) {
	(&lexer{src: text, depth: l.depth, out: l.out}).text("")
}

// text reads a text with expansions, up to its end.
func (l *lexer) text(end string) {
	for (end == "" || !l.has(end)) && l.pos < len(l.src) {
		switch {
		case l.has("\\\n"):
			l.step(2)
		case l.has(`\`) && strings.IndexByte("$`\"\\", (l.src + " ")[l.pos+1]) >= 0:
			l.step(1)
			l.literal()
		case end == `"` && l.next("<>"), !l.expansion():
			l.literal()
		}
	}
	l.until(end)
}

// redirect reads a redirection.
func (l *lexer) redirect(c *command) {
	sign := l.take(operator)
	switch sign {
	case "<<", "<<-":
		raw := strings.TrimSpace(l.take(delimiter))
		end := strings.NewReplacer(`'`, "", `"`, "").Replace(raw)
		if !strings.Contains(raw, `"`) {
			end = strings.ReplaceAll(end, `\`, "")
		}
		l.tricky(strings.ContainsAny(end, "$`\\"))
		l.waiting = append(l.waiting, heredoc{end, strings.ContainsAny(raw, `'"\`), sign == "<<-", l.depth > 1})
		return
	case ">&", "<&": // a descriptor; a dash closes or moves it
		if found := duplicate.FindString(l.src[l.pos:]); found != "" {
			found = strings.TrimRight(found, " \t\n;&|<>()")
			l.step(len(found))
			if rest := delimiter.FindString(l.src[l.pos:]); len(found) > 1 && !l.next(" \t") && rest != "" {
				c.files = append(c.files, word{text: found + rest, writes: true}) // or both are the name of a file
			}
			return
		}
	}
	if l.take(blanks); l.next("\n;&|)") {
		return
	}
	w := l.word()
	if sign == "<<<" {
		return
	}
	l.substitutions(w.text) // bash expands the file behind >& twice
	w.writes = sign[0] != '<' || sign == "<>"
	c.files = append(c.files, w)
}

// bodies reads the here-documents that begin at this line.
func (l *lexer) bodies() {
	for _, doc := range l.waiting {
		start := l.pos
		for ended := false; l.pos < len(l.src) && !ended; {
			from := l.pos
			line := l.until("\n")
			if doc.strip {
				line = strings.TrimLeft(line, "\t")
			}
			ended = line == doc.end
			if !ended && doc.nested && strings.HasPrefix(line, doc.end) && strings.Contains(line, ")") {
				l.tricky(true)
				ended = true // bash ends it here
				l.pos = from + strings.Index(l.src[from:], doc.end) + len(doc.end)
			}
		}
		if doc.quoted {
			l.cut = append(l.cut, [2]int{start, l.pos})
		} else {
			l.substitutions(l.src[start:l.pos])
		}
	}
	l.waiting = nil
}
