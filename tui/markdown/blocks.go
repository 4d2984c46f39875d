package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// layout is the width and the role in which something is laid out.
type layout struct {
	width  int
	glyphs *render.Glyphs
	role   render.Role
	src    []byte
	code   *coder // of the block of code at the beginning of the text, if that arrives in parts
}

// roomy is how many columns must be left to indent something.
const roomy = 10

// children lays out blocks one below the other.
func (l layout) children(n ast.Node) []render.Line {
	var out []render.Line
	for c := n.FirstChild(); c != nil; c, l.code = c.NextSibling(), nil {
		lines := l.block(c)
		if len(lines) > 0 && len(out) > 0 && apart(c) {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
}

// apart reports whether an empty line separates a block from the one before it: between items and before a list
// only if the source has one.
func apart(n ast.Node) bool {
	_, list := n.(*ast.List)
	_, tight := n.Parent().(*ast.ListItem)
	return n.HasBlankPreviousLines() || !tight && !list
}

// block lays out one block.
func (l layout) block(n ast.Node) []render.Line {
	switch n := n.(type) {
	case *ast.Heading:
		return l.heading(n)
	case *ast.Blockquote:
		return l.quote(n)
	case *ast.List:
		return l.list(n)
	case *ast.ThematicBreak:
		return []render.Line{render.Of(render.Frame, strings.Repeat(l.glyphs.Horizontal, l.width))}
	case *ast.CodeBlock:
		return l.codeBlock("", strings.TrimRight(l.raw(n), "\n"))
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = strings.TrimSpace(string(n.Info.Segment.Value(l.src)))
		}
		return l.codeBlock(info, l.raw(n))
	case *ast.HTMLBlock:
		text := l.raw(n)
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(l.src))
		}
		return l.fit(render.WrapText(l.role, strings.TrimRight(text, "\n"), l.width))
	case *ast.Paragraph, *ast.TextBlock:
		return l.paragraph(n, l.role)
	case *extast.Table:
		return l.table(n)
	}
	return l.children(n)
}

// raw returns the source of a block, line by line, without the prefixes of its containers.
func (l layout) raw(n ast.Node) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		b.Write(at.Value(l.src))
	}
	return b.String()
}

func (l layout) heading(n *ast.Heading) []render.Line {
	role := render.Heading
	switch {
	case n.Level == 1:
		role = render.Title
	case n.Level > 3:
		role = render.Strong
	}
	return l.paragraph(n, role)
}

// paragraph lays out the text of a block.
func (l layout) paragraph(n ast.Node, role render.Role) []render.Line {
	var out []render.Line
	for _, line := range l.inline(n, role) {
		out = append(out, render.Wrap(line, l.width)...)
	}
	return l.fit(out)
}

// quote puts a bar before a quotation.
func (l layout) quote(n ast.Node) []render.Line {
	inner := l
	inner.role = render.Quote
	bar := l.glyphs.Vertical + " "
	if l.width < roomy {
		bar = ""
	}
	inner.width -= render.Width(bar)
	return prefixed(inner.children(n), render.Line{{Text: bar, Role: render.Quote}},
		render.Line{{Text: bar, Role: render.Quote}})
}

// prefixed puts a prefix before the first line, and another before the rest.
func prefixed(lines []render.Line, first, rest render.Line) []render.Line {
	for i, line := range lines {
		prefix := rest
		if i == 0 {
			prefix = first
		}
		switch {
		case len(prefix) == 1 && prefix[0].Text == "":
		case len(line) == 0 && strings.TrimSpace(prefix.Text()) == "":
		default:
			lines[i] = append(append(make(render.Line, 0, len(prefix)+len(line)), prefix...), line...)
		}
	}
	return lines
}

func (l layout) list(n *ast.List) []render.Line {
	var out []render.Line
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if len(out) > 0 && c.HasBlankPreviousLines() {
			out = append(out, nil)
		}
		mark := l.glyphs.Bullet
		if n.IsOrdered() {
			mark = strconv.Itoa(number) + string(n.Marker)
		}
		out = append(out, l.item(c, mark)...)
		number++
	}
	return out
}

// item lays out an item behind its marker.
func (l layout) item(n ast.Node, bullet string) []render.Line {
	mark := render.Of(render.Dim, bullet+" ")
	if first := n.FirstChild(); first != nil {
		if box, ok := first.FirstChild().(*extast.TaskCheckBox); ok && box.IsChecked {
			mark = render.Of(render.Good, l.glyphs.Done+" ")
		} else if ok {
			mark = render.Of(render.Pending, l.glyphs.Pending+" ")
		}
	}
	hang := mark.Width()
	inner := l
	if inner.width-hang < roomy {
		hang = 0
	}
	inner.width -= hang
	lines := inner.children(n)
	switch {
	case len(lines) == 0:
		return l.fit([]render.Line{mark})
	case hang == 0:
		return append(l.fit(render.Cut(mark, l.width)), lines...)
	}
	return prefixed(lines, mark, render.Of(l.role, strings.Repeat(" ", hang)))
}

// fit makes sure that no line is wider than the room. Only single characters that are wider, or that change
// their width together, can violate that.
func (l layout) fit(lines []render.Line) []render.Line {
	for i, line := range lines {
		lines[i] = line.Shorten(l.width, l.glyphs.Ellipsis)
	}
	return lines
}
