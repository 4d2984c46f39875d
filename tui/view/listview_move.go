package view

import (
	"strings"
	"unicode/utf8"
)

// listWindow is the visible part of a layout, and the place of its reader.
type listWindow struct {
	layout
	top    pos // the first visible row
	follow bool
	home   *home // the reader's place, kept over changes of the window's size
	wide   int   // columns of the window
	seen   int   // blocks the reader has seen
	shown  []pos // what the rows of the window show since it was last drawn
	resume bool  // the end was followed before the selection, and will be afterwards
}

// Following reports whether the view follows the end.
func (w *listWindow) Following() bool { return w.follow }

// Behind returns how many blocks were added below the window since it stopped following the end.
func (w *listWindow) Behind() int {
	if w.follow {
		return 0
	}
	return max(w.source.Len()-w.seen, 0)
}

// Up scrolls up by n rows, and stops following the end.
func (v *ListView) Up(n int) {
	v.update()
	if p := v.up(v.top, n); p != v.top {
		v.leave(p)
	}
}

// Down scrolls down by n rows. When the end becomes visible, the view follows it.
func (v *ListView) Down(n int) {
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

// PageUp, PageDown, HalfUp and HalfDown move by the height of the window, less one row that stays visible.
func (v *ListView) PageUp()   { v.Up(v.page()) }
func (v *ListView) PageDown() { v.Down(v.page()) }
func (v *ListView) HalfUp()   { v.Up(max(v.height()/2, 1)) }
func (v *ListView) HalfDown() { v.Down(max(v.height()/2, 1)) }

func (v *ListView) page() int { return max(v.height()-1, 1) }

func (v *ListView) height() int {
	_, _, _, h := v.GetInnerRect()
	return max(h, 1)
}

// Top shows the beginning.
func (v *ListView) Top() {
	v.update()
	if v.total() > 0 {
		v.leave(v.fit(pos{}))
	}
}

// Bottom shows the end and follows it.
func (v *ListView) Bottom() {
	v.update()
	v.follow, v.home, v.resume = true, nil, false
	v.top = v.end()
}

// GoTo shows block i, at the top of the window. If a text is searched, the first match in the block becomes
// the current one and is shown with some rows above it; a block that hides the match is unfolded.
func (v *ListView) GoTo(i int) {
	v.update()
	if v.total() == 0 {
		return
	}
	i = max(min(i, v.total()-1), 0)
	v.search.at = none3
	v.leave(v.fit(pos{i, 0}))
	v.findIn(i)
}

// leave goes to another place and stops following the end.
func (w *listWindow) leave(p pos) {
	w.stay()
	w.top, w.home, w.resume = p, nil, false
}

// stay stops following the end without moving.
func (w *listWindow) stay() {
	if !w.follow {
		return
	}
	if w.follow = false; len(w.shown) == 0 {
		w.seen = w.n // never drawn: nothing counts as new
	}
}

// Marked returns the block under the cursor, or -1.
func (v *ListView) Marked() int {
	if v.cursor >= v.n {
		return -1
	}
	return v.cursor
}

// Mark puts the cursor on a block, or removes it with -1. The window does not move.
func (v *ListView) Mark(i int) {
	v.update()
	v.cursor = min(max(i, -1), v.n-1)
}

// NextBlock moves the cursor to the next block, and from the last one to the end.
func (v *ListView) NextBlock() {
	v.update()
	first, last := v.sight()
	i := v.cursor + 1
	if i <= first || i > last+1 {
		i = first
	}
	if i >= v.n {
		v.Bottom()
		return
	}
	v.cursor = i
	v.reveal(i)
}

// PrevBlock moves the cursor to the previous block.
func (v *ListView) PrevBlock() {
	v.update()
	if v.total() == 0 {
		return
	}
	first, last := v.sight()
	i := v.cursor
	if i < first || i > last {
		i = min(last+1, v.n)
	}
	if i == 0 {
		v.leave(v.fit(pos{}))
		return
	}
	v.stay()
	v.cursor = i - 1
	v.reveal(i - 1)
}

func (w *listWindow) sight() (first, last int) {
	q, _ := w.down(w.top, w.high-1)
	return w.top.block, q.block
}

// reveal makes a block visible, bring some rows: both move as little as possible.
func (w *listWindow) reveal(i int) { w.bring(pos{i, 0}, pos{i, w.rows(i) - 1}) }

func (w *listWindow) bring(first, last pos) {
	if first.before(w.top) {
		w.leave(first)
		return
	}
	if q, _ := w.down(w.top, w.high-1); q.before(last) {
		p := w.up(last, w.high-1)
		if first.before(p) {
			p = first
		}
		w.leave(p)
	}
}

// Toggle folds or unfolds the block under the cursor. If the cursor is not in the window, it takes the last
// foldable block there. It reports whether there was one.
func (v *ListView) Toggle() bool {
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
func (v *ListView) ToggleAll() {
	v.update()
	v.refold(func() {
		v.all = !v.all
		clear(v.folds)
	})
}

func (v *ListView) toggle(i int) bool {
	b := v.block(i)
	if !b.Foldable {
		return false
	}
	v.refold(func() {
		if v.folds[i] = !b.Open; v.folds[i] == v.all {
			delete(v.folds, i)
		}
		if b.Open && i == v.top.block {
			// The block now begins where the reader has folded it.
			v.top.row = min(v.top.row, 0)
		}
	})
	return true
}

// refold changes what is unfolded. The row at the top stays there, even if the end was followed: an
// unfolded block is read from its beginning. If all of it fits, the view still follows the end.
func (v *ListView) refold(change func()) {
	followed := v.follow || v.resume
	v.stay()
	v.home, v.sel, v.resume = nil, selection{}, false
	change()
	v.top = v.fit(v.top)
	v.follow = followed && v.ends(v.top)
	v.top = v.clamp(v.top)
}

// maxMoved bounds the new blocks in which the successor of a live block is searched.
const maxMoved = 64

// home is the reader's place before the window changed its size: the row, and how much of the block's text is above
// it, since another width breaks the text at other places.
type home struct {
	at    pos
	lines int     // of the block
	share float64 // of its characters in the lines above
	now   pos     // the row in the current layout
}

// keep records the reader's place before a change of size. A recorded place is kept through any number of changes,
// until the reader moves.
func (w *listWindow) keep() {
	if w.home != nil && w.home.now == w.top || w.top.block >= w.total() {
		return
	}
	w.home = &home{at: w.top, now: w.top}
	if w.top.block < w.n && w.top.block >= w.source.Len() {
		return
	}
	b, before, total := w.block(w.top.block), 0, 0
	w.home.lines = len(b.Lines)
	for i := range b.Lines {
		n := characters(b, i)
		if total += n; i < w.top.row-b.head() {
			before += n
		}
	}
	w.home.share = float64(before) / float64(max(total, 1))
}

// place finds a home in the current layout.
func (l *layout) place(h *home) pos {
	p := l.fit(h.at)
	if l.total() == 0 || p.block != h.at.block {
		return p
	}
	b := l.block(p.block)
	if h.at.row <= b.head() || len(b.Lines) == h.lines {
		return p
	}
	total, line, upTo := 0, 0, 0
	for i := range b.Lines {
		total += characters(b, i)
	}
	before := int(h.share*float64(total) + 0.5)
	for ; line < len(b.Lines)-1; line++ {
		if upTo += characters(b, line); upTo > before {
			break
		}
	}
	return l.fit(pos{p.block, line + b.head()})
}

// characters counts the characters of a line that are not blank: layout breaks drop and add blanks.
func characters(b *Block, line int) int {
	text := b.Lines[line].Text()
	return utf8.RuneCountInString(text) - strings.Count(text, " ")
}

// places are all places that the view remembers.
func (v *ListView) places() []*pos {
	list := []*pos{&v.top, &v.sel.from.pos, &v.sel.to.pos, &v.mouse.from.pos, &v.search.at.pos}
	if v.home != nil {
		list = append(list, &v.home.at, &v.home.now)
	}
	for i := range v.shown {
		list = append(list, &v.shown[i])
	}
	return list
}

// remap updates places in live blocks after blocks were added.
func (v *ListView) remap(old int, tail []Block) {
	moved := map[int]int{}
	for _, p := range v.places() {
		if p.block < old || p.block >= old+len(tail) {
			continue
		}
		to, ok := moved[p.block]
		if !ok {
			to = v.successor(old, p.block, tail[p.block-old].Key)
			moved[p.block] = to
		}
		p.block = to
	}
}

// Replace shows another source with the same content; to returns the new index of each block. The reader
// stays at the same place.
func (v *ListView) Replace(s BlockSource, to func(block int) int) {
	n := v.n
	v.source, v.n = s, s.Len()
	move := func(i int) int {
		switch {
		case i < 0:
			return i
		case i >= n:
			return v.n + i - n // a live block
		}
		return to(i)
	}
	for _, p := range v.places() {
		p.block = move(p.block)
	}
	v.cursor = move(v.cursor)
	v.seen += v.n - n
	folds := map[int]bool{}
	for i, open := range v.folds {
		folds[move(i)] = open
	}
	v.folds = folds
	v.laid = map[int]*listLaid{}
}

// successor finds the new place of the live block i: the same block further down, or the settled block with
// the same key, or the block that is now at its place.
func (l *layout) successor(old, i int, key string) int {
	if key == "" {
		return i
	}
	for j := range l.tail {
		if l.tail[j].Key == key {
			return l.n + j
		}
	}
	for j := old; j < min(l.n, old+maxMoved); j++ {
		if l.block(j).Key == key {
			return j
		}
	}
	return i
}
