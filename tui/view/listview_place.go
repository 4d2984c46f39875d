package view

import "unicode/utf8"

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
	n := 0
	for _, s := range b.Lines[line] {
		n += utf8.RuneCountInString(s.Text)
		for i := range len(s.Text) {
			if s.Text[i] == ' ' {
				n--
			}
		}
	}
	return n
}

// remap updates places in live blocks after blocks were added.
func (v *ListView) remap(old int, tail []Block) {
	moved := map[int]int{}
	find := func(p *pos) {
		if p.block < old || p.block >= old+len(tail) {
			return
		}
		to, ok := moved[p.block]
		if !ok {
			to = v.successor(old, p.block, tail[p.block-old].Key)
			moved[p.block] = to
		}
		p.block = to
	}
	find(&v.top)
	if v.home != nil {
		find(&v.home.at)
		find(&v.home.now)
	}
	find(&v.sel.from.pos)
	find(&v.sel.to.pos)
	find(&v.mouse.from.pos)
	find(&v.search.at.pos)
	for i := range v.shown {
		find(&v.shown[i])
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
	for _, p := range []*pos{&v.top, &v.sel.from.pos, &v.sel.to.pos, &v.mouse.from.pos, &v.search.at.pos} {
		p.block = move(p.block)
	}
	if v.home != nil {
		v.home.at.block, v.home.now.block = move(v.home.at.block), move(v.home.now.block)
	}
	for i := range v.shown {
		v.shown[i].block = move(v.shown[i].block)
	}
	v.cursor = move(v.cursor)
	v.seen += v.n - n
	folds := map[int]bool{}
	for i, open := range v.folds {
		folds[move(i)] = open
	}
	v.folds = folds
	v.cache.reset()
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
