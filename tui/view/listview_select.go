package view

import "strings"

// Bounds of one copy: the text goes through the terminal.
const (
	maxCopyBytes  = 1 << 20
	maxCopyBlocks = 20_000
)

// listSpot is a cell of the text: a column of a row.
type listSpot struct {
	pos
	col int
}

func (s listSpot) before(t listSpot) bool {
	return s.pos.before(t.pos) || s.pos == t.pos && s.col < t.col
}

// selection is the text between two spots, both included, in the order in which they were chosen.
type selection struct {
	on       bool
	lines    bool // whole rows
	from, to listSpot
}

func (s selection) ordered() (a, b listSpot) {
	if s.to.before(s.from) {
		return s.to, s.from
	}
	return s.from, s.to
}

// columns returns the selected part of a row.
func (s selection) columns(p pos) (from, to int) {
	if !s.on {
		return 0, 0
	}
	a, b := s.ordered()
	if p.before(a.pos) || b.pos.before(p) {
		return 0, 0
	}
	from, to = 0, maxColumn
	if !s.lines && p == a.pos {
		from = a.col
	}
	if !s.lines && p == b.pos {
		to = b.col + 1
	}
	return from, to
}

const maxColumn = 1 << 30

// Selecting reports whether something is selected.
func (v *ListView) Selecting() bool { return v.sel.on }

// SelectStart begins a selection of whole rows: at the block under the cursor if that is in the window,
// otherwise at the last row in the window.
func (v *ListView) SelectStart() {
	v.update()
	if v.total() == 0 {
		return
	}
	last, _ := v.down(v.top, v.high-1)
	at := last
	if i := v.cursor; i >= v.top.block && i <= last.block && i < v.n {
		at = pos{i, min(v.block(i).head(), max(v.rows(i)-1, 0))}
		if at.before(v.top) {
			at = v.top
		}
	}
	v.resume = v.follow
	v.stay()
	v.sel = selection{on: true, lines: true, from: listSpot{pos: at}, to: listSpot{pos: at}}
}

// Extend moves the selection's end by n rows, and the window with it.
func (v *ListView) Extend(n int) {
	if !v.sel.on {
		v.SelectStart()
	}
	v.update()
	if !v.sel.on {
		return
	}
	v.sel.lines = true
	n = max(min(n, maxStep), -maxStep)
	to := v.fit(v.sel.to.pos)
	if n > 0 {
		to, _ = v.down(to, n)
	} else {
		to, _ = v.up(to, -n)
	}
	v.sel.to = listSpot{pos: to}
	if to.before(v.top) {
		v.leave(to)
	} else if q, _ := v.down(v.top, v.high-1); q.before(to) {
		p, _ := v.up(to, v.high-1)
		v.leave(p)
	}
}

// SelectClear ends the selection.
func (v *ListView) SelectClear() {
	v.sel = selection{}
	if v.resume {
		v.follow, v.home, v.resume = true, nil, false
	}
}

// Copy returns the selected text, without gutters and heads. Rows that only layout broke are joined.
func (v *ListView) Copy() string {
	text, _ := v.Selected()
	return text
}

// Selected returns the text for Copy, and whether it is the whole selection: its size is bounded.
func (v *ListView) Selected() (text string, whole bool) {
	if !v.sel.on {
		return "", true
	}
	v.update()
	return v.copied(v.sel)
}

// copied returns the text of a selection up to the bound, and whether that is all.
func (l *layout) copied(sel selection) (text string, whole bool) {
	if l.total() == 0 {
		return "", true
	}
	a, b := sel.ordered()
	a.pos, b.pos = l.fit(a.pos), l.fit(b.pos)
	if a.pos == b.pos {
		// A single row may be a head: the user wants a name.
		from, to := sel.columns(a.pos)
		return strings.TrimRight(slice(l.text(a.pos), from, to), " "), true
	}
	var c clipboard
	for i, n := a.block, 0; i <= b.block && i < l.total(); n++ {
		if n >= maxCopyBlocks || c.Len() > maxCopyBytes {
			return c.text(), false
		}
		first, last := 0, l.rows(i)-1
		if i == a.block {
			first = a.row
		}
		if i == b.block {
			last = min(last, b.row)
		}
		if !l.copyRows(&c, sel, i, first, last) {
			return c.text(), false
		}
		next, ok := l.below(i)
		if ok && next <= b.block && l.gap(next) > 0 {
			c.blank()
		}
		i = next
	}
	return c.text(), true
}

// copyRows copies rows of a block, and reports whether there was room for all of them.
func (l *layout) copyRows(c *clipboard, sel selection, i, first, last int) bool {
	b := l.block(i)
	for row := max(first, b.head()); row <= last; row++ {
		if c.Len() > maxCopyBytes {
			return false
		}
		from, to := sel.columns(pos{i, row})
		c.row(slice(b.line(row), from, to))
		if row < last && b.soft(row) {
			next := b.line(row + 1).Text()
			c.join(b.line(row).Text(), next, l.width-Inset(l.width, b.Indent))
		}
	}
	return true
}

// clipboard joins rows.
type clipboard struct {
	strings.Builder
	sep  string // the separator before the next row
	some bool
	trim bool // the next row continues the last one
}

func (c *clipboard) row(text string) {
	if c.some {
		c.WriteString(c.sep)
	}
	if c.trim {
		text = strings.TrimLeft(text, " ")
	}
	c.WriteString(strings.TrimRight(text, " "))
	c.some, c.trim, c.sep = true, false, "\n"
}

// blank puts a blank line before the next row.
func (c *clipboard) blank() {
	if c.some {
		c.sep = "\n\n"
	}
}

// join makes the next row continue the last one.
func (c *clipboard) join(row, next string, columns int) {
	c.sep, c.trim = " ", true
	if glued(row, next, columns) {
		c.sep = ""
	}
}

func (c *clipboard) text() string { return c.String() }
