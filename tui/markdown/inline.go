package markdown

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// maxMarks bounds the marker characters of one run of the inline parser, whose time may be quadratic in
// them.
const maxMarks = 400

// proseWidth is the length from which a line of prose was probably broken because it was long. A break
// after a shorter line is intended and kept.
const proseWidth = 50

// inline turns the text of a paragraph into lines that are not wrapped yet.
func inline(s string, role render.Role) []render.Line {
	w := inliner{base: role}
	for s != "" {
		part := window(s)
		s = s[len(part):]
		w.part(part)
	}
	w.flush()
	return append(w.lines, w.line)
}

// window returns the part of s that the parser may get at once.
func window(s string) string {
	marks := 0
	for i := range len(s) {
		switch s[i] {
		case '*', '_', '~', '`', '[', ']', '<', '!', '&':
			marks++
		}
		if marks > maxMarks && (s[i] == ' ' || s[i] == '\n' || marks > 2*maxMarks) {
			return s[:i+1]
		}
	}
	return s
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

	base                         render.Role
	strong, emphasis, strike, in int // how many are open
}

// part parses one part.
func (w *inliner) part(s string) {
	if !strings.ContainsAny(s, "\\`*_~[<&") && !strings.Contains(s, "://") && !strings.Contains(s, "www.") {
		w.plain(s)
		return
	}
	w.src = []byte(s)
	root := parse(inlineParser(), w.src)
	if root == nil || root.FirstChild() == nil {
		w.plain(s)
		return
	}
	if c := s[0]; c == ' ' || c == '\n' {
		w.add(" ", w.base)
	}
	w.children(root)
	if strings.HasSuffix(s, " ") {
		w.add(" ", w.base)
	}
}

// plain adds text without markers.
func (w *inliner) plain(s string) {
	for {
		line, rest, more := strings.Cut(s, "\n")
		hard := strings.HasSuffix(line, "  ")
		if more {
			line = strings.TrimRight(line, " \t")
		}
		w.add(strings.TrimLeft(line, "\r"), w.base)
		switch {
		case !more:
			return
		case hard:
			w.hard()
		default:
			w.soft()
		}
		s = rest
	}
}

func (w *inliner) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
}

func (w *inliner) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.add(decode(string(n.Segment.Value(w.src))), w.style())
		switch {
		case n.HardLineBreak():
			w.hard()
		case n.SoftLineBreak():
			w.soft()
		}
	case *ast.String:
		w.add(decode(string(n.Value)), w.style())
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
	case *strike:
		w.strike++
		w.children(n)
		w.strike--
	case *ast.Link:
		w.link(n, n.Destination, false)
	case *ast.Image:
		w.link(n, n.Destination, true)
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
	if w.in > 0 {
		role = render.Link
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.add(strings.ReplaceAll(string(t.Segment.Value(w.src)), "\n", " "), role)
		}
	}
}

// link adds a link's text, and its address unless the text contains it.
func (w *inliner) link(n ast.Node, destination []byte, image bool) {
	w.flush()
	lines, spans := len(w.lines), len(w.line)
	w.in++
	w.children(n)
	w.in--
	w.flush()
	text := ""
	for i := lines; i <= len(w.lines); i++ {
		line := w.line
		if i < len(w.lines) {
			line = w.lines[i]
		}
		if i == lines {
			line = line[min(spans, len(line)):]
		}
		text += line.Text()
	}
	url := sanitize.Line(decode(string(destination)), 0)
	switch text = strings.TrimSpace(text); {
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
	case w.in > 0:
		return render.Link
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

// decode resolves escapes and character references. The characters of references have not passed sanitize
// yet, so they are sanitised here.
func decode(s string) string {
	if strings.IndexByte(s, '\\') < 0 && strings.IndexByte(s, '&') < 0 {
		return strings.ReplaceAll(s, "\n", " ")
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] > ' ' && s[i+1] < 0x7f && !alphanumeric(s[i+1]):
			i++
			b.WriteByte(s[i])
		case c == '&':
			n := reference(s[i:])
			if n == 0 {
				b.WriteByte(c)
				continue
			}
			b.WriteString(html.UnescapeString(s[i : i+n]))
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	return sanitize.Line(b.String(), 0)
}

// reference returns the length of the character reference at the beginning of s.
func reference(s string) int {
	const longest = 40
	for i := 1; i < min(len(s), longest); i++ {
		switch c := s[i]; {
		case c == ';' && i > 1:
			return i + 1
		case c != '#' && !alphanumeric(c):
			return 0
		}
	}
	return 0
}
