package markdown

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// language is what the tokenizer knows about a language: enough to distinguish comments, strings, numbers
// and keywords, line by line, looking at each byte a bounded number of times. It consists of constant data,
// so it costs nothing before it is used.
type language struct {
	names    string // between blanks, lower case
	comments []string
	block    [2]string
	quotes   []quote
	keywords string // between blanks
	fold     bool   // keywords are case-insensitive
	letters  string // further characters of names, besides letters, digits and _
	key      byte   // ends a key: : or =
	loose    bool   // quotes and comments begin only where no word continues
	tags     bool   // < begins the name of a tag
	special  func(text string, s state) (render.Line, state)
}

// quote begins and ends a string.
type quote struct {
	open, close string
	escape      bool // a backslash escapes the next character
	lines       bool // it may span several lines
	char        bool // exactly one character; otherwise it is not a string
}

// state is the state at the end of a line: 0, inComment, or 1 + the index of the open quote.
type state uint8

const inComment state = 255

// find returns the language with a name, or nil.
func find(name string) *language {
	const longest = 20
	if name == "" || len(name) > longest {
		return nil
	}
	name = " " + strings.ToLower(name) + " "
	for i := range languages {
		if strings.Contains(languages[i].names, name) {
			return &languages[i]
		}
	}
	return nil
}

// line gives the text of a line its roles.
func (l *language) line(text string, s state) (render.Line, state) {
	switch {
	case text == "":
		return nil, s
	case l == nil:
		return render.Of(render.Code, text), s
	case l.special != nil:
		return l.special(text, s)
	}
	t := tokens{lang: l, text: text}
	return t.run(s)
}

// tokens is the state of tokenizing a line.
type tokens struct {
	lang *language
	text string
	out  render.Line
	done int // of text is in out
	at   int
}

// take ends a token with a role. The text before it gets no role of its own.
func (t *tokens) take(from, to int, r render.Role) {
	if from > t.done {
		t.put(t.text[t.done:from], render.Code)
	}
	if to > from {
		t.put(t.text[from:to], r)
	}
	t.done, t.at = to, to
}

func (t *tokens) put(s string, r render.Role) {
	if n := len(t.out); n > 0 && t.out[n-1].Role == r {
		t.out[n-1].Text += s
		return
	}
	t.out = append(t.out, render.Span{Text: s, Role: r})
}

func (t *tokens) run(s state) (render.Line, state) {
	if s != 0 {
		s = t.goOn(s)
	}
	for s == 0 && t.at < len(t.text) {
		s = t.token()
	}
	t.take(len(t.text), len(t.text), render.Code)
	return t.out, s
}

// goOn continues a comment or string of an earlier line.
func (t *tokens) goOn(s state) state {
	if s == inComment {
		return t.comment(t.at, t.at)
	}
	if int(s) > len(t.lang.quotes) {
		return 0
	}
	return t.str(t.at, t.at, int(s-1))
}

// token reads one token.
func (t *tokens) token() state {
	l, i := t.lang, t.at
	c := t.text[i]
	rest := t.text[i:]
	if c == ' ' || c == '\t' {
		t.at++
		return 0
	}
	begins := !l.loose || i == 0 || strings.IndexByte(" \t[{(,:=|&;", t.text[i-1]) >= 0
	if begins {
		if l.block[0] != "" && strings.HasPrefix(rest, l.block[0]) {
			return t.comment(i, i+len(l.block[0]))
		}
		for _, open := range l.comments {
			if strings.HasPrefix(rest, open) {
				t.take(i, len(t.text), render.CodeComment)
				return 0
			}
		}
		for k := range l.quotes {
			if q := &l.quotes[k]; strings.HasPrefix(rest, q.open) && (!q.char || isChar(rest)) {
				return t.str(i, i+len(q.open), k)
			}
		}
	}
	switch {
	case c == '<' && l.tags:
		name := len(rest) - len(strings.TrimLeft(rest, "</!?"))
		for name < len(rest) && (alphanumeric(rest[name]) || strings.IndexByte("-_:.", rest[name]) >= 0) {
			name++
		}
		t.take(i, i+name, render.CodeKeyword)
	case c == '>' && l.tags:
		t.take(i, i+1, render.CodeKeyword)
	case c >= '0' && c <= '9':
		t.number()
	case l.letter(c):
		t.word()
	case c == '$' && l.loose:
		t.variable()
	default:
		t.at++
	}
	return 0
}

// comment reads a comment up to its end, or the end of the line.
func (t *tokens) comment(from, after int) state {
	end := t.lang.block[1]
	if i := strings.Index(t.text[after:], end); i >= 0 {
		t.take(from, after+i+len(end), render.CodeComment)
		return 0
	}
	t.take(from, len(t.text), render.CodeComment)
	return inComment
}

// str reads a string up to its end, or the end of the line.
func (t *tokens) str(from, after, k int) state {
	q := &t.lang.quotes[k]
	for i := after; i < len(t.text); i++ {
		switch {
		case q.escape && t.text[i] == '\\':
			i++
		case strings.HasPrefix(t.text[i:], q.close):
			t.string(from, i+len(q.close))
			return 0
		}
	}
	t.take(from, len(t.text), render.CodeString)
	if q.lines {
		return state(k + 1)
	}
	return 0
}

// string ends a whole string: a key, if the language's key mark follows.
func (t *tokens) string(from, to int) {
	role := render.CodeString
	if t.lang.key != 0 && strings.HasPrefix(strings.TrimLeft(t.text[to:min(to+4, len(t.text))], " "),
		string(t.lang.key)) {
		role = render.CodeName
	}
	t.take(from, to, role)
}

// number reads digits and the characters that belong to them.
func (t *tokens) number() {
	i := t.at
	for i < len(t.text) &&
		(alphanumeric(t.text[i]) || t.text[i] == '_' || t.text[i] == '.' && i+1 < len(t.text) && t.text[i+1] != '.') {
		i++
	}
	t.take(t.at, i, render.CodeNumber)
}

// word reads a name or a keyword.
func (t *tokens) word() {
	const longest = 24
	l, i := t.lang, t.at
	for i < len(t.text) &&
		(l.letter(t.text[i]) || t.text[i] >= '0' && t.text[i] <= '9' ||
			i > t.at && strings.IndexByte(l.letters, t.text[i]) >= 0) {
		i++
	}
	word := t.text[t.at:i]
	role := render.Code
	if len(word) <= longest {
		known := word
		if l.fold {
			known = strings.ToLower(word)
		}
		if strings.Contains(l.keywords, " "+known+" ") {
			role = render.CodeKeyword
		}
	}
	if role == render.Code && l.isName(t.text[i:]) {
		role = render.CodeName
	}
	if role == render.Code {
		t.at = i
		return
	}
	t.take(t.at, i, role)
}

// variable reads a shell's $name or ${name}.
func (t *tokens) variable() {
	i := t.at + 1
	if i < len(t.text) && t.text[i] == '{' {
		if n := strings.IndexByte(t.text[i:], '}'); n >= 0 {
			t.take(t.at, i+n+1, render.CodeName)
			return
		}
	}
	for i < len(t.text) && (alphanumeric(t.text[i]) || t.text[i] == '_') {
		i++
	}
	t.take(t.at, max(i, t.at+1), render.CodeName)
}

func (l *language) letter(c byte) bool {
	return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// isName reports, from the text after a word, whether the word is a name of something.
func (l *language) isName(rest string) bool {
	switch {
	case rest == "":
		return false
	case l.key == ':':
		return rest[0] == ':' && (len(rest) == 1 || rest[1] == ' ')
	case l.key == '=':
		rest = strings.TrimLeft(rest[:min(len(rest), 4)], " ")
		return rest != "" && rest[0] == '='
	}
	return rest[0] == '(' || strings.HasPrefix(rest, "!(")
}

// isChar reports whether a character in single quotes begins s, and not a lifetime or an
// apostrophe.
func isChar(s string) bool {
	const longest = 12
	if len(s) > 1 && s[1] == '\\' {
		return true
	}
	i := strings.IndexByte(s[1:min(len(s), longest)], '\'')
	return i > 0 && i <= 4
}

// difference is the tokenizer of patches.
func difference(text string, s state) (render.Line, state) {
	role := render.Code
	switch text[0] {
	case '+':
		role = render.DiffAdd
	case '-':
		role = render.DiffRemove
	case '@':
		role = render.DiffHunk
	case 'd', 'i':
		if strings.HasPrefix(text, "diff ") || strings.HasPrefix(text, "index ") {
			role = render.DiffHunk
		}
	}
	return render.Of(role, text), s
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
