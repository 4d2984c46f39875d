package listview

// maxStep is from how many rows on a step is a jump to the end or the beginning.
const maxStep = 1 << 16

// window is the part of a layout that is in sight, and the place of its reader.
type window struct {
	layout
	top    pos // the first row in sight
	follow bool
	home   *home // the reader's place, kept over changes of the window's size
	wide   int   // columns of the window
	seen   int   // blocks the reader cannot have missed
	shown  []pos // what the rows of the window show since it was last drawn
	resume bool  // the end was followed before the selection, and will be after it
}

// Following reports whether the end is followed.
func (w *window) Following() bool { return w.follow }

// Behind is how many blocks were added below the window since the end was left.
func (w *window) Behind() int {
	if w.follow {
		return 0
	}
	return max(w.source.Len()-w.seen, 0)
}

// Up shows what is n rows further up, and stays there.
func (v *View) Up(n int) {
	if n >= maxStep {
		v.Top()
		return
	}
	v.update()
	if p, _ := v.up(v.top, n); p != v.top {
		v.leave(p)
	}
}

// Down shows what is n rows further down. From where the end is in the window on, it
// is followed.
func (v *View) Down(n int) {
	if n >= maxStep {
		v.Bottom()
		return
	}
	v.update()
	if v.follow || n <= 0 {
		return
	}
	p, _ := v.down(v.top, n)
	if v.ends(p) {
		v.Bottom()
		return
	}
	v.leave(p)
}

// PageUp and the like move by what fits the window, less a row that stays in sight.
func (v *View) PageUp()   { v.Up(v.page()) }
func (v *View) PageDown() { v.Down(v.page()) }
func (v *View) HalfUp()   { v.Up(max(v.height()/2, 1)) }
func (v *View) HalfDown() { v.Down(max(v.height()/2, 1)) }

func (v *View) page() int { return max(v.height()-1, 1) }

func (v *View) height() int {
	_, _, _, h := v.GetInnerRect()
	return max(h, 1)
}

// Top shows the beginning.
func (v *View) Top() {
	v.update()
	if v.total() > 0 {
		v.leave(v.fit(pos{}))
	}
}

// Bottom shows the end and follows it.
func (v *View) Bottom() {
	v.update()
	v.follow, v.home, v.resume = true, nil, false
	v.top = v.end()
}

// GoTo shows block i, at the top of the window or, if something is searched for, so
// that its first match has some rows above it; the match is the current one then. A
// block that hides the match is unfolded.
func (v *View) GoTo(i int) {
	v.update()
	if v.total() == 0 {
		return
	}
	i = max(min(i, v.total()-1), 0)
	v.search.at = none3
	v.leave(v.fit(pos{i, 0}))
	v.findIn(i)
}

// leave goes to a place of the reader's own.
func (w *window) leave(p pos) {
	w.stay()
	w.top, w.home, w.resume = p, nil, false
}

// stay ends following without a movement.
func (w *window) stay() {
	if !w.follow {
		return
	}
	if w.follow = false; len(w.shown) == 0 {
		w.seen = w.n // never drawn: what is there is not new
	}
}

// Marked is the block under the cursor, or -1.
func (v *View) Marked() int {
	if v.cursor >= v.n {
		return -1
	}
	return v.cursor
}

// Mark puts the cursor on a block, or with -1 away. The window does not move.
func (v *View) Mark(i int) {
	v.update()
	v.cursor = min(max(i, -1), v.n-1)
}

// NextBlock moves the cursor to the next block, and beyond the last one to the end.
func (v *View) NextBlock() {
	v.update()
	first, last := v.sight()
	i, ok := v.cursor, true
	if i < first || i > last {
		i = first - 1
	}
	if i, ok = v.below(i); !ok || i >= v.n {
		v.Bottom()
		return
	}
	v.cursor = i
	v.reveal(i)
}

// PrevBlock moves the cursor to the block before.
func (v *View) PrevBlock() {
	v.update()
	if v.total() == 0 {
		return
	}
	first, last := v.sight()
	i := v.cursor
	if i < first || i > last {
		i = min(last+1, v.n)
	}
	i, ok := v.above(i)
	if !ok {
		v.leave(v.fit(pos{max(i, 0), 0}))
		return
	}
	v.stay()
	v.cursor = i
	v.reveal(i)
}

// sight is the first and the last block in the window.
func (w *window) sight() (first, last int) {
	q, _ := w.down(w.top, w.high-1)
	return w.top.block, q.block
}

// reveal brings a block into the window, moving as little as can be.
func (w *window) reveal(i int) {
	first, last := pos{i, 0}, pos{i, max(w.rows(i)-1, 0)}
	if first.before(w.top) {
		w.leave(first)
		return
	}
	if q, _ := w.down(w.top, w.high-1); q.before(last) {
		p, _ := w.up(last, w.high-1)
		if first.before(p) {
			p = first
		}
		w.leave(p)
	}
}

// Toggle folds or unfolds the block under the cursor, or, if none is in the window, the
// last one there that folds. It reports whether there was one.
func (v *View) Toggle() bool {
	v.update()
	first, last := v.sight()
	if i := v.cursor; i >= first && i <= last && i < v.n {
		return v.toggle(i)
	}
	for i := min(last, v.n-1); i >= first; i-- {
		if v.toggle(i) {
			return true
		}
	}
	return false
}

// ToggleAll unfolds everything, or folds it again.
func (v *View) ToggleAll() {
	v.update()
	v.refold(func() {
		v.all = !v.all
		clear(v.folds)
	})
}

func (v *View) toggle(i int) bool {
	b := v.block(i)
	if !b.Foldable {
		return false
	}
	v.refold(func() {
		if v.folds[i] = !b.Open; v.folds[i] == v.all {
			delete(v.folds, i)
		}
		if b.Open && i == v.top.block {
			// The block now begins where the reader has folded it to.
			v.top.row = min(v.top.row, 0)
		}
	})
	return true
}

// refold changes what is unfolded. What stands at the top stays there, also when the
// end was followed: an unfolded block is read from its beginning. If all of it fits,
// the end is still followed.
func (v *View) refold(change func()) {
	followed := v.follow || v.resume
	v.stay()
	v.home, v.sel, v.resume = nil, selection{}, false
	change()
	v.top = v.fit(v.top)
	v.follow = followed && v.ends(v.top)
	v.top = v.clamp(v.top)
}
