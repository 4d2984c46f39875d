package view

import "strings"

// Bounds of one copy: the text goes through the terminal.
const (
	maxCopyBytes = 1 << 20
	maxCopyRows  = 20_000
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

// Copy returns the selected text, without gutters and heads.
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
	var c strings.Builder
	separator := ""
	for p, missing, n := a.pos, 0, 0; missing == 0 && !b.pos.before(p); n++ {
		if n >= maxCopyRows || c.Len() > maxCopyBytes {
			return c.String(), false
		}
		switch block := l.block(p.block); {
		case p.row < 0 && separator != "":
			separator = "\n\n"
		case p.row >= block.head():
			from, to := sel.columns(p)
			c.WriteString(separator + strings.TrimRight(slice(block.line(p.row), from, to), " "))
			separator = "\n"
		}
		p, missing = l.down(p, 1)
	}
	return c.String(), true
}
