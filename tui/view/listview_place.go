package view

import "unicode/utf8"

// maxMoved bounds the new blocks in which the successor of a live block is searched.
const maxMoved = 64

// home is the reader's place before the window changed its size. It records the text at the top rather than
// the row, since another width breaks the text at other places.
type home struct {
	at     pos
	lines  int // of the block
	before int // characters in the lines above
	total  int // in all of them
	now    int // the same in the current layout
}

// keep records the reader's place before a change of size. A recorded place is kept through any number of
// changes, unless the block itself changed.
func (w *listWindow) keep() {
	if w.home != nil && (w.home.at.block >= w.total() || w.measure(w.home.at).total == w.home.now) {
		return
	}
	w.home = w.measure(w.top)
}

// measure records a place in the current layout.
func (l *layout) measure(p pos) *home {
	h := &home{at: p}
	if p.block >= l.total() || p.block < l.n && p.block >= l.source.Len() {
		return h
	}
	b := l.block(p.block)
	h.lines = len(b.Lines)
	for i := range b.Lines {
		n := characters(b, i)
		if i < p.row-b.head() {
			h.before += n
		}
		h.total += n
	}
	h.now = h.total
	return h
}

// place finds a home in the current layout.
func (l *layout) place(h *home) pos {
	p := l.fit(h.at)
	if l.total() == 0 || p.block != h.at.block {
		return p
	}
	b := l.block(p.block)
	ends := make([]int, len(b.Lines)) // characters up to the end of each line
	total := 0
	for i := range b.Lines {
		total += characters(b, i)
		ends[i] = total
	}
	h.now = total
	line := h.at.row - b.head()
	if line <= 0 || len(ends) == 0 || len(ends) == h.lines && total == h.total {
		return p
	}
	if h.total == 0 {
		line = line * len(ends) / max(h.lines, 1)
	} else {
		before := h.before
		if total != h.total {
			before = int(int64(before) * int64(total) / int64(h.total))
		}
		for line = 0; line < len(ends)-1 && ends[line] <= before; line++ {
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
	}
	find(&v.sel.from.pos)
	find(&v.sel.to.pos)
	find(&v.mouse.from.pos)
	find(&v.mouse.at)
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
	for _, p := range []*pos{&v.top, &v.sel.from.pos, &v.sel.to.pos, &v.mouse.from.pos, &v.mouse.at, &v.search.at.pos} {
		p.block = move(p.block)
	}
	if v.home != nil {
		v.home.at.block = move(v.home.at.block)
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
