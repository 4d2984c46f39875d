package markdown

import (
	"slices"
	"sort"
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Bounds of tables.
const (
	minColumn = 6  // a column is not shrunk below so many columns of the screen
	longWord  = 16 // a longer word may be broken
	between   = 2  // columns of the screen between two columns
)

// table lays out a table in columns, or as records if the width is too small for them.
func (l layout) table(n *extast.Table) []render.Line {
	natural, words := make([]int, len(n.Alignments)), make([]int, len(n.Alignments))
	var rows [][]render.Line // the first is the head
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		role := l.role
		if len(rows) == 0 {
			role = render.Strong
		}
		var row []render.Line
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
	out = append(out, render.Of(render.Frame, strings.Join(rule, strings.Repeat(" ", between))))
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

// longest returns how many columns the longest word takes.
func longest(line render.Line) int {
	n := 0
	for word := range strings.FieldsSeq(line.Text()) {
		n = max(n, render.Width(word))
	}
	return n
}

// row lays out one row, and reports whether it takes more than one line.
func (l layout) row(cells []render.Line, widths []int, align []extast.Alignment) ([]render.Line, bool) {
	wrapped := make([][]render.Line, len(widths))
	height := 1
	for i, c := range cells {
		inner := l
		inner.width = widths[i]
		wrapped[i] = inner.fit(render.Wrap(c, widths[i]))
		height = max(height, len(wrapped[i]))
	}
	out := make([]render.Line, height)
	for y := range out {
		var line render.Line
		blank := 0
		for i, n := range widths {
			var c render.Line
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
				line = append(line, render.Span{Text: strings.Repeat(" ", blank), Role: l.role})
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
func (l layout) records(head []render.Line, rows [][]render.Line) []render.Line {
	var out []render.Line
	for i, row := range rows {
		if i > 0 {
			out = append(out, nil)
		}
		for j, c := range row {
			if len(c) == 0 {
				continue
			}
			var line render.Line
			if len(head[j]) > 0 {
				line = append(append(line, head[j]...), render.Span{Text: ": ", Role: render.Strong})
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
func (l layout) hanging(line render.Line) []render.Line {
	inner := l
	hang := ""
	if l.width >= roomy {
		hang = "  "
	}
	inner.width -= len(hang)
	first := l.fit(render.Wrap(line, l.width))
	if len(first) < 2 {
		return first
	}
	return prefixed(inner.fit(render.Wrap(line, inner.width)), render.Of(l.role, ""), render.Of(l.role, hang))
}
