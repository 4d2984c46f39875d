package listview

// pos is a row of a block. Row 0 is its first; the blank row above, if there is one,
// is row -1, so that a row keeps its number whatever stands above.
type pos struct{ block, row int }

func (p pos) before(q pos) bool {
	return p.block < q.block || p.block == q.block && p.row < q.row
}

// fit is the row that exists nearest to p.
func (v *View) fit(p pos) pos {
	if v.total() == 0 || p.block < 0 {
		return pos{}
	}
	if p.block >= v.total() {
		return v.last()
	}
	rows := v.rows(p.block)
	if rows > 0 {
		return pos{p.block, max(min(p.row, rows-1), -v.gap(p.block))}
	}
	// Half of what a movement passes over, so that this does not undo one.
	if i, ok := v.within(p.block, maxEmpty/2); ok {
		return pos{i, 0}
	} else if i < v.total() {
		return pos{p.block, 0}
	}
	if i, ok := v.above(p.block); ok {
		return pos{i, v.rows(i) - 1}
	}
	return pos{p.block, 0}
}

// last is the last row of all.
func (v *View) last() pos {
	i, ok := v.above(v.total())
	if !ok {
		return pos{max(i, 0), 0}
	}
	return pos{i, v.rows(i) - 1}
}

// down is the place n rows below p, or the last one there is, and how many were
// missing.
func (v *View) down(p pos, n int) (pos, int) {
	if v.total() == 0 {
		return pos{}, n
	}
	for n > 0 {
		if step := min(n, v.rows(p.block)-1-p.row); step > 0 {
			p.row, n = p.row+step, n-step
			continue
		}
		i, ok := v.below(p.block)
		if !ok {
			if i < v.total() {
				return pos{i, 0}, 0
			}
			return p, n
		}
		p, n = pos{i, -v.gap(i)}, n-1
	}
	return p, 0
}

// up is the place n rows above p, or the first one there is, and how many were
// missing.
func (v *View) up(p pos, n int) (pos, int) {
	if v.total() == 0 {
		return pos{}, n
	}
	for n > 0 {
		if step := min(n, p.row+v.gap(p.block)); step > 0 {
			p.row, n = p.row-step, n-step
			continue
		}
		i, ok := v.above(p.block)
		if !ok {
			if i >= 0 {
				return pos{i, 0}, 0
			}
			return p, n
		}
		p, n = pos{i, v.rows(i) - 1}, n-1
	}
	return p, 0
}

// end is the top of the window that shows the end.
func (v *View) end() pos {
	p, _ := v.up(v.last(), v.high-1)
	return p
}

// ends reports whether the window from p on shows the last row.
func (v *View) ends(p pos) bool {
	q, missing := v.down(p, v.high-1)
	return missing > 0 || v.isLast(q)
}

func (v *View) isLast(p pos) bool {
	if v.total() == 0 {
		return true
	}
	if p.row < v.rows(p.block)-1 {
		return false
	}
	i, ok := v.below(p.block)
	return !ok && i >= v.total()
}

// clamp is p, or a place above from which the window is full.
func (v *View) clamp(p pos) pos {
	p = v.fit(p)
	if _, missing := v.down(p, v.high-1); missing > 0 {
		return v.end()
	}
	return p
}
