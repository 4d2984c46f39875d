package view

// pos is a row of a block. Row 0 is its first; the blank row above, if there is one, is row -1, so that the
// numbers of rows do not depend on it.
type pos struct{ block, row int }

func (p pos) before(q pos) bool {
	return p.block < q.block || p.block == q.block && p.row < q.row
}

// fit returns the existing row that is nearest to p.
func (l *layout) fit(p pos) pos {
	if l.total() == 0 || p.block < 0 {
		return pos{}
	}
	if p.block >= l.total() {
		return l.last()
	}
	rows := l.rows(p.block)
	if rows > 0 {
		return pos{p.block, max(min(p.row, rows-1), -l.gap(p.block))}
	}
	// Half of what a movement skips, so that this does not revert a movement.
	if i, ok := l.within(p.block, maxEmpty/2); ok {
		return pos{i, 0}
	} else if i < l.total() {
		return pos{p.block, 0}
	}
	if i, ok := l.above(p.block); ok {
		return pos{i, l.rows(i) - 1}
	}
	return pos{p.block, 0}
}

// last returns the last row of all.
func (l *layout) last() pos {
	i, ok := l.above(l.total())
	if !ok {
		return pos{max(i, 0), 0}
	}
	return pos{i, l.rows(i) - 1}
}

// down returns the place n rows below p, or the last one, and how many rows were missing.
func (l *layout) down(p pos, n int) (pos, int) {
	if l.total() == 0 {
		return pos{}, n
	}
	for n > 0 {
		if step := min(n, l.rows(p.block)-1-p.row); step > 0 {
			p.row, n = p.row+step, n-step
			continue
		}
		i, ok := l.below(p.block)
		if !ok {
			if i < l.total() {
				return pos{i, 0}, 0
			}
			return p, n
		}
		p, n = pos{i, -l.gap(i)}, n-1
	}
	return p, 0
}

// up returns the place n rows above p, or the first one, and how many rows were missing.
func (l *layout) up(p pos, n int) (pos, int) {
	if l.total() == 0 {
		return pos{}, n
	}
	for n > 0 {
		if step := min(n, p.row+l.gap(p.block)); step > 0 {
			p.row, n = p.row-step, n-step
			continue
		}
		i, ok := l.above(p.block)
		if !ok {
			if i >= 0 {
				return pos{i, 0}, 0
			}
			return p, n
		}
		p, n = pos{i, l.rows(i) - 1}, n-1
	}
	return p, 0
}

// end returns the top of the window that shows the end.
func (l *layout) end() pos {
	p, _ := l.up(l.last(), l.high-1)
	return p
}

// ends reports whether the window from p on shows the last row.
func (l *layout) ends(p pos) bool {
	q, missing := l.down(p, l.high-1)
	return missing > 0 || l.isLast(q)
}

func (l *layout) isLast(p pos) bool {
	if l.total() == 0 {
		return true
	}
	if p.row < l.rows(p.block)-1 {
		return false
	}
	i, ok := l.below(p.block)
	return !ok && i >= l.total()
}

// clamp returns p, or a place above it from which the window is full.
func (l *layout) clamp(p pos) pos {
	p = l.fit(p)
	if _, missing := l.down(p, l.high-1); missing > 0 {
		return l.end()
	}
	return p
}
