package markdown

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// proseWidth is the length from which a line of prose was probably broken because it was long. A break
// after a shorter line is intended and kept.
const proseWidth = 50

// inline turns the text of a block into lines that are not wrapped yet.
func (l layout) inline(n ast.Node, role render.Role) []render.Line {
	w := inliner{src: l.src, base: role}
	w.children(n)
	w.flush()
	return append(w.lines, w.line)
}

// oneLine returns the text of a block or of a link as one line.
func (l layout) oneLine(n ast.Node, role render.Role) render.Line {
	var out render.Line
	for i, line := range l.inline(n, role) {
		if i > 0 {
			out = out.Append(role, " ")
		}
		out = append(out, line...)
	}
	return out
}

// inliner collects spans.
type inliner struct {
	src    []byte
	lines  []render.Line
	line   render.Line
	run    strings.Builder // text in one role, at the end of line
	role   render.Role
	used   int  // columns of the source's line
	joined bool // the source's line was broken here: a blank precedes the following text
	last   rune

	base                     render.Role
	strong, emphasis, strike int // how many are open
}

func (w *inliner) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
}

func (w *inliner) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.add(decode(n.Segment.Value(w.src)), w.style())
		switch {
		case n.HardLineBreak():
			w.hard()
		case n.SoftLineBreak():
			w.soft()
		}
	case *ast.String:
		w.add(decode(n.Value), w.style())
	case *ast.CodeSpan:
		w.code(n)
	case *ast.Emphasis:
		open := &w.emphasis
		if n.Level > 1 {
			open = &w.strong
		}
		*open++
		w.children(n)
		*open--
	case *extast.Strikethrough:
		w.strike++
		w.children(n)
		w.strike--
	case *ast.Link:
		w.link(n, n.Destination)
	case *ast.Image:
		w.link(n, n.Destination)
	case *ast.AutoLink:
		w.add(string(n.Label(w.src)), render.Link)
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			w.add(strings.ReplaceAll(string(at.Value(w.src)), "\n", " "), w.style())
		}
	default:
		w.children(n)
	}
}

// code adds a code span. It is never empty, but may consist of blanks.
func (w *inliner) code(n ast.Node) {
	role := render.Code
	if w.base == render.Link {
		role = render.Link
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.add(strings.ReplaceAll(string(t.Segment.Value(w.src)), "\n", " "), role)
		}
	}
}

// link adds a link's text, and its address unless the text contains it.
func (w *inliner) link(n ast.Node, destination []byte) {
	text := strings.TrimSpace(layout{src: w.src}.oneLine(n, render.Link).Text())
	w.add(text, render.Link)
	url := sanitize.Line(decode(destination), 0)
	switch {
	case url == "" || url == text || url == "mailto:"+text:
	case text == "":
		w.add(url, render.Link)
	default:
		w.add(" (", w.base)
		w.add(url, render.Link)
		w.add(")", w.base)
	}
}

// style returns the role of text at this place.
func (w *inliner) style() render.Role {
	switch {
	case w.base == render.Link:
		return w.base
	case w.strike > 0:
		return render.Strike
	case w.base == render.Heading || w.base == render.Title:
		return w.base
	case w.strong > 0 && w.emphasis > 0:
		return render.StrongEmphasis
	case w.strong > 0:
		return render.Strong
	case w.emphasis > 0:
		return render.Emphasis
	}
	return w.base
}

// add appends text in a role.
func (w *inliner) add(s string, role render.Role) {
	if s == "" {
		return
	}
	if w.joined {
		w.joined = false
		if first, _ := utf8.DecodeRuneInString(s); !wide(w.last) || !wide(first) {
			w.add(" ", w.base)
		}
	}
	if role != w.role {
		w.flush()
		w.role = role
	}
	w.run.WriteString(s)
	w.used += render.Width(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
}

// wide reports whether the rune belongs to a script that is written without blanks.
func wide(r rune) bool {
	return r >= 0x2e80 && r < 0xac00 || r >= 0xf900 && r < 0xfb00 || r >= 0xff00 && r < 0xfff0
}

// flush ends the span.
func (w *inliner) flush() {
	if w.run.Len() > 0 {
		w.line = append(w.line, render.Span{Text: w.run.String(), Role: w.role})
		w.run.Reset()
	}
}

// soft handles a line break in the source.
func (w *inliner) soft() {
	if w.used < proseWidth {
		w.hard()
		return
	}
	w.used, w.joined = 0, true
}

// hard begins a new line.
func (w *inliner) hard() {
	w.flush()
	w.lines = append(w.lines, w.line)
	w.line, w.used, w.joined = nil, 0, false
}

// encoded matches escapes and character references.
var encoded = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\\\\[!-/:-@[-`{-~]|&#?[0-9A-Za-z]{1,39};")
})

// decode resolves escapes and character references. The characters of references have not passed sanitize
// yet, so they are sanitised here.
func decode(s []byte) string {
	if !bytes.ContainsAny(s, `\&`) {
		return string(s)
	}
	return sanitize.Line(encoded().ReplaceAllStringFunc(string(s), func(code string) string {
		if code[0] == '\\' {
			return code[1:]
		}
		return html.UnescapeString(code)
	}), 0)
}
