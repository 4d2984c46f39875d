package shell

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// reader collects what a syntax tree can run. It names each kind of node; any other kind is a doubt.
type reader struct {
	source  string
	dialect Dialect
	line    Line
	cut     string // why bash may split the line into other words than the tree has
}

func (r *reader) doubt(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if len(r.line.Doubts) < 8 && !slices.Contains(r.line.Doubts, why) {
		r.line.Doubts = append(r.line.Doubts, why)
	}
}

// compound records that the line is more than a sequence of simple commands.
func (r *reader) compound() { r.line.Plain = false }

func (r *reader) statements(list []*syntax.Stmt) {
	for _, s := range list {
		r.statement(s)
	}
}

func (r *reader) statement(s *syntax.Stmt) {
	if len(r.line.Commands) >= maxCommands {
		r.cut = "it has too many commands"
		return
	}
	if s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Comments) > 0 {
		r.compound()
	}
	if s.Coprocess || s.Disown {
		r.doubt("it uses an operator of another shell")
	}
	call, simple := s.Cmd.(*syntax.CallExpr)
	var c Command
	if simple {
		c = r.call(call)
	}
	for _, redirect := range s.Redirs {
		r.redirect(redirect, &c)
	}
	switch {
	case !simple:
		r.command(s.Cmd)
	case len(c.Words) > 0 || len(c.Assigns) > 0:
		r.line.Commands = append(r.line.Commands, c)
	}
}

// command reads a command that is not simple. If cmd is nil, there are only redirections.
func (r *reader) command(cmd syntax.Command) {
	if b, ok := cmd.(*syntax.BinaryCmd); ok {
		r.statement(b.X)
		r.statement(b.Y)
		return
	}
	r.compound()
	switch c := cmd.(type) {
	case nil:
	case *syntax.Subshell:
		r.statements(c.Stmts)
	case *syntax.Block:
		r.statements(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.statements(c.Cond)
			r.statements(c.Then)
		}
	case *syntax.WhileClause:
		r.statements(c.Cond)
		r.statements(c.Do)
	case *syntax.ForClause:
		r.loop(c.Loop)
		r.statements(c.Do)
	case *syntax.CaseClause:
		r.word(c.Word)
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				r.word(pattern)
			}
			r.statements(item.Stmts)
		}
	case *syntax.FuncDecl:
		r.statement(c.Body)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.statement(c.Stmt)
		}
	case *syntax.CoprocClause:
		if c.Name != nil {
			r.doubt("a coprocess sets variables")
		}
		r.statement(c.Stmt)
	case *syntax.DeclClause:
		r.declaration(c)
	case *syntax.ArithmCmd:
		r.arithmetic(c.X)
	case *syntax.LetClause:
		words := []Word{plainWord("let")}
		for _, x := range c.Exprs {
			r.arithmetic(x)
			if w, ok := x.(*syntax.Word); ok {
				words = append(words, r.word(w))
			}
		}
		r.line.Commands = append(r.line.Commands, Command{Words: words})
		r.doubt("let evaluates its arguments")
	case *syntax.TestClause:
		words := append([]Word{plainWord("[[")}, r.test(c.X)...)
		r.line.Commands = append(r.line.Commands, Command{Words: words, Keyword: true})
	default:
		r.doubt("it has syntax that is not known here (%T)", cmd)
	}
}

func (r *reader) loop(l syntax.Loop) {
	switch l := l.(type) {
	case *syntax.WordIter:
		assigned := Assign{Name: l.Name.Value, Value: Word{Text: string(Hole)}}
		for _, item := range l.Items {
			if w := r.word(item); len(l.Items) == 1 && !w.Splits {
				assigned.Value = w
			}
		}
		r.line.Assigned = append(r.line.Assigned, assigned)
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			r.arithmetic(x)
		}
	default:
		r.doubt("it has a loop that is not known here (%T)", l)
	}
}

// call reads a simple command.
func (r *reader) call(call *syntax.CallExpr) Command {
	var c Command
	for _, a := range call.Assigns {
		r.compound()
		c.Assigns = append(c.Assigns, r.assign(a))
	}
	for _, w := range call.Args {
		c.Words = append(c.Words, r.word(w))
	}
	return c
}

func (r *reader) assign(a *syntax.Assign) Assign {
	out := Assign{Name: a.Name.Value}
	if a.Index != nil {
		r.subscript(a.Index)
	}
	if a.Value != nil {
		out.Value = r.word(a.Value)
	}
	if a.Append {
		out.Value.Text = string(Hole) + out.Value.Text
	}
	if a.Array != nil {
		out.Value.Text = string(Hole)
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				r.subscript(e.Index)
			}
			if e.Value != nil {
				r.word(e.Value)
			}
		}
	}
	return out
}

// declaration reads export, declare, local, readonly and typeset as simple commands.
func (r *reader) declaration(d *syntax.DeclClause) {
	c := Command{Words: []Word{{Text: d.Variant.Value, Source: d.Variant.Value}}}
	for _, a := range d.Args {
		if a.Name == nil {
			c.Words = append(c.Words, r.word(a.Value))
			continue
		}
		set := r.assign(a)
		w := Word{Text: set.Name, Source: r.text(a)}
		if !a.Naked {
			w.Text += "=" + set.Value.Text
		}
		c.Words = append(c.Words, w)
	}
	r.line.Commands = append(r.line.Commands, c)
}

// redirect records the file that a redirection opens. Redirections of other descriptors, and of /dev/null, open
// nothing that matters.
func (r *reader) redirect(x *syntax.Redirect, c *Command) {
	switch {
	case x.N == nil:
	case strings.HasPrefix(x.N.Value, "{"):
		r.doubt("a redirection sets a variable")
	case r.dialect == POSIX && len(x.N.Value) > 1:
		r.cut = "dash takes 02> for a word and a redirection" // to bash it is descriptor 2
		return
	}
	switch x.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		r.compound()
		if x.Hdoc == nil {
			c.Input = &Word{}
			return
		}
		body := r.hereDocument(x.Hdoc)
		if x.Op == syntax.DashHdoc {
			body.Text = leadingTabs().ReplaceAllString(body.Text, "")
		}
		c.Input = &body
		return
	case syntax.WordHdoc:
		r.compound()
		w := r.word(x.Word)
		c.Input = &w
		return
	}
	file := r.word(x.Word)
	if strings.HasPrefix(file.Text, "/dev/tcp/") || strings.HasPrefix(file.Text, "/dev/udp/") {
		r.doubt("a redirection opens a connection")
	}
	writes := x.Op != syntax.RdrIn
	switch x.Op {
	case syntax.DplIn, syntax.DplOut:
		switch {
		case isDescriptor(file.Text) && file.Text == file.Source:
			return
		case strings.HasPrefix(strings.TrimLeft(file.Source, "0123456789"), "-"):
			// Bash ends the redirection at >&- and >&1-, and the rest is a word of the command.
			r.cut = "bash and the parser take >&- for different words"
			return
		case !plainName().MatchString(file.Source):
			r.doubt("bash expands the file of >& twice")
		}
	case syntax.RdrIn, syntax.RdrOut, syntax.AppOut, syntax.RdrInOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
	default:
		r.doubt("it has a redirection that is not known here (%s)", x.Op)
	}
	if file.Text == "/dev/null" && x.Op != syntax.RdrInOut {
		return
	}
	r.compound()
	r.line.Redirects = append(r.line.Redirects, Redirect{File: file, Writes: writes})
}

var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\w./-]+$`)
})

var leadingTabs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\t+`)
})

// isDescriptor recognises a descriptor after >& and <&: a number, a number to be moved, or - alone, which
// closes.
func isDescriptor(s string) bool {
	digits := strings.TrimSuffix(s, "-")
	return s == "-" || isNumber(digits) && len(digits) < 5
}

// hereDocument is the text that a command gets. Its expansions are walked like any other.
func (r *reader) hereDocument(w *syntax.Word) Word {
	var b strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(unescape(lit.Value, "$`\\"))
			continue
		}
		r.expansion(part, true)
		b.WriteByte(Hole)
	}
	return Word{Text: b.String(), Source: r.text(w)}
}

// text is the source of a node. Within backquotes, where the parser reads other bytes than the source has, it
// is only a hint.
func (r *reader) text(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(r.source)) {
		return ""
	}
	return r.source[from:to]
}
