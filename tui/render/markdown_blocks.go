package render

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// blockLayout is the width and the role in which something is laid out.
type blockLayout struct {
	width  int
	glyphs *Glyphs
	role   Role
	src    []byte
	code   *growingCode // the block that the text ends in; nil: the text is not arriving
}

// roomy is how many columns must be left to indent something.
const roomy = 10

func (l blockLayout) children(n ast.Node) []Line {
	var out []Line
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
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

func (l blockLayout) block(n ast.Node) []Line {
	switch n := n.(type) {
	case *ast.Heading:
		return l.heading(n)
	case *ast.Blockquote:
		return l.quote(n)
	case *ast.List:
		return l.list(n)
	case *ast.ThematicBreak:
		return []Line{Of(Frame, strings.Repeat(l.glyphs.Horizontal, l.width))}
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
		return l.fit(WrapText(l.role, strings.TrimRight(text, "\n"), l.width))
	case *ast.Paragraph, *ast.TextBlock:
		return l.paragraph(n, l.role)
	case *extast.Table:
		return l.table(n)
	}
	return l.children(n)
}

// raw returns the source of a block, line by line, without the prefixes of its containers.
func (l blockLayout) raw(n ast.Node) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		b.Write(at.Value(l.src))
	}
	return b.String()
}

func (l blockLayout) heading(n *ast.Heading) []Line {
	role := Heading
	switch {
	case n.Level == 1:
		role = Title
	case n.Level > 3:
		role = Strong
	}
	return l.paragraph(n, role)
}

func (l blockLayout) paragraph(n ast.Node, role Role) []Line {
	var out []Line
	for _, line := range l.inline(n, role) {
		out = append(out, Wrap(line, l.width)...)
	}
	return l.fit(out)
}

func (l blockLayout) quote(n ast.Node) []Line {
	inner := l
	inner.role = Quote
	bar := Of(Quote, l.glyphs.Vertical+" ")
	if l.width < roomy {
		bar = Of(Quote, "")
	}
	inner.width -= bar.Width()
	return prefixed(inner.children(n), bar, bar)
}

// prefixed puts a prefix before the first line, and another before the rest.
func prefixed(lines []Line, first, rest Line) []Line {
	for i, line := range lines {
		prefix := rest
		if i == 0 {
			prefix = first
		}
		switch {
		case len(prefix) == 1 && prefix[0].Text == "":
		case len(line) == 0 && strings.TrimSpace(prefix.Text()) == "":
		default:
			lines[i] = append(append(make(Line, 0, len(prefix)+len(line)), prefix...), line...)
		}
	}
	return lines
}

func (l blockLayout) list(n *ast.List) []Line {
	var out []Line
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

func (l blockLayout) item(n ast.Node, bullet string) []Line {
	mark := Of(Dim, bullet+" ")
	if first := n.FirstChild(); first != nil {
		if box, ok := first.FirstChild().(*extast.TaskCheckBox); ok && box.IsChecked {
			mark = Of(Good, l.glyphs.Done+" ")
		} else if ok {
			mark = Of(Pending, l.glyphs.Pending+" ")
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
		return l.fit([]Line{mark})
	case hang == 0:
		return append(l.fit(Cut(mark, l.width)), lines...)
	}
	return prefixed(lines, mark, Of(l.role, strings.Repeat(" ", hang)))
}

// fit makes sure that no line is wider than the room. Only single characters that are wider, or that change
// their width together, can violate that.
func (l blockLayout) fit(lines []Line) []Line {
	for i, line := range lines {
		lines[i] = line.Shorten(l.width, l.glyphs.Ellipsis)
	}
	return lines
}

// proseWidth is the length from which a line of prose was probably broken because it was long. A break
// after a shorter line is intended and kept.
const proseWidth = 50

// inline turns the text of a block into lines that are not wrapped yet.
func (l blockLayout) inline(n ast.Node, role Role) []Line {
	w := inliner{src: l.src, base: role}
	w.children(n)
	w.flush()
	return append(w.lines, w.line)
}

// oneLine returns the text of a block or of a link as one line.
func (l blockLayout) oneLine(n ast.Node, role Role) Line {
	var out Line
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
	lines  []Line
	line   Line
	run    strings.Builder // text in one role, at the end of line
	role   Role
	used   int  // columns of the source's line
	joined bool // the source's line was broken here: a blank precedes the following text
	last   rune

	base                     Role
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
		w.add(decodeText(n.Segment.Value(w.src)), w.style())
		switch {
		case n.HardLineBreak(), n.SoftLineBreak() && w.used < proseWidth:
			w.hard()
		case n.SoftLineBreak():
			w.used, w.joined = 0, true
		}
	case *ast.String:
		w.add(decodeText(n.Value), w.style())
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
		w.add(string(n.Label(w.src)), Link)
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
	role := Code
	if w.base == Link {
		role = Link
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.add(strings.ReplaceAll(string(t.Segment.Value(w.src)), "\n", " "), role)
		}
	}
}

// link adds a link's text, and its address unless the text contains it.
func (w *inliner) link(n ast.Node, destination []byte) {
	text := strings.TrimSpace(blockLayout{src: w.src}.oneLine(n, Link).Text())
	w.add(text, Link)
	url := sanitize.Line(decodeText(destination), 0)
	switch {
	case url == "" || url == text || url == "mailto:"+text:
	case text == "":
		w.add(url, Link)
	default:
		w.add(" (", w.base)
		w.add(url, Link)
		w.add(")", w.base)
	}
}

func (w *inliner) style() Role {
	switch {
	case w.base == Link:
		return w.base
	case w.strike > 0:
		return Strike
	case w.base == Heading || w.base == Title:
		return w.base
	case w.strong > 0 && w.emphasis > 0:
		return StrongEmphasis
	case w.strong > 0:
		return Strong
	case w.emphasis > 0:
		return Emphasis
	}
	return w.base
}

func (w *inliner) add(s string, role Role) {
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
	w.used += Width(s)
	w.last, _ = utf8.DecodeLastRuneInString(s)
}

// wide reports whether the rune belongs to a script that is written without blanks.
func wide(r rune) bool {
	return r >= 0x2e80 && r < 0xac00 || r >= 0xf900 && r < 0xfb00 || r >= 0xff00 && r < 0xfff0
}

func (w *inliner) flush() {
	if w.run.Len() > 0 {
		w.line = append(w.line, Span{Text: w.run.String(), Role: w.role})
		w.run.Reset()
	}
}

// hard begins a new line.
func (w *inliner) hard() {
	w.flush()
	w.lines = append(w.lines, w.line)
	w.line, w.used, w.joined = nil, 0, false
}

// encodedText matches escapes and character references.
var encodedText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\\\\[!-/:-@[-`{-~]|&#?[0-9A-Za-z]{1,39};")
})

// decodeText resolves escapes and character references. The characters of references have not passed sanitize
// yet, so they are sanitised here.
func decodeText(s []byte) string {
	if !bytes.ContainsAny(s, `\&`) {
		return string(s)
	}
	return sanitize.Line(encodedText().ReplaceAllStringFunc(string(s), func(code string) string {
		if code[0] == '\\' {
			return code[1:]
		}
		return html.UnescapeString(code)
	}), 0)
}

// Bounds of tables.
const (
	minColumn = 6  // a column is not shrunk below so many columns of the screen
	longWord  = 16 // a longer word may be broken
	between   = 2  // columns of the screen between two columns
)

// table lays out a table in columns, or as records if the width is too small for them.
func (l blockLayout) table(n *extast.Table) []Line {
	natural, words := make([]int, len(n.Alignments)), make([]int, len(n.Alignments))
	var rows [][]Line // the first is the head
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		role := l.role
		if len(rows) == 0 {
			role = Strong
		}
		var row []Line
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			cell, i := l.oneLine(c, role), len(row)
			natural[i], words[i] = max(natural[i], cell.Width(), 1), max(words[i], longest(cell))
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	head, rows := rows[0], rows[1:]
	widths, ok := shrink(natural, words, l.width-between*(len(natural)-1))
	if !ok {
		return l.records(head, rows)
	}
	out, _ := l.row(head, widths, n.Alignments)
	rule := make([]string, len(widths))
	for i, n := range widths {
		rule[i] = strings.Repeat(l.glyphs.Horizontal, n)
	}
	out = append(out, Of(Frame, strings.Join(rule, strings.Repeat(" ", between))))
	apart := false
	for i, row := range rows {
		lines, wrapped := l.row(row, widths, n.Alignments)
		if i > 0 && (apart || wrapped) {
			out = append(out, nil)
		}
		apart = wrapped
		out = append(out, lines...)
	}
	return l.fit(out)
}

// shrink reduces the widest columns to one common width, but leaves each its longest word. It returns false
// if there is too little room.
func shrink(natural, words []int, space int) ([]int, bool) {
	least := func(i int) int { return min(natural[i], max(min(words[i], longWord), minColumn)) }
	total := func(level int) (n int) {
		for i := range natural {
			n += max(least(i), min(natural[i], level))
		}
		return n
	}
	if total(0) > space {
		return nil, false
	}
	// The first level that is too high; a level above all columns needs no more room.
	level := sort.Search(slices.Max(natural), func(level int) bool { return total(level+1) > space })
	widths := make([]int, len(natural))
	for i := range widths {
		widths[i] = max(least(i), min(natural[i], level))
		space -= widths[i]
	}
	for i := range widths {
		if space > 0 && widths[i] == level && natural[i] > level {
			widths[i]++
			space--
		}
	}
	return widths, true
}

func longest(line Line) int {
	n := 0
	for word := range strings.FieldsSeq(line.Text()) {
		n = max(n, Width(word))
	}
	return n
}

// row lays out one row, and reports whether it takes more than one line.
func (l blockLayout) row(cells []Line, widths []int, align []extast.Alignment) ([]Line, bool) {
	wrapped := make([][]Line, len(widths))
	height := 1
	for i, c := range cells {
		inner := l
		inner.width = widths[i]
		wrapped[i] = inner.fit(Wrap(c, widths[i]))
		height = max(height, len(wrapped[i]))
	}
	out := make([]Line, height)
	for y := range out {
		var line Line
		blank := 0
		for i, n := range widths {
			var c Line
			if y < len(wrapped[i]) {
				c = wrapped[i][y]
			}
			space := n - c.Width()
			before := 0
			switch align[i] {
			case extast.AlignRight:
				before = space
			case extast.AlignCenter:
				before = space / 2
			}
			if blank += before; blank > 0 && len(c) > 0 {
				line = append(line, Span{Text: strings.Repeat(" ", blank), Role: l.role})
				blank = 0
			}
			line = append(line, c...)
			blank += space - before + between
		}
		out[y] = line
	}
	return out, height > 1
}

// records lays out a table as one "key: value" per line, with an empty line between rows.
func (l blockLayout) records(head []Line, rows [][]Line) []Line {
	var out []Line
	for i, row := range rows {
		if i > 0 {
			out = append(out, nil)
		}
		for j, c := range row {
			if len(c) == 0 {
				continue
			}
			var line Line
			if len(head[j]) > 0 {
				line = append(append(line, head[j]...), Span{Text: ": ", Role: Strong})
			}
			out = append(out, l.hanging(append(line, c...))...)
		}
	}
	if len(rows) == 0 {
		for _, c := range head {
			out = append(out, l.hanging(c)...)
		}
	}
	return out
}

// hanging wraps a line and indents all but the first row.
func (l blockLayout) hanging(line Line) []Line {
	inner := l
	hang := ""
	if l.width >= roomy {
		hang = "  "
	}
	inner.width -= len(hang)
	first := l.fit(Wrap(line, l.width))
	if len(first) < 2 {
		return first
	}
	return prefixed(inner.fit(Wrap(line, inner.width)), Of(l.role, ""), Of(l.role, hang))
}
