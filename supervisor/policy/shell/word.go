package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word removes the quotes of a word, and walks its expansions.
func (r *reader) word(w *syntax.Word) Word {
	if w == nil {
		return Word{}
	}
	out := Word{Source: r.text(w)}
	var b strings.Builder
	var bare strings.Builder // the unquoted characters, for braces and bracket patterns
	expands := false
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(part.Value, "~") {
				out.Tilde = true
			}
			out.Splits = r.bare(part.Value, &b, &bare) || out.Splits
		case *syntax.SglQuoted:
			r.single(part, &b)
			expands = expands || part.Dollar
		case *syntax.DblQuoted:
			out.Splits = r.double(part, &b) || out.Splits
			expands = expands || strings.IndexByte(b.String(), Hole) >= 0
		default:
			out.Splits = r.expansion(part, false) || out.Splits
			b.WriteByte(Hole)
			expands = true
		}
	}
	out.Text = oneHole(b.String())
	if hasPattern(bare.String()) {
		out.Text, out.Splits, expands = string(Hole), true, true
	}
	out.Pattern = !expands && !out.Known()
	if user, _, _ := strings.Cut(out.Text, "/"); out.Tilde && strings.IndexByte(user, Hole) >= 0 {
		out.Text, out.Pattern = string(Hole), false
	}
	return out
}

// oneHole replaces several holes in a row by one: each may be empty.
func oneHole(s string) string {
	const one = string(Hole)
	for strings.Contains(s, one+one) {
		s = strings.ReplaceAll(s, one+one, one)
	}
	return s
}

// bare adds unquoted text. It reports whether that is a pattern of file names.
func (r *reader) bare(s string, b, bare *strings.Builder) (glob bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				r.cut = "it ends in a backslash"
				return glob
			}
			b.WriteByte(s[i])
		case '*', '?':
			b.WriteByte(Hole)
			glob = true
		default:
			b.WriteByte(c)
			bare.WriteByte(c)
		}
	}
	return glob
}

// hasPattern recognises bracket patterns and brace expansions among the unquoted characters of a word. It also
// accepts some texts that only look like one: an exact check would not be worth it.
func hasPattern(bare string) bool {
	switch bare {
	case "[", "[[", "]", "]]", "{", "}", "{}":
		return false
	}
	if open := strings.IndexByte(bare, '['); open >= 0 && strings.Contains(bare[open:], "]") {
		return true
	}
	open := strings.IndexByte(bare, '{')
	if open < 0 {
		return false
	}
	rest := bare[open:]
	return strings.Contains(rest, "}") && (strings.Contains(rest, ",") || strings.Contains(rest, ".."))
}

// single adds the text of '…', and of $'…' if that has no escapes.
func (r *reader) single(q *syntax.SglQuoted, b *strings.Builder) {
	if q.Dollar {
		r.compound()
	}
	if q.Dollar && strings.Contains(q.Value, `\`) {
		b.WriteByte(Hole)
		return
	}
	b.WriteString(q.Value)
}

// double adds the text of "…". It reports whether that may become several words: "$@".
func (r *reader) double(q *syntax.DblQuoted, b *strings.Builder) (splits bool) {
	if q.Dollar {
		r.compound()
		b.WriteByte(Hole) // a translation replaces it
	}
	for _, part := range q.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(unescape(lit.Value, "$`\"\\"))
			continue
		}
		splits = r.expansion(part, true) || splits
		b.WriteByte(Hole)
	}
	return splits
}

// unescape removes the backslash before any of the characters.
func unescape(s, special string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// expansion walks what the shell replaces. It reports whether the result may be several words, or none.
func (r *reader) expansion(part syntax.WordPart, quoted bool) (splits bool) {
	r.compound()
	switch p := part.(type) {
	case *syntax.ParamExp:
		return r.parameter(p) || !quoted
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			r.doubt("it has a substitution of another shell")
		}
		r.statements(p.Stmts)
		return !quoted
	case *syntax.ArithmExp:
		r.arithmetic(p.X)
		if p.Bracket || p.Unsigned {
			r.doubt("it has arithmetic of another kind")
		}
		return !quoted
	case *syntax.ProcSubst:
		r.statements(p.Stmts)
		return false
	case *syntax.ExtGlob:
		// Without extglob, which is off by default, bash reads other words.
		r.cut = "it has an extended pattern, which bash reads only where extglob is set"
		return true
	case *syntax.DblQuoted, *syntax.SglQuoted, *syntax.Lit:
		r.doubt("it has quotes where they are not known here")
		return !quoted
	default:
		r.doubt("it has an expansion that is not known here (%T)", part)
		return true
	}
}

// parameter walks ${…}. It reports whether it is several words even in quotes.
func (r *reader) parameter(p *syntax.ParamExp) (splits bool) {
	switch {
	case p.Flags != nil || p.NestedParam != nil || p.Modifiers != nil || p.Width || p.IsSet,
		p.Split != syntax.OptUnset || p.GlobSubst != syntax.OptUnset || p.RcExpand != syntax.OptUnset:
		r.doubt("it has an expansion of another shell")
	case p.Excl && p.Names == 0 && !isWhole(p.Index):
		r.doubt("an indirect expansion evaluates the value of a variable")
	}
	if p.Index != nil {
		r.subscript(p.Index)
	}
	if p.Slice != nil {
		r.arithmetic(p.Slice.Offset)
		r.arithmetic(p.Slice.Length)
	}
	if p.Repl != nil {
		r.word(p.Repl.Orig)
		r.word(p.Repl.With)
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			r.doubt("an expansion sets a variable")
		case syntax.OtherParamOps:
			if p.Exp.Word == nil || p.Exp.Word.Lit() == "P" || p.Exp.Word.Lit() == "" {
				r.doubt("an expansion evaluates the value of a variable as a prompt")
			}
		}
		r.word(p.Exp.Word)
	}
	return p.Param != nil && p.Param.Value == "@" || isWhole(p.Index) || p.Names != 0
}

// isWhole recognises [@] and [*], which mean a whole array and evaluate nothing.
func isWhole(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// subscript walks [i]. Bash evaluates it as arithmetic, and a subscript in a variable's value again.
func (r *reader) subscript(x syntax.ArithmExpr) {
	if !isWhole(x) {
		r.arithmetic(x)
	}
}

// arithmetic walks an expression. Any variable in it is a doubt: its value is evaluated, too, and a value such
// as a[$(x)] runs x.
func (r *reader) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		if w := r.word(x); !isNumber(w.Text) {
			r.doubt("arithmetic evaluates the value of a variable")
		}
	case *syntax.BinaryArithm:
		r.arithmetic(x.X)
		r.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		r.arithmetic(x.X)
	case *syntax.ParenArithm:
		r.arithmetic(x.X)
	default:
		r.doubt("it has arithmetic that is not known here (%T)", x)
	}
}

// test walks [[ … ]], and returns its words.
func (r *reader) test(x syntax.TestExpr) (words []Word) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		words = append(words, r.word(x))
	case *syntax.ParenTest:
		return r.test(x.X)
	case *syntax.UnaryTest:
		words = append(append(words, plainWord(x.Op.String())), r.test(x.X)...)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w, ok := x.X.(*syntax.Word)
			if !ok || !IsName(w.Lit()) {
				r.doubt("a test evaluates the subscript of a variable's name")
			}
		}
	case *syntax.BinaryTest:
		words = append(append(r.test(x.X), plainWord(x.Op.String())), r.test(x.Y)...)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			r.number(x.X)
			r.number(x.Y)
		}
	default:
		r.doubt("it has a test that is not known here (%T)", x)
	}
	return words
}

func plainWord(s string) Word { return Word{Text: s, Source: s} }

// number reports a doubt unless an operand of -eq and similar operators is a number: bash evaluates it.
func (r *reader) number(x syntax.TestExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || !isNumber(strings.TrimPrefix(w.Lit(), "-")) {
		r.doubt("a test evaluates its operands as arithmetic")
	}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// IsName reports whether a text can be a variable's name, without a subscript.
func IsName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
