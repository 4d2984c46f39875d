package policy

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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

// Bounds of what is read.
const maxDepth, maxCommands, maxLine, tooDeep = 40, 2000, 128 << 10, "it is too long or nested too deeply"

var (
	braces    = expr(`^\{[^\s;&|]*(,|\.\.)[^\s;&|]*\}`)
	brackets  = expr(`^\[[^\s\]][^\s\]]*\]`)
	plainName = expr(`^\w+$`)
	unescape  = strings.NewReplacer("\\\n", "", "\\$", "$", "\\`", "`", `\"`, `"`, `\\`, `\`)
	unquote   = strings.NewReplacer(`'`, "", `"`, "", "\\\n", "", `\`, "", "$", "", "`", "\n", "(", "\n", ")", "\n", "{", "\n",
		"}", "\n", "<", " ", ">", " ", "#", "\n", ";", "\n", "&", "\n", "|", "\n", "*", string(hole), "?", string(hole))
)

// reader adds the commands of a text to a script, those in substitutions included.
type reader struct {
	*script
	src  string
	code []byte // src, with blanks in the place of here-documents that are data
	seen uint   // the end of the last outer substitution
}

// read reads a text. Bash may read some forms in another way than this parser. Then it also reads the text without
// quotes, in doubt, so that nothing hides a command completely. nested says that the text is itself a part of a line.
func (s *script) read(text string, nested bool) {
	if strings.IndexByte(text, hole) >= 0 {
		s.hide("it has a byte that is no text")
		text = strings.ReplaceAll(text, string(hole), " ")
	}
	r := &reader{script: s, src: text, code: []byte(text)}
	file, err := (*syntax.File)(nil), errors.New(tooDeep)
	if strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text, "`") < maxCommands {
		file, err = syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	}
	if err != nil {
		s.hide("it cannot be read: " + err.Error())
	} else {
		syntax.Walk(file, r.document)
		syntax.Walk(file, r.visit)
	}
	if s.tricky = s.tricky || err != nil || nested && nests(text); s.tricky {
		for line := range strings.SplitSeq(unquote.Replace(string(r.code)), "\n") {
			var words []word
			for text := range strings.FieldsSeq(line) {
				words = append(words, word{text: text})
			}
			if len(words) > 0 {
				s.inDoubt(func() { s.add(words, nil, 0) })
			}
		}
	}
}

// nests reports whether a part of a line has what bash may read in another way in a part than in a line.
func nests(part string) bool {
	return strings.ContainsAny(part, "'\"\\#") || strings.Contains(part, "case") ||
		strings.HasPrefix(part, "`") && strings.ContainsAny(part, "<(")
}

// source is a node as it is written.
func (r *reader) source(n syntax.Node) string { return r.src[n.Pos().Offset():n.End().Offset()] }

// document notes a here-document. In a substitution, bash may end it at a line that only begins with its delimiter.
func (r *reader) document(n syntax.Node) bool {
	if d, ok := n.(*syntax.Redirect); ok && d.Hdoc != nil {
		raw, body := r.source(d.Word), r.source(d.Hdoc)
		ends := false
		for line := range strings.SplitSeq(body, "\n") {
			line = strings.TrimLeft(line, "\t")
			ends = ends || strings.HasPrefix(line, unquote.Replace(raw)) && strings.Contains(line, ")")
		}
		r.tricky = r.tricky || ends || strings.ContainsAny(raw, "$`")
		for _, part := range []syntax.Node{d.Word, d.Hdoc} {
			if !ends && strings.ContainsAny(raw, `'"\`) {
				copy(r.code[part.Pos().Offset():], strings.Repeat(" ", len(r.source(part))))
			}
		}
	}
	return true
}

// visit adds the command of a node, and notes what bash may read in another way.
func (r *reader) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		r.statement(n)
	case *syntax.Comment: // bash does not read one behind other characters
		r.tricky = r.tricky || !strings.ContainsAny(("\n" + r.src)[n.Pos().Offset():][:1], " \t\n;&|()")
	case *syntax.ArithmExp, *syntax.ArithmCmd:
		r.tricky = true
	case *syntax.ParamExp:
		inside := r.source(n)
		r.tricky = r.tricky || !n.Short && strings.ContainsAny(inside[2:], "'\"\\`(<{")
		if strings.Contains(inside, "@P") {
			r.hide("it reads the value of a variable as a text with commands")
		}
	case *syntax.CmdSubst, *syntax.ProcSubst:
		if from, to := n.Pos().Offset(), n.End().Offset(); to > r.seen {
			r.seen = to
			r.tricky = r.tricky || nests(string(r.code[from:to]))
		}
	}
	return true
}

// statement adds a command with its redirections.
func (r *reader) statement(n *syntax.Stmt) {
	var words, files []word
	switch n := n.Cmd.(type) {
	case *syntax.CallExpr:
		for _, a := range n.Assigns {
			words = append(words, word{text: r.source(a)})
		}
		for _, w := range n.Args {
			words = append(words, r.word(w))
		}
	case *syntax.DeclClause, *syntax.LetClause, *syntax.TestClause:
		for text := range strings.FieldsSeq(r.source(n)) {
			words = append(words, word{text: strings.Trim(text, `'"`)})
		}
	}
	for _, d := range n.Redirs {
		w, sign := r.word(d.Word), d.Op.String()
		rest := strings.TrimLeft(w.text, "0123456789")
		descriptor := strings.HasSuffix(sign, "&") && (rest == "" || rest[0] == '-')
		if descriptor && len(rest) > 1 {
			r.hide("a word follows a descriptor")
		}
		if w.writes = sign != "<" && sign != "<&"; !descriptor && !strings.HasPrefix(sign, "<<") {
			r.expanded(w.text) // bash expands the file behind >& twice
			files = append(files, w)
		}
	}
	if len(words)+len(files) > 0 {
		r.add(words, files, 0)
	}
}

// expanded reads the commands in a text that bash may expand, whatever is quoted there.
func (s *script) expanded(text string) {
	if strings.ContainsAny(text, "$`") {
		s.inDoubt(func() { s.read("cat <<E\n"+text+"\nE", true) })
	}
}

// word is a word without its quotes.
func (r *reader) word(n *syntax.Word) word {
	w := word{pattern: true}
	for i, part := range n.Parts {
		l, literal := part.(*syntax.Lit)
		switch {
		case literal && len(n.Parts) > 1 && strings.ContainsAny(l.Value, "[{"):
			return word{text: string(hole)} // a pattern with quoted parts
		case literal:
			w.literal(r.script, l.Value, i == 0)
		default:
			w.part(r, part)
		}
	}
	return w
}

// known adds a value. An empty one is not known.
func (w *word) known(value string, pattern bool) {
	if w.text += value; value == "" {
		w.text += string(hole)
		w.pattern = w.pattern && pattern
	}
}

// literal adds a text that is not quoted. It may be a pattern, or begin with a tilde.
func (w *word) literal(s *script, text string, first bool) {
	for i := 0; i < len(text); i++ {
		name, _, _ := strings.Cut(text, "/")
		found := braces().FindString(text[i:]) + brackets().FindString(text[i:])
		switch {
		case i == 0 && first && text[0] == '~':
			w.known(s.variable(map[string]string{"~": "HOME", "~+": "PWD"}[name]), false)
			i = len(name) - 1
		case found != "":
			w.known("", found[0] == '[')
			i += len(found) - 1
		case text[i] == '*', text[i] == '?':
			w.known("", true)
		case text[i] != '\\':
			w.text += text[i : i+1]
		case strings.HasPrefix(text[i:], "\\\n"):
			i++
		default:
			w.text += text[i+1:][:min(1, len(text)-i-1)]
			i++
		}
	}
}

// part adds a part with quotes or an expansion.
func (w *word) part(r *reader, part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.SglQuoted:
		if part.Dollar && strings.Contains(part.Value, `\`) {
			w.known("", false)
		} else {
			w.text += part.Value
		}
	case *syntax.DblQuoted:
		for _, p := range part.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				w.text += unescape.Replace(l.Value)
			} else {
				w.part(r, p)
			}
		}
	case *syntax.ParamExp:
		name := strings.Trim(r.source(part), "${}")
		if !plainName().MatchString(name) {
			name = ""
		}
		w.known(r.variable(name), false)
	default:
		w.known("", false)
	}
}
