package policy

import "strings"

// lexer reads one level of a command line.
type lexer struct {
	src string
	pos int

	commands []simple
	inner    []string // texts of substitutions
	targets  []string // of redirections, those without holes
	doubt    bool

	raw     strings.Builder // of the command at hand
	words   []string
	word    strings.Builder
	inWord  bool
	vague   bool // the word at hand may become anything
	discard bool // the next word is a redirection's target
	start   int  // where the word at hand begins
	dangles bool // an operator waits for the command behind it
}

// run returns false when the quoting does not add up.
func (l *lexer) run() bool {
	for l.pos < len(l.src) {
		if !l.step(l.src[l.pos]) {
			return false
		}
	}
	l.endCommand()
	l.doubt = l.doubt || l.dangles
	return true
}

func (l *lexer) step(c byte) bool {
	switch c {
	case ' ', '\t':
		l.endWord()
		l.pos++
	case '\n', '\r', '(', ')':
		l.doubt = true
		l.endCommand()
		l.pos++
	case ';', '|', '&':
		l.operator(c)
	case '<', '>':
		l.redirection()
	case '\'':
		return l.single()
	case '"':
		return l.double()
	case '\\':
		return l.escape()
	case '$':
		return l.dollar(false)
	case '`':
		return l.backtick()
	default:
		l.ordinary(c)
	}
	return true
}

func (l *lexer) ordinary(c byte) {
	switch {
	case c == '#' && !l.inWord:
		l.comment()
		return
	case c == 0: // some drop it, and read on
		l.doubt = true
		c = byte(hole)
	case c < ' ' || c == 0x7f:
		l.doubt = true
		c = '?'
	case c == '*' || c == '?':
		c = byte(hole)
	case strings.IndexByte("{}[]", c) >= 0 && !l.vague && !l.bareBrackets():
		l.vague = true
	}
	l.put(c)
	l.pos++
}

// comment skips to the end of the line, where no backslash continues it. To a
// shell that knows no comments these are words, so that they are read as well.
func (l *lexer) comment() {
	end := strings.IndexByte(l.src[l.pos:], '\n')
	if end < 0 {
		end = len(l.src) - l.pos
	}
	l.inner = append(l.inner, l.src[l.pos+1:l.pos+end])
	l.doubt = true
	l.pos += end
}

// bareBrackets says whether the word at hand is a word of its own that the shell
// does not expand: [, ]], {} and the like.
func (l *lexer) bareBrackets() bool {
	start := l.start
	if !l.inWord {
		start = l.pos
	}
	end := start
	for end < len(l.src) && !strings.ContainsRune(" \t\n;|&<>", rune(l.src[end])) {
		end++
	}
	switch l.src[start:end] {
	case "[", "]", "[[", "]]", "{}":
		return true
	case "{", "}":
		l.doubt = true
		return true
	}
	return false
}

func (l *lexer) begin() {
	if !l.inWord {
		l.inWord, l.start = true, l.pos
	}
}

func (l *lexer) put(c byte) {
	l.begin()
	l.word.WriteByte(c)
}

// endWord ends the word at hand, if there is one.
func (l *lexer) endWord() {
	if !l.inWord {
		return
	}
	text := l.word.String()
	if l.vague {
		text = string(hole)
	}
	if !l.discard {
		if l.raw.Len() > 0 {
			l.raw.WriteByte(' ')
		}
		l.raw.WriteString(l.src[l.start:l.pos])
		l.words = append(l.words, text)
	} else if !hasHole(text) {
		l.targets = append(l.targets, text)
	}
	l.word.Reset()
	l.inWord, l.vague, l.discard = false, false, false
	if text == "{" {
		l.endCommand() // the body of a group or function begins
	}
}

func (l *lexer) endCommand() {
	l.endWord()
	l.discard = false
	if len(l.words) > 0 {
		l.commands = append(l.commands, simple{raw: l.raw.String(), words: l.words})
		l.dangles = false
	}
	l.raw.Reset()
	l.words = nil
}

// operator ends a command at ; | || |& && and, with a doubt, at & and ;;.
func (l *lexer) operator(c byte) {
	rest := l.src[l.pos:]
	switch {
	case strings.HasPrefix(rest, "&>"):
		l.endWord()
		l.pos++
		l.redirection()
		return
	case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "||"), strings.HasPrefix(rest, "|&"):
		l.endOperand()
		l.dangles = true
		l.pos += 2
		return
	case c == '&', strings.HasPrefix(rest, ";;"), strings.HasPrefix(rest, ";&"):
		l.doubt = true
	}
	l.endOperand()
	l.dangles = c == '|'
	l.pos++
}

// endOperand ends the command before an operator; there has to be one.
func (l *lexer) endOperand() {
	l.endWord()
	l.doubt = l.doubt || len(l.words) == 0
	l.endCommand()
}

// redirection reads < > >> >| <> >& <& << <<< and their target. Two kinds are
// harmless: to another descriptor, and to or from /dev/null.
func (l *lexer) redirection() {
	if l.inWord && strings.Trim(l.src[l.start:l.pos], "0123456789") == "" {
		l.word.Reset() // a descriptor's number, not a word
		l.inWord = false
	}
	l.endWord()
	if strings.HasPrefix(l.src[l.pos+1:], "(") {
		l.doubt = true // a process substitution; its commands follow
		l.pos++
		return
	}
	op := l.pos
	for l.pos < len(l.src) && strings.IndexByte("<>&|", l.src[l.pos]) >= 0 {
		l.pos++
	}
	operator := l.src[op:l.pos]
	for l.pos < len(l.src) && (l.src[l.pos] == ' ' || l.src[l.pos] == '\t') {
		l.pos++
	}
	end := l.pos
	for end < len(l.src) && !strings.ContainsRune(" \t\n;|&<>()", rune(l.src[end])) {
		end++
	}
	switch target := l.src[l.pos:end]; {
	case (operator == ">&" || operator == "<&") && target != "" && strings.Trim(target, "0123456789-") == "":
		l.pos = end
	case target == "/dev/null" && (operator == ">" || operator == ">>" || operator == "<"):
		l.pos = end
	default:
		l.doubt = true
		l.discard = true
	}
}

func (l *lexer) single() bool {
	l.begin()
	n := strings.IndexByte(l.src[l.pos+1:], '\'')
	if n < 0 {
		return false
	}
	l.literal(l.src[l.pos+1 : l.pos+1+n])
	l.pos += n + 2
	return true
}

// literal adds quoted text. A NUL cannot be in a command; it must not be a hole.
func (l *lexer) literal(s string) {
	if strings.IndexByte(s, 0) >= 0 {
		l.doubt, l.vague = true, true
	}
	l.word.WriteString(s)
}

func (l *lexer) double() bool {
	l.begin()
	l.pos++
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; c {
		case '"':
			l.pos++
			return true
		case '$':
			if !l.dollar(true) {
				return false
			}
		case '`':
			if !l.backtick() {
				return false
			}
		case '\\':
			if l.pos+1 < len(l.src) && strings.IndexByte("$`\"\\\n", l.src[l.pos+1]) >= 0 {
				l.pos++
			}
			if l.pos < len(l.src) {
				l.literal(l.src[l.pos : l.pos+1])
				l.pos++
			}
		default:
			l.literal(l.src[l.pos : l.pos+1])
			l.pos++
		}
	}
	return false
}

func (l *lexer) escape() bool {
	if l.pos+1 >= len(l.src) {
		return false
	}
	if l.src[l.pos+1] == '\n' {
		l.doubt = true // a continued line: to the shell nothing is there
	} else {
		l.begin()
		l.literal(l.src[l.pos+1 : l.pos+2])
	}
	l.pos += 2
	return true
}
