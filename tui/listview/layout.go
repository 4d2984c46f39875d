package listview

import "container/list"

// Blocks are kept laid out up to these bounds, and beyond them only what the present
// call needs.
const (
	maxKept  = 1024
	maxBytes = 8 << 20
)

// maxEmpty is how many blocks of no rows are passed over in one go. A longer run of
// them stops a movement, so that one key press never walks through all there is.
const maxEmpty = 2048

// laid is a block that was laid out.
type laid struct {
	i     int
	stamp uint64
	width int
	open  bool
	block Block
	bytes int
	round uint64 // when it was last used
}

// cache holds the blocks that were used last.
type cache struct {
	blocks map[int]*list.Element // of *laid
	recent *list.List            // the last used in front
	bytes  int
	round  uint64 // grows with each call that sees a new state of things
}

func (c *cache) reset() {
	c.blocks, c.recent, c.bytes = map[int]*list.Element{}, list.New(), 0
}

// next begins a new round: stamps are looked at again.
func (c *cache) next() {
	c.trim()
	c.round++
}

func (c *cache) get(i int) *laid {
	if e := c.blocks[i]; e != nil {
		return e.Value.(*laid)
	}
	return nil
}

func (c *cache) touch(i int) { c.recent.MoveToFront(c.blocks[i]) }

func (c *cache) put(l *laid) {
	if e := c.blocks[l.i]; e != nil {
		c.bytes -= e.Value.(*laid).bytes
		e.Value = l
		c.recent.MoveToFront(e)
	} else {
		c.blocks[l.i] = c.recent.PushFront(l)
	}
	c.bytes += l.bytes
	c.trim()
}

// trim forgets what was not used for longest, but nothing of this round or the one
// before: what stands in the window is used in each.
func (c *cache) trim() {
	for c.recent.Len() > maxKept || c.bytes > maxBytes {
		e := c.recent.Back()
		if e == nil || e.Value.(*laid).round+1 >= c.round {
			return
		}
		l := c.recent.Remove(e).(*laid)
		c.bytes -= l.bytes
		delete(c.blocks, l.i)
	}
}

// cost is about how much memory a block takes.
func cost(b *Block) int {
	n := 256
	for _, l := range b.Lines {
		n += 25
		for _, s := range l {
			n += 24 + len(s.Text)
		}
	}
	return n
}

// total is how many blocks there are, live ones included.
func (v *View) total() int { return v.n + len(v.tail) }

// block is a block for the present width. Those from n on are live.
func (v *View) block(i int) *Block {
	if i >= v.n {
		return &v.tail[i-v.n]
	}
	l := v.cache.get(i)
	open := v.open(i)
	if l != nil && l.width == v.width && l.open == open {
		if l.round == v.cache.round {
			return &l.block
		}
		if v.source.Stamp(i) == l.stamp {
			l.round = v.cache.round
			v.cache.touch(i)
			return &l.block
		}
	}
	// The stamp comes first: a change in between is noticed the next time.
	l = &laid{i: i, stamp: v.source.Stamp(i), width: v.width, open: open, round: v.cache.round}
	l.block = v.source.Block(i, v.width, open)
	l.bytes = cost(&l.block)
	v.cache.put(l)
	return &l.block
}

// open reports whether a block is to be laid out unfolded.
func (v *View) open(i int) bool {
	if open, ok := v.folds[i]; ok {
		return open
	}
	return v.all
}

func (v *View) rows(i int) int { return v.block(i).rows() }

// above is the nearest block before i that has rows. If it has none, where the search
// ended: -1, or an empty block.
func (v *View) above(i int) (int, bool) {
	j := i - 1
	for ; j >= 0 && v.rows(j) == 0; j-- {
		if i-j > maxEmpty {
			return j, false
		}
	}
	return j, j >= 0
}

// below is the nearest block after i that has rows. If it has none, where the search
// ended: the total, or an empty block.
func (v *View) below(i int) (int, bool) { return v.within(i, maxEmpty) }

// within is below, with another bound than the usual one.
func (v *View) within(i, limit int) (int, bool) {
	j := i + 1
	for ; j < v.total() && v.rows(j) == 0; j++ {
		if j-i > limit {
			return j, false
		}
	}
	return j, j < v.total()
}

// neighbours is how far the block above or below is looked for when only its looks
// matter: whether it has a head, and how deep it stands.
const neighbours = 8

// gap is how many blank rows stand above a block.
func (v *View) gap(i int) int {
	b := v.block(i)
	if b.rows() == 0 {
		return 0
	}
	for j := i - 1; j >= 0; j-- {
		a := v.block(j)
		if a.rows() == 0 && i-j < neighbours {
			continue
		}
		return max(a.head(), b.head())
	}
	return 0
}
