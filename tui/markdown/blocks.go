package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// layout is the width and the role in which something is laid out.
type layout struct {
	width  int
	glyphs *render.Glyphs
	role   render.Role
	src    []byte
}

// roomy is how many columns must be left to indent something.
const roomy = 10

// blocks lays out a piece. A list at its beginning counts from number, unless that is 0.
func (l layout) blocks(src string, number int) []render.Line {
	l.src = []byte(src)
	root := parse(blockParser(), l.src)
	if root == nil {
		return l.fit(render.WrapText(l.role, src, l.width))
	}
	if list, ok := root.FirstChild().(*ast.List); ok && number > 0 {
		list.Start = number
	}
	return l.children(root)
}

// children lays out blocks one below the other.
func (l layout) children(n ast.Node) []render.Line {
	var out []render.Line
	_, tight := n.(*ast.ListItem)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lines := l.block(c)
		if len(lines) == 0 {
			continue
		}
		_, list := c.(*ast.List)
		_, text := c.PreviousSibling().(*ast.Paragraph)
		if len(out) > 0 && (c.HasBlankPreviousLines() || !tight && !(list && text)) {
			out = append(out, nil)
		}
		out = append(out, lines...)
	}
	return out
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
		return l.codeBlock(info, strings.TrimSuffix(l.raw(n), "\n"))
	case *ast.HTMLBlock:
		text := l.raw(n)
		if n.HasClosure() {
			text += string(n.ClosureLine.Value(l.src))
		}
		return l.fit(render.WrapText(l.role, strings.TrimRight(text, "\n"), l.width))
	case *ast.Paragraph, *ast.TextBlock:
		return l.text(l.raw(n))
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
	return l.paragraph(strings.TrimSpace(l.raw(n)), role)
}

// text lays out a paragraph, or the table in it.
func (l layout) text(s string) []render.Line {
	s = strings.TrimRight(s, "\n")
	before, table, ok := findTable(s)
	if !ok {
		return l.paragraph(s, l.role)
	}
	var out []render.Line
	if before != "" {
		out = append(l.paragraph(before, l.role), nil)
	}
	return append(out, l.table(table)...)
}

// paragraph lays out text with the inline elements of CommonMark.
func (l layout) paragraph(s string, role render.Role) []render.Line {
	var out []render.Line
	for _, line := range inline(s, role) {
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
		m := marker{char: n.Marker, ordered: n.IsOrdered()}
		out = append(out, l.item(c, m, number)...)
		number++
	}
	return out
}

// item lays out an item behind its marker.
func (l layout) item(n ast.Node, m marker, number int) []render.Line {
	mark := render.Of(render.Dim, l.bullet(m, number)+" ")
	task, done := l.task(n)
	switch {
	case task && done:
		mark = render.Of(render.Good, l.glyphs.Done+" ")
	case task:
		mark = render.Of(render.Pending, l.glyphs.Pending+" ")
	}
	hang := mark.Width()
	inner := l
	if inner.width-hang < roomy {
		hang = 0
	}
	inner.width -= hang
	lines := inner.contents(n, task)
	switch {
	case len(lines) == 0:
		return l.fit([]render.Line{mark})
	case hang == 0:
		return append(l.fit(render.Cut(mark, l.width)), lines...)
	}
	return prefixed(lines, mark, render.Of(l.role, strings.Repeat(" ", hang)))
}

// contents lays out the content of an item, without the box of a task.
func (l layout) contents(n ast.Node, task bool) []render.Line {
	if !task {
		return l.children(n)
	}
	first := n.FirstChild()
	out := l.text(l.raw(first)[len("[ ] "):])
	n.RemoveChild(n, first)
	rest := l.children(n)
	if len(rest) > 0 && n.FirstChild().HasBlankPreviousLines() {
		out = append(out, nil)
	}
	return append(out, rest...)
}

// task reports whether an item belongs to a list of tasks, and whether it is done.
func (l layout) task(n ast.Node) (task, done bool) {
	switch n.FirstChild().(type) {
	case *ast.Paragraph, *ast.TextBlock:
	default:
		return false, false
	}
	s := l.raw(n.FirstChild())
	if len(s) < 4 || s[0] != '[' || s[2] != ']' || s[3] != ' ' {
		return false, false
	}
	return strings.IndexByte(" xX", s[1]) >= 0, s[1] != ' '
}

// bullet returns the text before an item.
func (l layout) bullet(m marker, number int) string {
	if m.ordered {
		return strconv.Itoa(number) + string(m.char)
	}
	return l.glyphs.Bullet
}

// hang returns how many columns a marker takes.
func (l layout) hang(m marker, number int) int { return render.Width(l.bullet(m, number)) + 1 }

// fit makes sure that no line is wider than the room. Only single characters that are wider, or that change
// their width together, can violate that.
func (l layout) fit(lines []render.Line) []render.Line {
	for i, line := range lines {
		if line.Width() > l.width {
			lines[i] = l.clip(line)
		}
	}
	return lines
}

// clip shortens a line. A character that is too wide for any line is replaced by a mark.
func (l layout) clip(line render.Line) render.Line {
	var out render.Line
	left := l.width
	for _, s := range line {
		text, n := render.Clip(s.Text, left)
		if n > left {
			break
		}
		out = append(out, render.Span{Text: text, Role: s.Role})
		left -= n
		if len(text) < len(s.Text) {
			break
		}
	}
	if left == l.width && left > 0 {
		return render.Of(line[0].Role, l.glyphs.Ellipsis)
	}
	return out
}
