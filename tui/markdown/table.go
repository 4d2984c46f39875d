package markdown

import (
	"slices"
	"sort"
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Bounds of tables. A table with more columns is shown as text.
const (
	maxColumns = 48
	minColumn  = 6  // a column is not shrunk below so many columns of the screen
	longWord   = 16 // a longer word may be broken
	between    = 2  // columns of the screen between two columns
)

type alignment uint8

const (
	left alignment = iota
	center
	right
)

// table is a parsed table.
type table struct {
	align []alignment
	head  []string
	rows  [][]string
}

// isTable reports whether two lines are the head of a table.
func isTable(head, row string) bool {
	align, ok := parseAlign(row)
	return ok && strings.IndexByte(head, '|') >= 0 && len(splitRow(head)) == len(align)
}

// findTable finds a table in the text of a paragraph, and returns the text before it.
func findTable(s string) (before string, t table, ok bool) {
	if strings.IndexByte(s, '|') < 0 || strings.IndexByte(s, '-') < 0 {
		return "", t, false
	}
	lines := strings.Split(s, "\n")
	for i := 1; i < len(lines); i++ {
		if !isTable(lines[i-1], lines[i]) {
			continue
		}
		t.align, _ = parseAlign(lines[i])
		t.head = splitRow(lines[i-1])
		for _, line := range lines[i+1:] {
			row := splitRow(line)
			t.rows = append(t.rows, row[:min(len(row), len(t.align))])
		}
		return strings.Join(lines[:i-1], "\n"), t, true
	}
	return "", t, false
}

// parseAlign reads the row below a table's head.
func parseAlign(s string) ([]alignment, bool) {
	if strings.IndexByte(s, '-') < 0 || strings.IndexByte(s, '|') < 0 || strings.Trim(s, "|-: \t\r\n") != "" {
		return nil, false
	}
	cells := splitRow(s)
	align := make([]alignment, len(cells))
	if len(cells) > maxColumns {
		return nil, false
	}
	for i, c := range cells {
		dashes := strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil, false
		}
		switch begins, ends := c[0] == ':', c[len(c)-1] == ':'; {
		case begins && ends:
			align[i] = center
		case ends:
			align[i] = right
		}
	}
	return align, true
}

// splitRow splits a row into its cells. It stops after the maximum of cells.
func splitRow(s string) []string {
	s = strings.TrimSpace(s)
	s = strings.TrimPrefix(s, "|")
	if strings.HasSuffix(s, "|") && !strings.HasSuffix(s, `\|`) {
		s = s[:len(s)-1]
	}
	var cells []string
	for from, i := 0, 0; i <= len(s) && len(cells) <= maxColumns; i++ {
		if i == len(s) || s[i] == '|' && (i == 0 || s[i-1] != '\\') {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(s[from:i]), `\|`, "|"))
			from = i + 1
		}
	}
	return cells
}

// table lays out a table in columns, or as records if the width is too small for them.
func (l layout) table(t table) []render.Line {
	head := make([]render.Line, len(t.align))
	natural, words := make([]int, len(t.align)), make([]int, len(t.align))
	for i, s := range t.head {
		head[i] = oneLine(s, render.Strong)
		natural[i], words[i] = max(head[i].Width(), 1), longest(head[i])
	}
	rows := make([][]render.Line, len(t.rows))
	for i, row := range t.rows {
		rows[i] = make([]render.Line, len(row))
		for j, s := range row {
			rows[i][j] = oneLine(s, l.role)
			natural[j] = max(natural[j], rows[i][j].Width())
			words[j] = max(words[j], longest(rows[i][j]))
		}
	}
	widths, ok := shrink(natural, words, l.width-between*(len(natural)-1))
	if !ok {
		return l.records(head, rows)
	}
	out, _ := l.row(head, widths, t.align)
	rule := make([]string, len(widths))
	for i, n := range widths {
		rule[i] = strings.Repeat(l.glyphs.Horizontal, n)
	}
	out = append(out, render.Of(render.Frame, strings.Join(rule, strings.Repeat(" ", between))))
	apart := false
	for i, row := range rows {
		lines, wrapped := l.row(row, widths, t.align)
		if i > 0 && (apart || wrapped) {
			out = append(out, nil)
		}
		apart = wrapped
		out = append(out, lines...)
	}
	return l.fit(out)
}

// oneLine returns the text of a cell.
func oneLine(s string, role render.Role) render.Line {
	var out render.Line
	for _, line := range inline(s, role) {
		out = append(out, line...)
	}
	return out
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
func (l layout) row(cells []render.Line, widths []int, align []alignment) ([]render.Line, bool) {
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
			case right:
				before = space
			case center:
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
